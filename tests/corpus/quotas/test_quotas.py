"""What a benchmark may use together: files, calls to models, money."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import ROUND_UP, Decimal
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from annotate.workspace.collecting import collect_text
from corpus.benchmarks.services import create_benchmark
from corpus.imports.services import start_import
from corpus.models import CollectedPage, ImportRun
from corpus.quotas.services import check_room, quota_of, set_quota, used_by
from debate.models import DebateRun
from debate.runs.services import start_run
from debate.tasks import run_debates
from kit.errors import Refused
from kit.models import Event, Quota
from kit.runs.models import RunStatus
from kit.runs.moves import resume_run
from llm import endpoints
from llm.ledger.accounts import open_account
from llm.ledger.reserving import reserve, this_month
from llm.models import LOST_AFTER, Account, Call
from tests.debate.answering import answering, turn
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query
from tests.llm.stub import after

# An answer costs as in tests/debate/runs/test_budget.py: $0.002.
PRICE = {"endpoint": "*", "model": "stub-1", "valid_from": "2026-01-01"}
PRICE |= {"input": "10", "cached": "10", "output": "50"}
database = pytest.mark.django_db(transaction=True)


@pytest.fixture
def benchmark():
    return make_benchmark()


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "admin", "admin", "annotator")


def limit(benchmark, **limits) -> None:
    most = {"bytes": None, "calls": None, "usd": None} | limits
    set_quota(benchmark=benchmark, actor=None, **most)


def upload(benchmark, admin, size: int) -> ImportRun:
    file = SimpleUploadedFile("biology.jsonl", b"a" * size)
    return start_import(benchmark=benchmark, actor=admin, format="bright", upload=file)


@pytest.mark.django_db
def test_imported_files_and_pages_share_the_bytes(benchmark, admin) -> None:
    query = make_query(benchmark)
    limit(benchmark, bytes=1_000)
    first = upload(benchmark, admin, 600)
    assert used_by(benchmark)["bytes"] == 600
    with pytest.raises(Refused, match=r"1000.bytes .* has 600"):
        upload(benchmark, admin, 401)
    text = "Moths turn to the lamp. " * 25  # 600 bytes
    with pytest.raises(Refused, match="raise its quota"):
        collect_text(query=query, text=text, title="Moths", actor=admin)
    assert (ImportRun.objects.count(), CollectedPage.objects.count()) == (1, 0)
    assert first.move(RunStatus.CANCELLED)  # which leaves nothing
    collect_text(query=query, text=text, title="Moths", actor=admin)
    assert used_by(benchmark)["bytes"] == CollectedPage.objects.get().size
    check_room(make_benchmark("other"), 10**12)  # of which nobody set a limit


@database
def test_uploads_at_once_stay_within_the_bytes(benchmark, admin) -> None:
    limit(benchmark, bytes=1_000)
    refused: list[Refused] = []

    def send() -> None:
        try:
            upload(benchmark, admin, 400)
        except Refused as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ImportRun.objects.count(), len(refused)) == (2, 2)


def run_of(benchmark, count: int) -> DebateRun:
    number = DebateRun.objects.count()
    query = make_query(benchmark, f"q{number}")
    pairs = [(query, make_passage(benchmark, f"p{number}-{n:02}")) for n in range(count)]
    pool = make_pool(benchmark, *pairs, name=f"pool {number}")
    endpoint = endpoints.get("default")
    run = start_run(benchmark=benchmark, pool=pool, endpoint=endpoint, actor=None)
    DebateRun.objects.update(calls_in_flight=4, max_tokens=50)
    run.refresh_from_db()
    return run


def worked(run: DebateRun) -> DebateRun:
    run_debates(run.pk)
    run.refresh_from_db()
    return run


def worked_elsewhere(run: DebateRun) -> str:
    """As another worker does."""
    try:
        return worked(run).status
    finally:
        connection.close()


@pytest.mark.slow
@database
def test_runs_share_the_calls_and_the_money(benchmark, admin, settings, tmp_path, monkeypatch):
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    (tmp_path / "prices.json").write_text(json.dumps([PRICE]))
    settings.ASSAY_PRICES = str(tmp_path / "prices.json")
    with answering(settings, turn("no")) as stub:
        first = worked(run_of(benchmark, 3))  # two calls each, before there was a limit
        assert (first.status, len(stub.asked)) == (RunStatus.DONE, 6)
        limit(benchmark, calls=10)
        second = worked(run_of(benchmark, 3))
        assert (second.status, len(stub.asked)) == (RunStatus.PAUSED, 10)
        assert "quota of 10 calls to models is used up" in second.pause_reason
        third = worked(run_of(benchmark, 2))
        assert (third.status, len(stub.asked)) == (RunStatus.PAUSED, 10)
        assert used_by(benchmark)["calls"] == Call.objects.count() == 10

        limit(benchmark, usd=Decimal("0.02"))  # which is spent
        resume_run(run=second, actor=admin)
        second = worked(second)
        assert "quota of $0.02 for models has no room" in second.pause_reason
        assert (len(stub.asked), used_by(benchmark)["usd"]) == (10, Decimal("0.02"))

        limit(benchmark)
        assert not Account.objects.exclude(quota=None).exists()
        for run in (second, third):
            resume_run(run=run, actor=admin)
            assert worked(run).status == RunStatus.DONE
        assert len(stub.asked) == 16
        assert used_by(benchmark)["usd"] == 16 * Decimal("0.002")


@pytest.mark.slow
@pytest.mark.django_db
def test_staff_set_it_on_screen_and_by_script(benchmark, admin) -> None:
    client = Client()
    client.force_login(admin)
    url, api = "/b/demo/quotas/", "/api/b/demo/quotas/"
    given = {"bytes": 5_000, "calls": 7, "usd": 1.5}
    assert b"Staff of this site set them" in client.get(url).content
    assert client.post(url, given).status_code == 403
    assert client.put(api, given, content_type="application/json").status_code == 403
    assert quota_of(benchmark).calls is None

    User.objects.filter(pk=admin.pk).update(is_staff=True)
    assert client.post(url, given | {"usd": ""}).status_code == 302
    quota = quota_of(benchmark)
    assert (quota.bytes, quota.calls, quota.usd) == (5_000, 7, None)
    answer = client.put(api, given, content_type="application/json").json()
    used = {"bytes": 0, "calls": 0, "usd": 0.0, "usd_month": 0.0, "in_flight": 0}
    unsaid = {"usd_month": None, "in_flight": None, "priority": None}
    assert answer == {**given, **unsaid, "used": used}
    more = {"usd_month": 3.5, "in_flight": 2}
    client.put(api, given | more, content_type="application/json")
    answer = client.put(api, given, content_type="application/json").json()
    assert {name: answer[name] for name in more} == more  # left out they stay
    assert client.put(api, {"bytes": -1}, content_type="application/json").status_code == 400
    event = Event.objects.filter(verb="set quota").first()
    assert (event.actor, event.data["usd"], event.scope) == (admin, "1.50", "demo")

    said = StringIO()
    call_command("quota", "demo", "--calls", "none", "--json", stdout=said)
    assert json.loads(said.getvalue())["calls"] == {"used": 0.0, "most": None}
    assert quota_of(benchmark).bytes == 5_000
    with pytest.raises(CommandError, match="--usd is 'much'"):
        call_command("quota", "demo", "--usd", "much", stdout=said)


@pytest.mark.slow
@database
def test_calls_of_a_month_and_in_flight_are_limited_over_all_runs(
    benchmark, settings, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    (tmp_path / "prices.json").write_text(json.dumps([PRICE]))
    settings.ASSAY_PRICES = str(tmp_path / "prices.json")
    with answering(settings, after(0.02, turn("no"))) as stub:
        limit(benchmark, in_flight=1)
        runs = [run_of(benchmark, 3), run_of(benchmark, 3)]
        with ThreadPoolExecutor(2) as threads:  # two workers, of four calls in flight each
            done = [threads.submit(worked_elsewhere, run) for run in runs]
            assert [each.result() for each in done] == [RunStatus.DONE, RunStatus.DONE]
        assert (stub.most_in_flight, len(stub.asked)) == (1, 12)

        # What was paid before this month does not count: 6 of 12 calls of $0.002 each.
        earlier = Call.objects.order_by("pk")[:6].values("pk")
        Call.objects.filter(pk__in=earlier).update(created_at=this_month() - timedelta(days=1))
        # Room for a call or a few more: one holds its upper bound until it is answered.
        most = Decimal("0.012") + (Call.objects.latest("pk").bound_usd or 0)
        most = most.quantize(Decimal("0.01"), ROUND_UP)
        limit(benchmark, usd_month=most)
        assert used_by(benchmark)["usd_month"] == Decimal("0.012")
        third = worked(run_of(benchmark, 5))
        assert third.status == RunStatus.PAUSED
        assert 12 < len(stub.asked) < 22
        assert used_by(benchmark)["usd_month"] <= most
        assert f"quota of ${most} a month for models has no room" in third.pause_reason
        Quota.objects.update(month="2026-01-01")  # a new month begins
        resume_run(run=third, actor=None)
        before = len(stub.asked)
        worked(third)
        assert len(stub.asked) > before


def reserved(charges: list) -> list[bool | None]:
    """In a transaction, as every caller."""
    with transaction.atomic():
        return reserve(charges)


@database
def test_calls_of_a_killed_worker_hold_no_place_once_nobody_waits_for_them(
    benchmark, settings
) -> None:
    with answering(settings, turn("no")) as stub:
        limit(benchmark, in_flight=1)
        dead, run = run_of(benchmark, 1), run_of(benchmark, 1)
        account = open_account(dead)
        lost = Call.objects.create(
            key="k",
            attempt=1,
            request={},
            account=account,
            status="intent",
            created_at=timezone.now(),
        )
        assert reserved([(account.pk, None)]) == [None]
        Call.objects.filter(pk=lost.pk).update(created_at=lost.created_at - LOST_AFTER)
        assert reserved([(account.pk, None)]) == [True]
        assert worked(run).status == RunStatus.DONE
        assert stub.asked


@database
def test_what_is_in_flight_when_a_month_begins_counts_in_the_new_one(benchmark, settings) -> None:
    settings.OPENAI_API_KEY = "sk-stub"
    account, usd = open_account(run_of(benchmark, 1)), 10**12
    limit(benchmark, usd_month=Decimal(1))
    # $5 of the last month, and $0.60 of a call that is under way; it will come to $0.50.
    Account.objects.update(spent_units=5 * usd, reserved_units=usd * 6 // 10)
    call = {"key": "k", "attempt": 1, "request": {}, "status": "intent"}
    call["created_at"] = timezone.now()
    Call.objects.create(**call, account=account, bound_usd=Decimal("0.6"))
    Quota.objects.update(month="2026-01-01")
    assert reserved([(account.pk, Decimal("0.41"))]) == [False]
    Call.objects.update(status="answered", text="yes", usd=Decimal("0.5"))
    Account.objects.update(spent_units=usd * 55 // 10, reserved_units=0)
    charges = [(account.pk, Decimal(each)) for each in ("0.51", "0.5", "0.01")]
    assert reserved(charges) == [False, True, False]


@pytest.mark.django_db
def test_priority_is_set_on_the_page_by_script_and_by_command(benchmark, admin, settings) -> None:
    settings.OPENAI_API_KEY = "sk-stub"
    run, client = run_of(benchmark, 2), Client()
    client.force_login(admin)
    page = f"/b/demo/debates/{run.pk}/"
    assert "priority: normal" in " ".join(client.get(page).content.decode().split())
    api = f"/api/b/demo/priorities/debate.run/{run.pk}/"
    refused = client.put(api, {"priority": "high"}, content_type="application/json")
    assert (refused.status_code, refused.json()["field"]) == (409, "priority")
    client.post(f"{page}budget/", {"budget_usd": "3", "priority": "16"})
    run.refresh_from_db()
    assert (run.budget_usd, run.priority) == (None, None)  # both or neither
    User.objects.filter(pk=admin.pk).update(is_staff=True)
    assert client.post(f"{page}budget/", {"budget_usd": "", "priority": "16"}).status_code == 302
    assert client.get(api).json() == {"priority": "high"}
    said = client.put(api, {"priority": "low"}, content_type="application/json")
    assert (said.json(), said.status_code) == ({"priority": "low"}, 200)
    assert client.put(api, {"priority": "top"}, content_type="application/json").status_code == 400
    assert client.get(f"/api/b/demo/priorities/debate.trial/{run.pk}/").status_code == 404
    out = StringIO()
    call_command("priority", "demo", f"debate.run/{run.pk}", "by-size", stdout=out)
    assert out.getvalue().startswith(f"debate.run/{run.pk}\tnormal\t")
    verbs = Event.objects.filter(verb="set priority of debate run").order_by("pk")
    assert [each.data["priority"] for each in verbs] == ["high", "low", None]
    assert b"normal" in client.get("/b/demo/quotas/").content


@pytest.mark.django_db
def test_a_new_benchmark_has_the_limits_of_the_settings(settings) -> None:
    settings.ASSAY_QUOTA_CALLS, settings.ASSAY_QUOTA_USD = 9, 2.5
    quota = quota_of(create_benchmark(name="New", slug="new", actor=None))
    assert (quota.bytes, quota.calls, quota.usd) == (100 * 2**30, 9, Decimal("2.50"))
