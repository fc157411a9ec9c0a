"""Money is one number, and the ledger behind it can be read, filtered and compared with a bill."""

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from corpus.computing import services as computing
from corpus.models import Benchmark
from debate.models import DebateRun
from debate.references import references
from debate.runs.configuration import ModelChoice, RunConfig
from debate.runs.figures import run_spending
from debate.runs.services import start_run
from debate.runs.trajectories import trajectories
from debate.tasks import run_debates
from evaluation.experiments.services import create_experiment, measure, sheets
from kit.runs.models import RunStatus
from llm import endpoints
from llm.ledger.accounts import open_account
from llm.ledger.reading import spending
from llm.models import Call
from tests.debate.answering import SOON, answering, turn
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
)
from tests.llm.stub import Step, completion, status
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
# An answer of the stub has 100 tokens in, 40 of them cached, and 20 out, 5 of them thought:
# 60 x 3 + 40 x 0.7 + 20 x 11 = 428 millionths of a dollar.
ROW = {"endpoint": "*", "model": "stub-1", "valid_from": "2026-01-01"}
PRICES = {"input": "3", "cached": "0.7", "output": "11"}
COST = Decimal("0.000428")
GARBAGE = "I would rather not say."


@pytest.fixture(autouse=True)
def _prices(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    path = tmp_path / "prices.json"
    path.write_text(json.dumps([{**ROW, **PRICES}]))
    settings.ASSAY_PRICES = str(path)


def run_of(benchmark: Benchmark, *, pairs: int = 1, **config: Any) -> DebateRun:
    """A queued debate over so many pairs."""
    query = make_query(benchmark, f"q{DebateRun.objects.count()}")
    found = [(query, make_passage(benchmark, f"{query.qid}-p{n}")) for n in range(pairs)]
    return start_run(
        benchmark=benchmark,
        pool=make_pool(benchmark, *found, name=query.qid),
        endpoint=endpoints.get("default"),
        actor=None,
        config=RunConfig(agents=(ModelChoice("stub-1", "default"),) * 2, **config),
    )


def held(benchmark: Benchmark, **config: Any) -> DebateRun:
    """A run that was driven to its end, with one call in flight so that the script is in order."""
    run = run_of(benchmark, **config)
    DebateRun.objects.filter(pk=run.pk).update(calls_in_flight=1)
    run_debates(run.pk)
    run.refresh_from_db()
    return run


def signed_in(benchmark: Benchmark, name: str = "admin", *roles: str) -> Client:
    client = Client()
    client.force_login(make_member(benchmark, name, *(roles or ("admin",))))
    return client


def told_everywhere(run: DebateRun) -> set[Decimal]:
    """What the run has cost, by everything that tells it."""
    slug, benchmark = run.benchmark.slug, run.benchmark
    client = signed_in(benchmark)
    api = f"/api/b/{slug}/debate-runs/{run.pk}/"
    name = f"debate run {run.pk}"
    out = io.StringIO()
    call_command("calls", "--run", name, "--json", "--totals", "runs", stdout=out)
    command = json.loads(out.getvalue())
    ledger = client.get(f"/api/b/{slug}/spending/?by=roles&run={run.account_id}").json()
    lines = b"".join(client.get(f"/b/{slug}/spending/calls.csv?run={run.account_id}"))
    rows = csv.DictReader(io.StringIO(lines.decode()))
    page = client.get(reverse("debate-run-spending", args=[slug, run.pk]))
    usd = [
        client.get(api).json()["spent_usd"],
        client.get(f"/api/b/{slug}/debate-runs/").json()["results"][0]["spent_usd"],
        client.get(f"{api}room/").json()["spending"]["usd"],
        page.context["spending"].usd,
        client.get(f"/b/{slug}/spending/?run={run.account_id}").context["spending"].usd,
        ledger["usd"],
        sum(Decimal(each["usd"]) for each in ledger["totals"]),
        sum(Decimal(row["usd"]) for row in rows if row["usd"]),
        command["usd"],
        command["totals"][0]["usd"],
        run.account.spent_usd,
        sum(call.usd for call in run.account.calls.all() if call.usd is not None),
    ]
    assert f'title="{usd[3]:f} USD"' in one_line(page)
    return {Decimal(each) for each in usd}


NO, YES = turn("no"), turn("yes", "text")
# (what the endpoint answers, calls that are paid, the run's settings)
CASES: dict[str, tuple[list[Step], int, dict[str, Any]]] = {
    "plain": ([NO], 2, {}),
    "repairs": ([GARBAGE, GARBAGE, NO], 4, {}),
    "unreadable to the end": ([GARBAGE], 4, {}),
    "retries": ([status(503, headers=SOON), NO], 2, {}),
    "adjudicator": (
        [NO, YES, NO, YES, json.dumps({"reason": "So.", "response": "no"})],
        5,
        {"adjudicator": ModelChoice("stub-1", "default")},
    ),
}


@pytest.mark.few
@pytest.mark.parametrize("case", CASES)
def test_every_place_tells_the_same_cost_to_the_last_digit(settings: Any, case: str) -> None:
    script, paid, config = CASES[case]
    with answering(settings, *script):
        run = held(make_benchmark(), **config)
    assert told_everywhere(run) == {paid * COST}
    found = run_spending(run)
    assert (found.input_tokens, found.cached_tokens) == (100 * paid, 40 * paid)
    assert (found.output_tokens, found.reasoning_tokens) == (20 * paid, 5 * paid)
    assert found.by_state["answered"] == paid


def test_calls_of_unknown_cost_are_told_apart_everywhere(settings: Any) -> None:
    silent = status(200, body=completion(NO, usage=None))
    with answering(settings, silent):
        run = held(make_benchmark())
    found = run_spending(run)
    assert (found.usd, found.uncosted, found.unpriced, found.untold) == (0, 2, 0, 2)
    assert found.reserved_usd == run.reserved_usd > 0
    assert told_everywhere(run) == {Decimal(0)}


def test_a_pair_costs_what_its_calls_cost_whoever_paid_for_them(settings: Any) -> None:
    """Two calls unread, two read: four in the first run; the second asks the same and pays none."""
    benchmark = make_benchmark()
    with answering(settings, GARBAGE, GARBAGE, NO) as stub:
        first = held(benchmark)
        second = start_run(
            benchmark=benchmark,
            pool=first.pool,
            endpoint=endpoints.get("default"),
            actor=None,
            config=RunConfig(agents=(ModelChoice("stub-1", "default"),) * 2),
        )
        run_debates(second.pk)
        assert len(stub.asked) == 4
    second.refresh_from_db()
    assert (first.spent_usd, second.spent_usd) == (4 * COST, 0)
    for run in (first, second):
        (pair,) = trajectories(run)
        assert (pair.calls, pair.usd) == (4, pytest.approx(float(4 * COST)))
        (pair,) = trajectories(run, set(run.debates.values_list("pk", flat=True)))
        assert (pair.calls, pair.usd) == (4, pytest.approx(float(4 * COST)))
    first.pool.entries.update(systems=[{"system": "bm25", "rank": 1, "score": 2.0}])
    entry = first.pool.entries.get()
    make_gold(entry.query, entry.passage, label=0)
    made = create_experiment(
        benchmark=benchmark,
        name="e",
        reference=next(each.key for each in references(benchmark) if each.key.startswith("gold")),
        runs=[first, second],
        actor=make_member(benchmark, "maker", "admin"),
    )
    measures = measure(made)
    costs = [each.timing.usd.value for each in measures]
    assert costs == [pytest.approx(float(4 * COST))] * 2
    runs, parts, _ = sheets(made, measures)
    assert [row[-1].value for row in runs.rows] == [float(4 * COST), 0.0]
    # (by, part): pairs, seconds, cost, cost of a pair
    found = {(row[1].value, row[2].value): row[3:] for row in parts.rows[:5]}
    assert set(found) == {
        *(("Role", "A"), ("Role", "B"), ("Round", "1"), ("Task", "biology"), ("Retriever", "bm25")),
    }
    for (by, _), (pairs, _, usd, each) in found.items():
        share = 2 if by == "Role" else 4
        assert (pairs.value, usd.value) == (1, pytest.approx(float(share * COST)))
        assert each.value == usd.value


def test_embeddings_are_in_the_ledger_at_the_cost_that_their_run_tells(settings: Any) -> None:
    benchmark = make_benchmark()
    make_query(benchmark)
    make_passage(benchmark)
    vector = {"index": 0, "embedding": [1.0, 0.5]}
    body = {"data": [vector], "usage": {"prompt_tokens": 100, "total_tokens": 100}}
    with answering(settings, status(200, body=body)):
        made = computing.start(
            benchmark=benchmark,
            method="embeddings",
            config={"endpoint": "default", "model": "stub-1"},
            name="vectors",
            actor=None,
            claimed=True,
        )
        computing.run_computation(made)
    made.refresh_from_db()
    assert made.status == RunStatus.DONE, made.error
    client = signed_in(benchmark)
    told = client.get(f"/api/b/demo/run-computations/{made.pk}/").json()["spent_usd"]
    ledger = client.get(f"/api/b/demo/spending/?by=roles&run={made.account_id}").json()
    # 100 tokens in, at 3 USD a million, for the passage and for the query.
    assert {Decimal(told), Decimal(ledger["usd"])} == {Decimal("0.0006")}
    assert [(each["role"], each["calls"]) for each in ledger["totals"]] == [("embedding", 2)]


def call_of(run: DebateRun, number: int, **fields: Any) -> Call:
    values = {"role": "debate_turn", "model": "m", "endpoint": "one", "status": "answered"}
    values |= {"text": "yes", "created_at": timezone.now(), "request": {"messages": []}} | fields
    return Call.objects.create(key=f"k{number}", attempt=1, account=open_account(run), **values)


@pytest.fixture
def run() -> DebateRun:
    benchmark = make_benchmark("mine")
    pool = make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    return DebateRun.objects.create(
        benchmark=benchmark, pool=pool, name="run", endpoint="one", model="m"
    )


@pytest.mark.slow
def test_calls_never_leak_to_another_benchmark(run: DebateRun) -> None:
    call = call_of(run, 1, usd="0.5", subject="debate:1:r1:A", model="a-model-of-mine")
    nobodys = Call.objects.create(
        key="n", attempt=1, text="", status="answered", request={}, created_at=timezone.now()
    )
    other = make_benchmark("other")
    client = signed_in(other, "stranger")
    assert client.get("/b/mine/spending/").status_code == 404
    for address in ("/b/other/spending/", "/api/b/other/calls/"):
        for asked in ("", f"?q={call.pk}", "?q=debate:1"):
            found = client.get(f"{address}{asked}")
            assert found.status_code == 200
            assert "debate:1:r1" not in one_line(found)
    assert client.get(f"/api/b/other/calls/?run={run.account_id}").status_code == 400
    for pk in (call.pk, nobodys.pk):
        assert client.get(f"/b/other/spending/calls/{pk}/").status_code == 404
        assert client.get(f"/api/b/other/calls/{pk}/").status_code == 404
    assert client.get("/api/b/other/spending/").json()["calls"] == 0
    assert b"debate:1" not in b"".join(client.get(f"/b/other/spending/calls.csv?q={call.pk}"))
    # A name that totals show, and that no random token on a page can hold.
    assert "a-model-of-mine" not in one_line(client.get("/b/other/spending/totals/"))
    boss = signed_in(run.benchmark, "boss")
    assert "a-model-of-mine" in one_line(boss.get("/b/mine/spending/totals/"))
    mine = signed_in(run.benchmark, "mine")
    assert mine.get(f"/b/mine/spending/calls/{call.pk}/").status_code == 200
    assert mine.get(f"/b/mine/spending/calls/{nobodys.pk}/").status_code == 404
    for role in ("reviewer", "annotator"):
        one = signed_in(run.benchmark, role, role)
        assert one.get("/b/mine/spending/").status_code == 403
        assert one.get(f"/api/b/mine/calls/{call.pk}/").status_code == 403


@pytest.mark.slow
def test_calls_are_filtered_by_run_role_model_state_and_day(run: DebateRun) -> None:
    long_ago = datetime(2026, 3, 5, 12, tzinfo=UTC)
    one = call_of(run, 1, usd="0.25", created_at=long_ago, subject="debate:7:r1:A")
    two = call_of(run, 2, model="n", usd="0.5", role="adjudication", subject="debate:70:r1:J")
    lost = call_of(
        run, 3, status="possibly_paid", text=None, bound_usd="0.125", created_at=long_ago
    )
    open_one = call_of(run, 4, status="intent", text=None, bound_usd="0.0625")
    client = signed_in(run.benchmark)
    wanted = {
        "": [open_one, lost, two, one],
        f"?run={run.account_id}": [open_one, lost, two, one],
        "?role=adjudication": [two],
        "?model=n": [two],
        "?state=possibly_paid": [lost],
        "?state=uncosted": [open_one, lost],
        "?begun=2026-03": [lost, one],
        "?begun=2026-03-05&state=answered": [one],
        "?q=debate:7": [one],
        f"?q={two.pk}": [two],
    }
    for asked, calls in wanted.items():
        page = client.get(f"/b/mine/spending/{asked}")
        assert [each.pk for each in page.context["table"].rows] == [each.pk for each in calls]
        assert page.context["spending"].calls == len(calls)
        told = client.get(f"/api/b/mine/calls/{asked}").json()["results"]
        assert [each["id"] for each in told] == [each.pk for each in calls]
        lines = b"".join(client.get(f"/b/mine/spending/calls.csv{asked}")).decode()
        assert len(lines.splitlines()) == 1 + len(calls)
    lost_sum = client.get("/api/b/mine/spending/?state=possibly_paid").json()
    assert (lost_sum["reserved_usd"], lost_sum["usd"]) == ("0.125000000000", "0.000000000000")
    assert client.get("/api/b/mine/calls/?state=paid").status_code == 400
    assert client.get("/api/b/mine/spending/?by=moon").status_code == 400


@pytest.mark.slow
def test_sums_are_read_again_only_where_a_call_was_begun_or_settled(run: DebateRun) -> None:
    call_of(run, 1, usd="0.25")
    open_one = call_of(run, 2, status="intent", text=None, bound_usd="0.0625")
    client, address = signed_in(run.benchmark), "/b/mine/spending/?model=m"

    def shown() -> tuple[int, Decimal, Decimal]:
        found = client.get(address).context["spending"]
        return found.calls, found.usd, found.reserved_usd

    assert shown() == (2, Decimal("0.25"), Decimal("0.0625"))
    with CaptureQueriesContext(connection) as captured:
        assert shown() == (2, Decimal("0.25"), Decimal("0.0625"))
    assert not any("SUM(" in each["sql"] for each in captured)
    Call.objects.filter(pk=open_one.pk).update(status="possibly_paid")
    assert client.get("/b/mine/spending/?state=possibly_paid").context["spending"].calls == 1
    Call.objects.filter(pk=open_one.pk).update(status="answered", text="{}", usd="0.05")
    assert shown() == (2, Decimal("0.30"), Decimal(0))
    call_of(run, 3, usd="1")
    assert shown() == (3, Decimal("1.30"), Decimal(0))


@pytest.mark.slow
def test_totals_lead_to_the_calls_that_they_count(run: DebateRun) -> None:
    for number in range(3):
        call_of(run, number, model=f"m{number % 2}", usd="0.1", reasoning_tokens=7)
    call_of(run, 9, status="possibly_paid", text=None, bound_usd="0.3")
    client = signed_in(run.benchmark)
    page = client.get("/b/mine/spending/totals/")
    by_name = {sheet.name: sheet for sheet in page.context["sheets"]}
    assert set(by_name) == {"days", "models", "roles", "runs", "states"}
    for sheet in by_name.values():
        place = sheet.header.index("Calls")
        for row in sheet.rows:
            counted = client.get(row[place].url).context["spending"]
            assert counted.calls == row[place].value
            assert counted.reasoning_tokens == row[sheet.header.index("Of them reasoning")].value
        assert sum(row[place].value for row in sheet.rows) == 4
    lines = b"".join(client.get("/b/mine/spending/totals/runs.csv")).decode().splitlines()
    assert lines[1].startswith(f"debate run {run.pk},4,1,")
    assert "0.3" in lines[1]
    assert client.get("/b/mine/spending/totals/moons.csv").status_code == 404


def test_call_shows_its_whole_prompt_its_answer_and_how_its_model_was_asked(run: DebateRun) -> None:
    first = {"role": "user", "content": "Is <b>this</b> so?"}
    again = {"role": "user", "content": "Once more, please."}
    one = call_of(run, 1, request={"messages": [first]}, text=GARBAGE)
    two = call_of(
        run,
        2,
        request={"messages": [again], "earlier": one.key, "asked_as": {"left_out": ["seed"]}},
    )
    other = Call.objects.create(
        key=two.key, attempt=2, account=two.account, status="failed", request={}, error="Busy.",
        created_at=timezone.now(),
    )  # fmt: skip
    client = signed_in(run.benchmark)
    page = one_line(client.get(f"/b/mine/spending/calls/{two.pk}/"))
    assert "Is &lt;b&gt;this&lt;/b&gt; so?" in page
    assert "Once more, please." in page
    assert "left out" in page
    assert f"Call {other.pk}" in page
    told = client.get(f"/api/b/mine/calls/{two.pk}/").json()
    assert told["prompt"] == [first, again]
    assert (told["text"], told["asked_as"]) == ("yes", {"left_out": ["seed"]})
    assert told["run"] == f"debate run {run.pk}"


def test_command_lists_adds_up_and_writes_a_file(run: DebateRun, tmp_path: Path) -> None:
    call_of(run, 1, usd="0.000000000001", error="=SUM(A1)")
    call_of(run, 2, status="possibly_paid", text=None, bound_usd="0.25", role="hint")
    elsewhere = make_benchmark("other")
    pool = make_pool(elsewhere, (make_query(elsewhere), make_passage(elsewhere)))
    theirs = DebateRun.objects.create(benchmark=elsewhere, pool=pool, name="r", endpoint="e")
    call_of(theirs, 3, usd="1")

    def told(*args: str) -> str:
        out = io.StringIO()
        call_command("calls", *args, stdout=out, stderr=io.StringIO())
        return out.getvalue()

    assert json.loads(told("--json"))["usd"] == "1.000000000001"
    mine = json.loads(told("--benchmark", "mine", "--json", "--totals", "roles"))
    assert (mine["calls"], mine["usd"], mine["reserved_usd"]) == (
        2,
        "0.000000000001",
        "0.250000000000",
    )
    assert [each["role"] for each in mine["totals"]] == ["debate_turn", "hint"]
    assert "at most $0.25" in told("--state", "possibly_paid")
    assert "3 calls" in told("--totals", "days")
    path = tmp_path / "calls.csv"
    told("--benchmark", "mine", "--csv", str(path))
    rows = list(csv.DictReader(path.open()))
    assert [Decimal(row["usd"] or 0) for row in rows] == [0, Decimal("0.000000000001")]
    assert rows[0]["at_most_usd"].startswith("0.25")
    assert rows[1]["error"] == "'=SUM(A1)"
    assert told("--state", "possibly_paid", "--csv", "-").count("\n") == 2
    assert json.loads(told("--until", "2000-01-01", "--json"))["calls"] == 0
    for wrong in (("--run", "no such run"), ("--benchmark", "nobodys")):
        with pytest.raises(CommandError):
            told(*wrong)


def test_many_small_amounts_are_added_up_exactly(run: DebateRun) -> None:
    """Added up as floating point numbers, ten dimes are 0.9999999999999999."""
    for number in range(10):
        call_of(run, number, usd="0.1")
    call_of(run, 11, usd="1234.000000000001")
    assert spending(run.calls).usd == Decimal("1235.000000000001")


def test_run_that_paid_for_nothing_has_an_empty_ledger(run: DebateRun) -> None:
    assert (run.spent_usd, spending(run.calls).calls) == (0, 0)
    page = signed_in(run.benchmark).get("/b/mine/spending/")
    assert "No call" in one_line(page)
    assert run.status == RunStatus.QUEUED
