"""Answer runs from their start to stored answers, with the practice model over real HTTP."""

from dataclasses import replace
from decimal import Decimal

import pytest
from django.db import transaction

from annotate.answers.evidence import check, material_of
from annotate.models import ReferenceAnswer
from annotate.workspace.gold import discard_passage
from corpus.models import Query
from debate.answers import services as verbs
from debate.answers.services import (
    AnswerPump,
    candidates,
    choose_sound,
    forecast,
    read_jobs,
    store_outcomes,
)
from debate.models import AnswerRun
from debate.tasks import ANSWERS, write_answers
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import LostLease
from kit.runs.moves import cancel_run, pause_run, resume_run
from kit.runs.sharing import Share, cut
from llm.ledger.accounts import set_budget
from llm.models import Call
from tests.factories import make_query

pytestmark = pytest.mark.django_db(transaction=True)


def start(room, endpoint, **options) -> AnswerRun:
    queries = options.pop("queries", None)
    if queries is None:
        queries = candidates(room.benchmark, again=options.pop("again", False))
    options.setdefault("claimed", True)
    return verbs.start_answers(
        benchmark=room.benchmark, queries=queries, endpoint=endpoint, actor=room.admin, **options
    )


def run_through(room, endpoint, **options) -> AnswerRun:
    run = start(room, endpoint, **options)
    ANSWERS.drive(run)
    return AnswerRun.objects.get(pk=run.pk)


def test_a_run_writes_an_answer_for_every_ready_query(room, practice) -> None:
    make_query(room.benchmark, "bare", "biology")
    run = run_through(room, practice)
    assert (run.status, run.error, run.done, run.total) == ("done", "", 2, 2)
    assert set(run.items.values_list("state", "asked")) == {("written", 1)}
    answer = ReferenceAnswer.objects.standing().get(query=room.query)
    assert check(material_of(room.query), answer.text).is_sound
    assert (answer.author, answer.practice, answer.model) == ("model", True, "practice-1")
    assert answer.prompt_sha256 == run.config["prompt"]
    assert answer.call.role == "reference_answer"
    assert answer.created_by is None
    assert not answer.is_chosen
    assert Event.objects.filter(verb="model answer").count() == 2


def test_the_same_run_again_is_paid_by_the_ledger(room, practice) -> None:
    run_through(room, practice)
    paid = Call.objects.count()
    again = run_through(room, practice, again=True)
    assert again.status == "done"
    assert Call.objects.count() == paid
    assert ReferenceAnswer.objects.count() == 2
    with pytest.raises(Refused):
        start(room, practice)


def test_a_run_resumes_where_it_was_paused(room, practice) -> None:
    run = start(room, practice, claimed=False)
    pause_run(run=run, actor=room.admin)
    write_answers(run.pk)
    assert not ReferenceAnswer.objects.exists()
    resume_run(run=run, actor=room.admin)
    write_answers(run.pk)
    write_answers(run.pk)  # delivered twice
    run.refresh_from_db()
    assert (run.status, run.done) == ("done", 2)
    assert ReferenceAnswer.objects.count() == 2
    with pytest.raises(Refused):
        cancel_run(run=run, actor=room.admin)


def test_a_worker_that_lost_its_lease_writes_nothing(room, practice) -> None:
    run = start(room, practice)
    cut(run)
    pump = AnswerPump(Share(run), practice)
    group, jobs = pump._take()
    run.groups.update(fence=9)  # another worker has them
    with pytest.raises(LostLease):
        pump._store([(group, jobs[0])])
    assert set(run.items.values_list("state", flat=True)) == {"waiting"}


def test_what_is_not_ready_any_more_fails_in_words(room, practice) -> None:
    run = start(room, practice)
    discard_passage(query=room.other, passage=room.foreign, reason="noise", actor=room.author)
    ANSWERS.drive(run)
    item = run.items.get(query=room.other)
    assert (item.state, item.answer) == ("failed", None)
    assert "no aspect has a gold passage" in item.error.lower()


def test_gold_that_changed_while_the_model_wrote_makes_the_answer_faulty(room, practice) -> None:
    run = start(room, practice)
    jobs = {job.row.query_id: job for job in read_jobs(run.waiting_items())}
    from debate.answering.asking import CheckedAnswer

    text = "So it is [lamps/page_1.txt][lamps/page_2.txt][lamps/page_3.txt]."
    passage = room.passages["lamps/page_2.txt"]
    discard_passage(query=room.query, passage=passage, reason="noise", actor=room.author)
    with transaction.atomic():
        store_outcomes(run=run, outcomes=[replace(jobs[room.query.pk], said=CheckedAnswer(text))])
    item = run.items.get(query=room.query)
    assert item.state == "faulty"
    assert "[lamps/page_2.txt]" in item.error
    assert choose_sound(run=run, actor=room.admin) == (0, 1)


def test_only_sound_answers_are_chosen_and_only_where_nothing_is(room, practice) -> None:
    room.write()
    run = run_through(room, practice)
    assert choose_sound(run=run, actor=room.admin) == (1, 1)
    chosen = ReferenceAnswer.objects.chosen()
    assert chosen.get(query=room.query).author == "person"
    assert chosen.get(query=room.other).author == "model"
    assert choose_sound(run=run, actor=room.admin) == (0, 2)


def test_a_budget_of_nothing_is_enough_for_a_free_model_and_none_below_it_is_taken(
    room, practice
) -> None:
    run = run_through(room, practice, budget_usd=Decimal("0.00"))
    assert run.status == "done"
    with pytest.raises(Refused, match="dollars and cents"):
        set_budget(run, Decimal("-1"), actor=room.admin, scope="")


def test_the_forecast_counts_what_is_ready_and_names_the_rest(room, practice) -> None:
    make_query(room.benchmark, "bare", "biology")
    found = forecast(Query.objects.all(), practice)
    assert (found["queries"], found["left_out"]) == (2, 1)
    assert found["unready"][0][1].startswith("This query has no aspects")
    assert found["input_tokens"] > 500
    assert found["usd"] == 0
    assert candidates(room.benchmark, domain="weather").count() == 0


def test_one_query_that_is_not_ready_is_refused_with_the_reason(room, practice) -> None:
    bare = make_query(room.benchmark, "bare", "biology")
    with pytest.raises(Refused, match="no aspects yet"):
        start(room, practice, queries=Query.objects.filter(pk=bare.pk))


def test_a_prompt_that_changed_stops_the_run(room, practice) -> None:
    run = start(room, practice)
    AnswerRun.objects.filter(pk=run.pk).update(config=run.config | {"prompt": "0" * 64})
    run.refresh_from_db()
    ANSWERS.drive(run)
    run.refresh_from_db()
    assert run.status == "failed"
    assert "prompt changed" in run.error
