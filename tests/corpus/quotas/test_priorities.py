"""Whose runs are served first, of every kind: by benchmark, by run and by size, counted."""

from io import StringIO
from itertools import count
from threading import get_ident
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from corpus.models import Benchmark, ImportRun, PoolBuild, RunComputation
from corpus.quotas.services import quota_of, set_common_priority
from debate.models import DebateRun
from evaluation.models import Chain
from kit.models import Event
from kit.runs import turns
from kit.runs.models import TrackedRun
from kit.runs.polling import due_runs
from kit.runs.turns import Priority
from llm.ledger.accounts import set_priority
from tests.factories import make_benchmark, make_member, make_pool

pytestmark = pytest.mark.django_db
# Threads that others have, below which none of this process is.
_THREADS = count(-1_000_000)


@pytest.fixture(autouse=True)
def _five_threads(monkeypatch) -> None:
    """As `make run` has them, all free."""
    monkeypatch.setattr(turns, "threads", 5)
    monkeypatch.setattr(turns, "_busy", {})
    monkeypatch.setattr(turns, "_waiting", {})
    # Nobody has waited longer than others.
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: 1000.0))


def debate(benchmark: Benchmark, total: int) -> DebateRun:
    pool = make_pool(benchmark, name=f"{total} pairs")
    config = {"endpoint": "practice", "model": "practice", "name": f"{total} pairs"}
    return DebateRun.objects.create(benchmark=benchmark, pool=pool, total=total, **config)


def every_kind(benchmark: Benchmark, total: int) -> list[TrackedRun]:
    """An import, a pool, a computed run and debates of so many items, in the order they came."""
    own = {"benchmark": benchmark, "total": total}
    return [
        ImportRun.objects.create(format="bright", path="/nowhere", label="corpus", **own),
        PoolBuild.objects.create(depth=10, name="pool", **own),
        RunComputation.objects.create(method="bm25", name="BM25", **own),
        debate(benchmark, total),
    ]


def served() -> list[TrackedRun]:
    """What the threads take, in order; each holds its run to its end."""
    found: list[TrackedRun] = []
    for model, pk, *_ in due_runs():
        run = model.objects.get(pk=pk)
        if run.claim():
            found.append(run)
            turns._busy[next(_THREADS)] = turns._busy.pop(get_ident())
    return found


def test_a_small_run_does_not_wait_behind_another_benchmarks_work_of_any_kind() -> None:
    large = every_kind(make_benchmark("large"), 100_000)
    first = served()
    # Of four threads for runs they have three, whatever they are, and hold them for hours.
    assert len(first) == 3
    assert set(first) < set(large)
    assert served() == []
    small = every_kind(make_benchmark("small"), 20)
    [taken] = served()
    assert taken in small
    # It has ended, and one of the large: the next small one goes before what is left of them.
    for thread in (max(turns._busy), min(turns._busy)):
        del turns._busy[thread]
    [taken] = served()
    assert taken in small


def test_all_kinds_of_run_go_by_the_priority_of_their_benchmark() -> None:
    large, small = make_benchmark("large"), make_benchmark("small")
    many, few = every_kind(large, 100_000), every_kind(small, 20)
    chain = Chain.objects.create(benchmark=large, name="chain", plan="", total=12)
    assert {run.level for run in many} == {"low"}
    assert {run.level for run in (*few, chain)} == {"normal"}
    set_common_priority(benchmark=large, priority=Priority.HIGH, actor=None)
    assert {run.level for run in (*many, chain)} == {"high"}
    order = [(model, pk) for model, pk, *_ in due_runs()]
    expected = {(type(run), run.pk) for run in (*many, chain)}
    assert set(order[:5]) == expected
    # A run that has its own keeps it.
    set_priority(run=many[-1], priority=Priority.LOW, actor=None)
    assert [model for model, *_ in due_runs()][-1] is DebateRun
    assert many[-1].level == "low"
    set_common_priority(benchmark=large, priority=Priority.LOW, actor=None)
    assert {(type(run), run.pk) for run in few} == {key[:2] for key in due_runs()[:4]}


@pytest.mark.slow
def test_the_priority_is_set_on_screen_by_script_and_by_command() -> None:
    benchmark = make_benchmark()
    admin = make_member(benchmark, "admin", "admin")
    User.objects.filter(pk=admin.pk).update(is_staff=True)
    run = PoolBuild.objects.create(benchmark=benchmark, depth=10, name="pool", total=20)
    client = Client()
    client.force_login(admin)
    url, api = "/b/demo/quotas/", "/api/b/demo/quotas/"
    assert client.post(url, {"calls": 7, "priority": 16}).status_code == 302
    assert quota_of(benchmark).calls == 7
    page = client.get(url).content.decode()
    assert "<strong>high</strong>" in page
    assert "pool" in page
    given = {"bytes": None, "calls": 8, "usd": None}
    answer = client.put(api, given, content_type="application/json").json()
    assert (answer["calls"], answer["priority"]) == (8, "high")  # left out it stays
    given["priority"] = "low"
    assert client.put(api, given, content_type="application/json").json()["priority"] == "low"
    event = Event.objects.filter(verb="set quota").first()
    assert (event.actor, event.data["priority"], event.scope) == (admin, "low", "demo")

    said = StringIO()
    call_command("priority", "demo", "benchmark", "high", stdout=said)
    assert said.getvalue() == f"corpus.build_pool/{run.pk}\thigh\tpool\n"
    assert (quota_of(benchmark).calls, Event.objects.first().data["priority"]) == (8, "high")
    call_command("quota", "demo", "--calls", "9", stdout=StringIO())
    assert quota_of(benchmark).priority == Priority.HIGH
    call_command("priority", "demo", "benchmark", "by-size", stdout=StringIO())
    assert quota_of(benchmark).priority is None
    with pytest.raises(CommandError, match="of its own"):
        call_command("priority", "demo", f"corpus.build_pool/{run.pk}", "high")
