"""Bridges between judges, and what asking one judge again does."""

import csv
import io
import json

import pytest
from django.core.management import call_command

from evaluation.agents import board
from evaluation.agents.judging import start_judging
from evaluation.agents.models import AnswerVerdict, JudgeRun
from evaluation.agents.protocol.judging import TIERS
from evaluation.agents.reading import figures_of, judges
from evaluation.agents.trust.bridges import (
    bridges_table,
    shift,
    shift_of,
    start_bridge,
)
from evaluation.agents.trust.repeating import reliability_table, repeated
from evaluation.tasks import JUDGES
from kit.errors import Refused
from llm import endpoints
from tests.annotate.test_api import script
from tests.annotate.world import signed_in
from tests.evaluation.agents.room import Place, make_place
from tests.evaluation.agents.test_agent_screens import judged


def said(query: int, quality: int | None, completeness: int | None = 3, **more) -> AnswerVerdict:
    given = {"query_id": query, "quality": quality, "completeness": completeness}
    return AnswerVerdict(**given, **more)


def test_the_shift_is_paired_by_answer_and_averaged_in_each_query() -> None:
    old = {
        (1, 1): [said(10, 3), said(10, 4)],
        (1, 2): [said(10, 4)],
        (2, 1): [said(20, 2)],
        (3, 1): [said(30, 5)],
        (4, 1): [said(40, 1)],
    }
    new = {
        (1, 1): [said(10, 4)],
        (1, 2): [said(10, 4)],
        (2, 1): [said(20, 4)],
        (3, 1): [said(30, 4)],
        (4, 1): [said(40, None, None)],
        (9, 1): [said(90, 1)],
    }
    found = shift(old, new)
    # By answer: 4 - 3.5 = .5; 0; 2; -1. By query: (.5 + 0) / 2 = .25; 2; -1. Mean 1.25 / 3.
    # Sample variance: ((.25-.41667)^2 + (2-.41667)^2 + (-1-.41667)^2) / 2
    # = (.027778 + 2.506944 + 2.006944) / 2 = 2.270833; standard error sqrt(2.270833 / 3) = .870025;
    # t(2, .975) = 4.302653: .41667 - 3.743418 and .41667 + 3.743418.
    assert (found.answers, found.queries, found.failed) == (4, 3, 1)
    assert found.quality.value == pytest.approx(1.25 / 3)
    assert found.quality.low == pytest.approx(1.25 / 3 - 3.743418, abs=1e-5)
    assert found.quality.high == pytest.approx(1.25 / 3 + 3.743418, abs=1e-5)
    assert found.completeness.value == 0
    none = shift(old, {})
    assert (none.answers, none.quality.value) == (0, None)


def test_sigma_of_repetitions_is_the_populations_by_measure_and_tier() -> None:
    def item(query: int, tier: str, *points: int) -> list[AnswerVerdict]:
        return [said(query, p, p, tier=tier, repetition=n) for n, p in enumerate(points)]

    rows = [
        *item(1, TIERS[0], 5, 5, 5),  # 0
        *item(2, TIERS[0], 3, 5, 4),  # sqrt(2 / 3) = .816497
        *item(1, TIERS[1], 2, 4),  # 1
        *item(3, TIERS[2], 1),  # one verdict says nothing
        said(4, None, None, tier=TIERS[2]),
    ]
    table = reliability_table(repeated(rows))
    quality = [row for row in table.rows if row[0].value == "quality"]
    assert [(row[1].value, row[2].value) for row in quality] == [
        ("all", 3), (TIERS[0], 2), (TIERS[1], 1)
    ]  # fmt: skip
    assert quality[0][3].value == pytest.approx((0 + 0.816497 + 1) / 3, abs=1e-6)
    assert quality[0][4].value == 1
    assert quality[1][3].value == pytest.approx(0.408248, abs=1e-6)


@pytest.fixture
def place(transactional_db, settings, tmp_path) -> Place:
    return make_place(settings, tmp_path)


def bridged(judge: JudgeRun, **options) -> JudgeRun:
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        given = {"mode": "likert_pair"} | options
        run = start_bridge(judge=judge, endpoint=endpoint, actor=None, claimed=True, **given)
        JUDGES.drive(run)
    run.refresh_from_db()
    return run


