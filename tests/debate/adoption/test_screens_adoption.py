"""Screens and API of a run's labels: preview, adoption, undo, and the pool of a filter."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import EscalationCase
from annotate.voting.services import cast_vote
from corpus.models import Pool
from debate.audits.services import draw_audit
from debate.runs.configuration import ModelChoice, RunConfig
from kit.errors import Refused
from tests.debate.adoption.test_adoption import standing
from tests.debate.runs.making import hold, pool_of
from tests.debate.runs.test_api import script
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)
TRIAL = RunConfig(trial=True)


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


@pytest.fixture
def admin(benchmark) -> Any:
    return make_member(benchmark, "ada", "admin")


@pytest.fixture
def client(admin) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def text(response: Any) -> str:
    return response.content.decode()


def url(name: str, run: Any) -> str:
    return reverse(name, args=["demo", run.pk])


def rows(client: Client, run: Any, query: str) -> list[str]:
    table = client.get(f"{url('debates', run)}?{query}").context["table"]
    assert table.params, query
    return sorted(debate.passage.pid for debate in table.rows)


def test_preview_leads_to_its_pairs_and_the_button_adopts(client, benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 1, 3, 6, 10), endpoint, TRIAL)
    assert "Adopt its labels…" in text(client.get(url("debate-run", run)))
    page = client.get(url("debate-run-adoption", run))
    assert "If it is adopted" in text(page)
    counts = [each["count"] for each in page.context["planned"]]
    assert counts == [3, 0, 0, 1]
    for each in page.context["planned"]:
        found = client.get(each["url"]).context["table"]
        assert (found.params != {}, found.total) == (True, each["count"])
    assert standing() == {}
    response = client.post(url("debate-run-adoption", run))
    assert response.url == url("debate-run-adoption", run)
    assert len(standing()) == 3
    page = client.get(response.url)
    assert "3 labels are current now" in text(page)
    assert [each["count"] for each in page.context["found"]] == [3, 0, 1, 0]
    for each in page.context["found"]:
        assert client.get(each["url"]).context["table"].total == each["count"]


@pytest.mark.slow
def test_adopted_run_leads_to_the_cases_that_it_opened(client, benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 6, 10)
    run = hold(pool, endpoint, TRIAL)
    client.post(url("debate-run-adoption", run))
    room = text(client.get(url("debate-run", run)))
    assert f"{url('debates', run)}?case=opened" in room
    assert rows(client, run, "case=opened") == ["p6"]
    assert rows(client, run, "case=open") == ["p6"]
    assert rows(client, run, "case=closed") == []
    other = hold(pool, endpoint, TRIAL)
    client.post(url("debate-run-adoption", other))
    assert rows(client, other, "case=any") == ["p6"]
    assert rows(client, other, "case=opened") == []


@pytest.mark.slow
def test_adoption_is_undone_by_a_button_until_somebody_votes(client, benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3, 6), endpoint, TRIAL)
    client.post(url("debate-run-adoption", run))
    assert "Undo the adoption…" in text(client.get(url("debate-run-adoption", run)))
    response = client.post(url("debate-run-unadopt", run))
    assert "1 labels are on trial again" in text(client.get(response.url))
    assert standing() == {}
    client.post(url("debate-run-adoption", run))
    voter = make_member(benchmark, "vera", "annotator")
    cast_vote(case=EscalationCase.objects.get(), voter=voter, label=1)
    page = text(client.get(url("debate-run-adoption", run)))
    assert "People have voted since on 1 of the cases" in page
    assert "Undo the adoption…" not in page
    client.post(url("debate-run-unadopt", run))
    assert standing() == {"p3": (0, "debate")}


def test_run_that_goes_on_is_not_offered(client, benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3), endpoint, TRIAL)
    type(run).objects.update(status="running")
    page = text(client.get(url("debate-run-adoption", run)))
    assert "can be adopted when it is done" in page
    assert "Adopt the labels" not in page


def test_reviewer_reads_the_preview_and_presses_nothing(benchmark, endpoint) -> None:
    reviewer = Client()
    reviewer.force_login(make_member(benchmark, "rita", "reviewer"))
    run = hold(pool_of(benchmark, 3), endpoint, TRIAL)
    page = text(reviewer.get(url("debate-run-adoption", run)))
    assert "If it is adopted" in page
    assert "Adopt the labels" not in page


@pytest.mark.slow
def test_api_previews_adopts_undoes_and_keeps(benchmark, endpoint, admin) -> None:
    api, pool = script(admin), pool_of(benchmark, 3, 6, 10)
    run = hold(pool, endpoint, TRIAL)
    base = f"/api/b/demo/debate-runs/{run.pk}/"
    told = api.get(f"{base}adoption/").json()
    assert told["stands"] == {"relevant": 1, "irrelevant": 1, "total": 2}
    assert (told["cases"], told["undo"]) == (1, "This run is not adopted.")
    assert api.post(f"{base}adoption/").json() == {"standing": 2, "weaker": 0, "cases": 1}
    assert api.get(f"{base}adoption/").json()["undo"] == ""
    undone = {"waiting": 2, "stood": 2, "restored": 0, "cases": 1}
    assert api.post(f"{base}adoption/undo/").json() == undone
    refused = api.post(f"{base}adoption/undo/")
    assert (refused.status_code, refused.json()["detail"]) == (409, "This run is not adopted.")
    assert api.post(f"{base}keep/").status_code == 409
    sieve = hold(pool, endpoint, RunConfig(kind="filter"))
    kept = api.post(f"/api/b/demo/debate-runs/{sieve.pk}/keep/", {"name": "rest"})
    assert (kept.status_code, kept.json()["name"]) == (201, "rest")
    assert kept.json()["pairs"] == Pool.objects.get(name="rest").entries.count() == 1


@pytest.fixture
def sieve(benchmark, endpoint) -> Any:
    """A filter of three models over passages of rising overlap."""
    seats = tuple(ModelChoice(f"practice-{n}", endpoint.name) for n in (1, 1, 1))
    return hold(pool_of(benchmark, 1, 3, 4, 10), endpoint, RunConfig(kind="filter", agents=seats))


def vote(run: Any, pid: str, votes: str) -> None:
    """Make the models of a filter vote like this."""
    debate = run.debates.get(passage__pid=pid)
    for number, said in enumerate(votes, start=1):
        response = {"T": "yes", "F": "no", "?": ""}[said]
        debate.turns.filter(agent=f"J{number}").update(response=response)


@pytest.mark.slow
def test_filters_report_tells_who_discards_alone(client, sieve) -> None:
    for pid, votes in (("p1", "FFF"), ("p3", "FTT"), ("p4", "FFT"), ("p10", "T?T")):
        vote(sieve, pid, votes)
    page = client.get(url("debate-run-report", sieve))
    sheets = {sheet.name: sheet for sheet in page.context["sheets"]}
    models = [[cell.value for cell in row[1:]] for row in sheets["filter-models"].rows]
    assert models == [[1, 3, 0, 0.75, 1, 2], [1, 2, 1, 2 / 3, 0, 1], [3, 1, 0, 0.25, 0, 0]]
    overlaps = [[cell.value for cell in row[1:3]] for row in sheets["filter-overlap"].rows]
    assert overlaps == [[2, 2 / 3], [1, 1 / 3], [1, 1 / 2]]
    assert {row[0].value: row[1].value for row in sheets["filter-votes"].rows} == {
        "FFF: false, false, false": 1,
        "FTT: false, true, true": 1,
        "FFT: false, false, true": 1,
        "T?T: true, not read, true": 1,
    }
    for sheet in sheets.values():
        for row in sheet.rows:
            for cell in row:
                if cell.url and cell.kind == "number" and sheet.name.startswith("filter"):
                    assert client.get(cell.url).context["table"].total == cell.value, cell.url
    file = client.get(reverse("debate-run-table", args=["demo", sieve.pk, "filter-models"]))
    assert file.getvalue().decode().splitlines()[0].startswith("Model,True,False")


def test_discarded_pairs_are_audited_blind(client, sieve, admin) -> None:
    page = text(client.get(url("debate-run-report", sieve)))
    assert "Audit discarded pairs" in page
    assert "Send adversarial passages" not in page
    discarded = sorted(pid for pid in rows(client, sieve, "label=0"))
    sample = draw_audit(run=sieve, size=10, seed=1, actor=admin)
    drawn = sample.items.values_list("debate__passage__pid", flat=True)
    assert sorted(drawn) == discarded
    case = sample.items.first().case
    assert case.snapshot["positions"] == []
    type(case).objects.filter(pk=case.pk).update(status="closed", label=1)
    room = client.get(url("debate-run", sieve))
    assert [(each.wrong.hits, each.wrong.n) for each in room.context["audits"]] == [(1, 1)]
    with pytest.raises(Refused, match="No discarded pair"):
        draw_audit(run=sieve, size=10, seed=1, actor=admin)


@pytest.mark.slow
def test_filters_pool_is_made_by_a_button_and_shown_as_candidates(client, sieve, endpoint) -> None:
    assert "Keep as a pool" in text(client.get(url("debate-run-adoption", sieve)))
    response = client.post(url("debate-run-keep", sieve), {"name": "kept"})
    pool = Pool.objects.get(name="kept")
    assert response.url == reverse("pool", args=["demo", pool.pk])
    again = client.post(url("debate-run-keep", sieve), {"name": "kept"})
    assert "There is a pool named" in text(client.get(again.url))
    run = hold(pool, endpoint)
    page = client.get(url("debate-run", run))
    assert "Candidates" in text(page)
    row = page.context["domains"][0]
    assert (row["candidates"], row["total"]) == (4, pool.entries.count())


@pytest.mark.slow
def test_pairs_are_filtered_by_whether_agents_answered_alike(client, benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3, 5, 6, 10), endpoint)
    different = sorted(rows(client, run, "status=escalated"))
    assert rows(client, run, "alike=different") == different != []
    assert rows(client, run, "alike=same") == sorted({"p3", "p5", "p6", "p10"} - set(different))
    assert rows(client, run, "heard=yes") == ["p10", "p3", "p5", "p6"]
    after = rows(client, run, "open=1")
    assert set(different) <= set(after)


@pytest.mark.slow
def test_numbers_of_lasting_agreements_lead_to_their_pairs(client, benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3, 10, 6), endpoint, RunConfig(continue_to=3))
    page = client.get(url("debate-run-report", run))
    sheet = next(each for each in page.context["sheets"] if each.name == "persistence")
    assert len(sheet.rows) == 3
    for row in sheet.rows:
        assert client.get(row[1].url).context["table"].total == row[1].value
        for cell in row[2:4]:
            found = client.get(cell.url).context["table"].total
            assert found == pytest.approx(cell.value * row[1].value)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "query",
    ["lasting=9", "lasting=1:x", "votes=XYZ", "votes=J9:F", "votes=J1%2BJ9", "effect=all"],
)
def test_what_no_link_names_narrows_nothing_and_is_400_by_api(
    client, sieve, admin, query: str
) -> None:
    found = client.get(f"{url('debates', sieve)}?{query}").context["table"]
    assert (found.params, found.total) == ({}, 4)
    answer = script(admin).get(f"/api/b/demo/debate-runs/{sieve.pk}/debates/?{query}")
    assert answer.status_code == 400


def test_budget_is_set_on_the_page(client, benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3), endpoint)
    type(run).objects.update(status="paused", pause_reason="The budget has no room.")
    assert "Set the budget" in text(client.get(url("debate-run", run)))
    response = client.post(url("debate-run-budget", run), {"budget_usd": "7.50"})
    assert "The budget is set" in text(client.get(response.url))
    run.refresh_from_db()
    assert str(run.budget_usd) == "7.50"
    response = client.post(url("debate-run-budget", run), {"budget_usd": "-1"})
    assert "greater than or equal to 0" in text(client.get(response.url))
    client.post(url("debate-run-budget", run), {"budget_usd": ""})
    run.refresh_from_db()
    assert run.budget_usd is None


def test_setup_of_a_run_is_told(client, benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3), endpoint, RunConfig(rounds=3, temperature=0.6))
    setup = dict(client.get(url("debate-run", run)).context["setup"])
    assert (setup["Rounds"], setup["Temperature"]) == ("3", "0.6")
    assert setup["Agent B"] == "practice-1 at practice, irrelevant"
    assert json.dumps(setup)


def test_answers_of_other_kinds_are_compared_by_their_turns(client, sieve) -> None:
    for pid, votes in (("p1", "FFF"), ("p3", "FTT"), ("p4", "TTT"), ("p10", "T?T")):
        vote(sieve, pid, votes)
        labels = {"T": 1, "F": 0, "?": None}
        for number, said in enumerate(votes, start=1):
            turns = sieve.debates.get(passage__pid=pid).turns
            turns.filter(agent=f"J{number}").update(label=labels[said])
    assert rows(client, sieve, "alike=same") == ["p1", "p4"]
    assert rows(client, sieve, "alike=different") == ["p3"]
