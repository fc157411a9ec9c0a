"""Answer runs and comparisons of answers from the shell."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotate.models import AnswerComparison, ReferenceAnswer
from debate.models import AnswerRun
from tests.annotate.answering import make_room
from tests.debate.answering import answering

pytestmark = pytest.mark.django_db(transaction=True)


def test_answers_are_written_and_what_a_model_answered_is_left(capsys) -> None:
    room = make_room()
    call_command("write_answers", room.benchmark.slug, json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["states"], found["faults"]) == ("done", {"written": 2}, {})
    assert ReferenceAnswer.objects.by_models().filter(practice=True).count() == 2
    run = AnswerRun.objects.get(pk=found["run"])
    assert run.config["reasoning_effort"] == ""
    with pytest.raises(CommandError, match="No query is ready"):
        call_command("write_answers", room.benchmark.slug)
    call_command("write_answers", room.benchmark.slug, again=True, domain="biology")
    assert "is done: 2 written" in capsys.readouterr().out


def test_the_effort_goes_to_the_model(settings) -> None:
    room = make_room()
    reply = json.dumps({"answer": "Leaves fall."})
    with answering(settings, *[reply] * 4) as stub:
        call_command("write_answers", room.benchmark.slug, reasoning_effort="low", temperature=0.5)
        assert {each["reasoning_effort"] for each in stub.asked} == {"low"}
        assert {each["temperature"] for each in stub.asked} == {0.5}
    assert AnswerRun.objects.get().config["reasoning_effort"] == "low"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"domain": "geology"}, "no domain 'geology'"),
        ({"budget": "much"}, "an amount in dollars"),
        ({"endpoint": "nowhere"}, "nowhere"),
        ({"temperature": 3.0}, "from 0 to 2"),
    ],
)
def test_what_cannot_be_is_refused(options, said) -> None:
    room = make_room()
    with pytest.raises(CommandError, match=said):
        call_command("write_answers", room.benchmark.slug, **options)
    assert not AnswerRun.objects.exists()


def test_a_comparison_is_drawn_closed_and_read(capsys) -> None:
    room = make_room()
    slug, admin = room.benchmark.slug, room.admin.username
    with pytest.raises(CommandError, match="no such comparison"):
        call_command("answer_comparison", slug)
    with pytest.raises(CommandError, match="name of an admin"):
        call_command("answer_comparison", slug, draw=True, person=room.reviewer.username)
    call_command("answer_comparison", slug, draw=True, person=admin)
    assert "is drawn: 2 queries" in capsys.readouterr().out
    with pytest.raises(CommandError, match="nobody sees whose"):
        call_command("answer_comparison", slug)
    call_command("answer_comparison", slug, close=True, person=admin)
    names = [sheet["name"] for sheet in json.loads(capsys.readouterr().out)]
    assert names == ["means", "preferences", "agreement", "domains", "order"]
    assert AnswerComparison.objects.get().closed_by == room.admin
