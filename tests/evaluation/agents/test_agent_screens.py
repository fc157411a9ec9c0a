"""Screens and API of search agents, over a run and a judging that the practice model made."""

import csv
import io

import pytest
from django.test import Client

from evaluation.agents.judging import start_judging
from evaluation.agents.models import AgentItem, AgentRun, AnswerVerdict, JudgeRun
from evaluation.agents.protocol.measures import aer
from evaluation.agents.reading import figures_of, judges
from evaluation.tasks import JUDGES
from llm import endpoints
from tests.evaluation.agents.room import Place, make_place
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)


def judged(place: Place, run: AgentRun) -> JudgeRun:
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        found = start_judging(
            benchmark=place.room.benchmark,
            agent_run=run,
            endpoint=endpoint,
            actor=None,
            claimed=True,
        )
        JUDGES.drive(found)
    return found


def signed_in(place: Place) -> Client:
    client = Client()
    client.force_login(place.room.admin)
    return client


@pytest.mark.slow
def test_the_board_the_trace_and_the_api_tell_one_story(settings, tmp_path) -> None:
    place = make_place(settings, tmp_path)
    fixed, free = place.run(rounds=3), place.run(repetitions=2)
    judge = judged(place, fixed)
    judged(place, free)
    client, base = signed_in(place), place.room.url("")

    assert [each.model for each in judges(place.room.benchmark)] == ["practice-1"]
    by_round = figures_of(fixed, judge)
    alphas = [after.alpha.value for after in by_round.by_round]
    assert len(alphas) == 3
    assert alphas == sorted(alphas)  # nothing that was found is lost
    found = figures_of(free, judge)
    own = [
        aer(float(row.quality), row.item.round_count)
        for row in AnswerVerdict.objects.filter(item__run=free).select_related("item")
    ]
    assert found.aer.value == pytest.approx(sum(own) / len(own))

    sheets = client.get(f"/api{base}agent-board/").json()
    assert [sheet["name"] for sheet in sheets] == [
        "fixed",
        "printed-fixed",
        "adaptive",
        "printed-adaptive",
        "noise",
    ]
    row = sheets[0]["rows"][0]
    last = row[sheets[0]["header"].index("α-nDCG, round 3")]
    assert last["value"] == alphas[2]
    assert last["low"] is None  # of one query
    printed = [cells[0]["value"] for cells in sheets[1]["rows"]]
    assert printed.index(f"ours: {fixed.name}") == printed.index("BM25, printed") + 1
    page = client.get(f"{base}agent-board/").content.decode()
    assert fixed.name in page
    assert "4.31" in page  # as printed
    assert "α-nDCG, as rounds go on" in page
    assert f"{fixed.name} stays 1" in page
    sent = client.get(f"{base}agent-board/adaptive.csv?judge={judge.pk}&gamma=0")
    (line,) = csv.DictReader(io.StringIO(sent.getvalue().decode("utf-8-sig")))
    assert float(line["AER"]) == pytest.approx(float(line["quality"]))

    # The paper's tables stand beside its own tasks alone.
    for each in place.room.benchmark.domains.all():
        place.room.benchmark.domains.filter(pk=each.pk).update(name=f"garden-{each.pk}")
    sheets = client.get(f"/api{base}agent-board/").json()
    assert [sheet["name"] for sheet in sheets] == ["fixed", "adaptive", "noise"]

    item = fixed.items.get(query=place.room.query)
    page = client.get(f"{base}agents/traces/{item.pk}/?step=2").content.decode()
    assert "Aspects by round" in page
    assert "Step 2 of" in page
    assert "Insects roll their backs" in page
    trace = client.get(f"/api{base}agent-traces/{item.pk}/").json()
    assert [each["round"] for each in trace["answers"]] == [1, 2, 3]
    assert client.get(f"{base}judge-runs/{judge.pk}/").status_code == 200
    assert free.name in client.get(f"{base}agents/").content.decode()
    assert "Judge its answers" in client.get(f"{base}agents/{free.pk}/").content.decode()