@pytest.mark.slow
def test_a_bridge_asks_the_other_judge_about_drawn_answers_and_the_board_shows_it(place) -> None:
    run = place.run(rounds=3)
    judge = judged(place, run)
    sheet = bridges_table(judge)
    assert sheet.rows == ()  # one judge alone has nobody to be compared with
    made = bridged(judge, size=4, seed=7)
    assert (made.status, made.verdicts.count(), made.config["seed"]) == ("done", 4, 7)
    keys = set(made.verdicts.values_list("item", "round"))
    assert keys <= set(judge.verdicts.values_list("item", "round"))
    again = bridged(judge, size=4, seed=7)
    assert set(again.verdicts.values_list("item", "round")) == keys
    assert set(bridged(judge, size=4, seed=8).verdicts.values_list("item", "round")) != keys

    # The bridge judged a part of the run: the board's figures are never of that part.
    assert [each.pk for each in judges(place.room.benchmark)] == [judge.pk]
    assert figures_of(run, made).by_round[0].quality.mean.n == 0

    for number, row in enumerate(made.verdicts.order_by("pk")):
        (old,) = judge.verdicts.filter(item=row.item_id, round=row.round)
        AnswerVerdict.objects.filter(pk=old.pk).update(quality=3)
        AnswerVerdict.objects.filter(pk=row.pk).update(quality=3 + number % 2)
    again.delete()
    found = shift_of(made)
    assert (found.answers, found.failed) == (4, 0)
    by_query: dict[int, list[int]] = {}
    for number, row in enumerate(made.verdicts.order_by("pk")):
        by_query.setdefault(row.query_id, []).append(number % 2)
    own = [sum(each) / len(each) for each in by_query.values()]
    assert found.quality.value == pytest.approx(sum(own) / len(own))

    room = place.room
    client = signed_in(room.admin)
    page = client.get(room.url("agent-board/")).content.decode()
    assert "This judge beside others" in page
    assert "likert_pair" in page
    page = client.get(room.url(f"judge-runs/{made.pk}/")).content.decode()
    assert f"Bridge {made.pk} from judge run {judge.pk}" in page
    sent = client.get(room.url(f"judge-runs/{made.pk}/bridge.csv")).getvalue().decode("utf-8-sig")
    (line,) = csv.DictReader(io.StringIO(sent))
    assert (line["answers"], line["bridge"]) == ("4", "bridged")
    (sheet,) = client.get(f"/api{room.url(f'judge-runs/{made.pk}/report/')}").json()
    assert sheet["name"] == "bridge"
    assert client.get(room.url("agents/")).content.decode().count("likert_pair") == 1  # the form's


@pytest.mark.slow
def test_without_a_bridge_the_board_says_that_judges_cannot_be_set_side_by_side(place) -> None:
    one, other = place.run(rounds=1), place.run(rounds=1)
    judge = judged(place, one)
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        second = start_judging(
            benchmark=place.room.benchmark, agent_run=other, endpoint=endpoint, actor=None,
            mode="likert_pair", claimed=True,
        )  # fmt: skip
        JUDGES.drive(second)
    (row,) = bridges_table(judge).rows
    assert row[1].value == 0
    assert row[-1].value == "no bridge: not to be set side by side"
    page = signed_in(place.room.admin).get(place.room.url("agent-board/")).content.decode()
    assert "no bridge: not to be set side by side" in page
    # Two full judgings of one run are a bridge, too.
    judged(place, other)
    (row,) = bridges_table(judge).rows
    assert (row[1].value, row[-1].value) == (2, "bridged")


@pytest.mark.slow
def test_a_bridge_to_the_judge_itself_or_from_a_trial_is_refused(place) -> None:
    judge = judged(place, place.run(rounds=1))
    with pytest.raises(Refused, match="the judge itself"):
        bridged(judge, mode="aspect_rubric")
    for name, value in (("size", 0), ("seed", -1)):
        with pytest.raises(Refused) as refusal:
            bridged(judge, **{name: value})
        assert refusal.value.field == name
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        trial = start_judging(
            benchmark=place.room.benchmark, agent_run=None, endpoint=endpoint, actor=None,
            repetitions=2, claimed=True,
        )  # fmt: skip
        JUDGES.drive(trial)
    with pytest.raises(Refused, match="is a trial"):
        bridged(trial)
    # The practice model says the same again: sigma 0, by tier.
    page = signed_in(place.room.admin).get(place.room.url(f"judge-runs/{trial.pk}/")).content
    assert b"What asking the judge again does" in page
    assert JudgeRun.objects.filter(bridge_from__isnull=False).count() == 0


@pytest.mark.slow
def test_the_screen_the_api_and_the_command_ask_for_a_bridge(place) -> None:
    judge = judged(place, place.run(rounds=1))
    room = place.room
    path = room.url(f"judge-runs/{judge.pk}/bridge/")
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        form = {
            "endpoint": endpoint.name, "mode": "likert_pair", "size": 2, "seed": 1, "repetitions": 1
        }  # fmt: skip
        sent = signed_in(room.admin).post(path, form)
        made = JudgeRun.objects.get(bridge_from=judge)
        assert sent.headers["Location"] == room.url(f"judge-runs/{made.pk}/")
        posted = script(room.admin).post(
            f"/api{path}", {"mode": "likert_pair", "size": 1}, content_type="application/json"
        )
        assert (posted.status_code, posted.json()["bridge_from"]) == (202, judge.pk)
        same = script(room.admin).post(f"/api{path}", {}, content_type="application/json")
        assert (same.status_code, same.json()["field"]) == (409, "endpoint")
        assert signed_in(room.reviewer).post(path, form).status_code == 403
    out = io.StringIO()
    call_command(
        "judge_answers", room.benchmark.slug, bridge_from=judge.pk, n=2, seed=3,
        mode="likert_pair", json=True, stdout=out,
    )  # fmt: skip
    found = json.loads(out.getvalue())
    assert found["tables"][0]["rows"][0][1]["value"] == 2


def test_the_tables_of_a_board_without_other_judges_stay_as_they_were(place) -> None:
    run = place.run(rounds=1)
    judge = judged(place, run)
    found = board.board_of(place.room.benchmark, judge)
    names = [sheet.name for sheet in board.tables(found, judge, gamma=0.05)]
    assert names == ["fixed", "printed-fixed"]
