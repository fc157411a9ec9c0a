"""Stated confidence: what counts, what is left out and counted, and what the page says."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from evaluation.agents.models import AgentItem
from evaluation.agents.trust.calibration import charts, stated, states_any, tables
from tests.annotate.world import signed_in
from tests.evaluation.agents.test_agent_screens import judged

pytestmark = pytest.mark.django_db(transaction=True)


def state(item: AgentItem, *confidences: float | None) -> None:
    item.answers = [
        each | {"confidence": confidence}
        for each, confidence in zip(item.answers, confidences, strict=True)
    ]
    item.save()


def test_the_practice_agent_states_a_confidence_that_counts_after_the_last_round(place) -> None:
    run = place.run(rounds=2)
    assert all(each["confidence"] is not None for item in run.items.all() for each in item.answers)
    judge = judged(place, run)
    one, other = run.items.order_by("pk")
    state(one, None, 100.0)
    state(other, 30.0, 20.0)
    judge.verdicts.filter(item=one).update(completeness=3)  # certain, and not complete
    judge.verdicts.filter(item=other, round=1).update(completeness=1)
    judge.verdicts.filter(item=other, round=2).update(completeness=4)
    (found,) = stated(place.room.benchmark, judge)
    assert (sorted(found.pairs), found.missing, found.unjudged) == ([(0.2, 1.0), (1.0, 0.0)], 0, 0)
    # One bin: |1.2 - 1| / 2; two: |.2 - 1| / 2 + |1 - 0| / 2.
    assert found.error(1) == pytest.approx(0.1)
    assert found.error(2) == pytest.approx(0.9)
    runs, bins = tables([found], 2)
    assert [row[2].value for row in bins.rows] == [1, 1]
    assert len(charts([found], 2)) == 1
    assert runs.rows[0][-1].value == pytest.approx(0.9)


def test_what_states_none_or_was_not_judged_is_left_out_and_counted(place) -> None:
    run = place.run(repetitions=2)
    judge = judged(place, run)
    first, second, third, fourth = run.items.order_by("pk")
    state(first, None)
    judge.verdicts.filter(item=second).update(state="failed", quality=None, completeness=None)
    AgentItem.objects.filter(pk=third.pk).update(answers=[])
    state(fourth, 50.0)
    (found,) = stated(place.room.benchmark, judge)
    assert (len(found.pairs), found.missing, found.unjudged) == (1, 2, 1)
    (without,) = stated(place.room.benchmark, None)
    assert (len(without.pairs), without.missing, without.unjudged) == (0, 2, 2)
    assert charts([without], 10) == []


@pytest.mark.slow
def test_the_page_the_file_the_api_and_the_command_show_the_same(place) -> None:
    run = place.run(rounds=1)
    judge = judged(place, run)
    judge.verdicts.update(completeness=1)
    for item in run.items.all():
        state(item, 100.0)
    client, base = signed_in(place.room.admin), place.room.url("agent-board/calibration/")
    page = client.get(f"{base}?bins=3").content.decode()
    assert "Stated confidence and what is complete" in page
    assert "1.000" in page  # certain and always wrong
    sent = client.get(f"{base}bins.csv?bins=1&judge={judge.pk}").getvalue().decode("utf-8-sig")
    (line,) = csv.DictReader(io.StringIO(sent))
    assert (line["answers"], line["mean confidence"], line["complete"]) == ("2", "1.0", "0.0")
    sheets = client.get(f"/api{base}?bins=5").json()
    assert [sheet["name"] for sheet in sheets] == ["calibration", "bins"]
    assert sheets[0]["rows"][0][-1]["value"] == 1
    out = io.StringIO()
    call_command("agent_board", place.room.benchmark.slug, calibration=5, json=True, stdout=out)
    assert json.loads(out.getvalue()) == sheets
    with pytest.raises(CommandError, match="1 to 100"):
        call_command("agent_board", place.room.benchmark.slug, calibration=0)
    for odd in ("0", "x", "99999999999", "-1"):
        assert client.get(f"{base}?bins={odd}").status_code == 200


def test_where_no_answer_states_a_confidence_the_page_says_so(place) -> None:
    client, url = signed_in(place.room.admin), place.room.url("agent-board/calibration/")
    assert "No answer states a confidence" in client.get(url).content.decode()
    run = place.run(rounds=1)
    for item in run.items.all():
        state(item, None)
    assert not states_any(stated(place.room.benchmark, None))
    assert "No answer states a confidence" in client.get(url).content.decode()
    assert signed_in(place.room.author).get(url).status_code == 403