@pytest.mark.slow
def test_a_run_is_set_up_forecast_and_judged_on_the_screen(settings, tmp_path) -> None:
    place = make_place(settings, tmp_path)
    client, base = signed_in(place), place.room.url("")
    with endpoints.practice_if_unconfigured("agents") as endpoint:
        page = client.get(f"{base}agents/new/").content.decode()
        assert "BM25" in page
        told = client.get(f"{base}agents/forecast/?rounds=2&repetitions=2").content.decode()
        assert "about 16" in told  # 2 queries, twice, 2 turns and 2 answers
        form = {
            "retriever": place.retriever.pk,
            "rounds": "2",
            "repetitions": "1",
            "endpoint": endpoint.name,
            "k": "5",
            "snippet_tokens": "512",
            "tokenizer": "words",
            "temperature": "0",
            "max_iterations": "100",
        }
        sent = client.post(f"{base}agents/new/", form)
        run = AgentRun.objects.get()
        assert sent.headers["Location"] == f"{base}agents/{run.pk}/"
        assert (run.rounds, run.config["snippet_tokens"], run.total) == (2, 512, 2)
        refused = client.post(f"{base}agents/new/", form | {"k": "0"})
        assert refused.status_code == 422
        posted = client.post(
            f"/api{base}agent-runs/",
            {"retriever": place.retriever.pk, "k": 0},
            content_type="application/json",
        )
        assert (posted.status_code, posted.json()["field"]) == (409, "k")
        client.post(f"{base}agents/{run.pk}/judge/", {"endpoint": endpoint.name})
        assert not JudgeRun.objects.exists()  # there is nothing to judge yet
    assert client.post(f"{base}agents/{run.pk}/pause/").status_code == 302
    run.refresh_from_db()
    assert run.status == "paused"


@pytest.mark.slow
def test_failed_verdicts_are_left_out_and_the_bounds_are_told(settings, tmp_path) -> None:
    place = make_place(settings, tmp_path)
    run = place.run(rounds=1)
    judge = judged(place, run)
    rows = list(judge.verdicts.order_by("pk"))
    AnswerVerdict.objects.filter(pk=rows[0].pk).update(quality=4, completeness=4)
    AnswerVerdict.objects.filter(pk=rows[1].pk).update(
        state="failed", quality=None, completeness=None
    )
    (after,) = figures_of(run, judge).by_round
    # One of two is left: 4; all failed as 1 gives (4 + 1) / 2, as 5 (4 + 5) / 2.
    assert (after.quality.mean.value, after.quality.failed) == (4, 1)
    assert (after.quality.worst, after.quality.best) == (2.5, 4.5)
    page = signed_in(place).get(place.room.url("agent-board/")).content.decode()
    assert "1 verdicts failed and are left out" in page


@pytest.mark.slow
def test_a_trace_of_a_hundred_rounds_asks_the_database_no_more_than_one_of_two(
    settings, tmp_path, django_assert_max_num_queries
) -> None:
    place = make_place(settings, tmp_path)
    run = place.run(rounds=1)
    item = run.items.get(query=place.room.query)
    turn = item.turns[0]
    client, url = signed_in(place), place.room.url(f"agents/traces/{item.pk}/")
    client.get(url)
    for rounds in (2, 100):
        turns = [{**turn, "round": number} for number in range(1, rounds + 1)]
        AgentItem.objects.filter(pk=item.pk).update(turns=turns)
        with django_assert_max_num_queries(45):
            page = client.get(url).content.decode()
        assert f"Step 1 of {rounds}" in page


@pytest.mark.slow
def test_who_votes_sees_no_run_of_agents_or_judges_on_the_screen_or_by_the_api(
    settings, tmp_path
) -> None:
    place = make_place(settings, tmp_path)
    run = place.run(rounds=1)
    judge = judged(place, run)
    both = make_member(place.room.benchmark, "voting-reviewer", "annotator", "reviewer")
    reader = make_member(place.room.benchmark, "mere-reviewer", "reviewer")
    pages = [f"agents/{run.pk}/", f"judge-runs/{judge.pk}/"]
    routes = [f"agent-runs/{run.pk}/", f"judge-runs/{judge.pk}/"]
    for person, status in ((both, 403), (reader, 200)):
        client = Client()
        client.force_login(person)
        asked = [place.room.url(page) for page in pages]
        asked += [f"/api{place.room.url(route)}" for route in routes]
        assert [client.get(each).status_code for each in asked] == [status] * 4
