"""Cleanings that two workers share, killed at random: the same version, no call paid twice."""

import random
from collections import Counter
from functools import cache
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from corpus.cleaning.rules import digest_of
from corpus.cleaning.services import cancel_cleaning, start_cleaning
from corpus.cleaning.tasks import drive_claimed
from corpus.models import Benchmark, CleaningRun, CorpusVersion, Passage
from corpus.texts.index import TABLE
from corpus.versions.effective import effective_labels
from kit.runs.models import OVER, RunStatus
from llm import endpoints
from llm.models import Call
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query
from tests.services.processes import Site, wait_until

# Passages; those of rules alone are quick, so that a run without calls needs more to have a middle.
SIZES = {"marcus": 150, "dchunk": 1_000, "diver_rules": 12_000}
KILLS = 5
PRESETS = pytest.mark.parametrize("preset", SIZES)


def make_corpus(count: int) -> Benchmark:
    """Pages of one passage, a third of them gold, each told apart from the others."""
    benchmark = make_benchmark()
    query = make_query(benchmark)
    first = make_passage(benchmark, "many/p0_0.txt", text=page(0))
    Passage.objects.bulk_create(
        Passage(version=first.version, domain=first.domain, pid=f"many/p{n}_0.txt", text=page(n))
        for n in range(1, count)
    )
    make_gold(query, *Passage.objects.filter(version=first.version)[: min(count, 300) // 3])
    return benchmark


def page(n: int) -> str:
    """Furniture, a broken line, two subjects and a number."""
    moths = " ".join(f"Moths fly {n} times around lamp {k}." for k in range(6))
    return f"Log in\n# Page {n}\nIt tells of {n} ferns and\ntheir spores.\n# Rest\n{moths}"


def start(benchmark: Benchmark, preset: str, **options: Any) -> CleaningRun:
    """A run as a view starts it."""
    return start_cleaning(
        benchmark=benchmark,
        source=CorpusVersion.objects.current(benchmark),
        preset=preset,
        endpoint=endpoints.available()[0],
        actor=None,
        options={"long_from": 10, "most": 24, "embedder": "model"} if preset == "dchunk" else {},
        **options,
    )


@cache
def in_peace(preset: str) -> tuple[dict[str, Any], Counter[str]]:
    """The figures and the paid calls of a run in this process, which leaves its rows there."""
    run = start(make_corpus(SIZES[preset]), preset, claimed=True)
    drive_claimed(run)
    run.refresh_from_db()
    assert run.status == "done"
    return run.figures, Counter(Call.objects.answered().values_list("key", flat=True))


def empty_database() -> None:
    """Keys begin anew, and with them the text index: a table of no model, which a flush leaves."""
    call_command("flush", interactive=False, verbosity=0)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('delete-all')")
        else:
            cursor.execute(f"TRUNCATE {TABLE}")


def survive(site: Site, preset: str, *, kills: int, seed: int) -> None:
    """Kill either of two workers at random moments of the run, and look at what is left."""
    wanted, paid = in_peace(preset)
    empty_database()
    rng = random.Random(seed)
    site.lease_s = 2.0
    run = start(make_corpus(SIZES[preset]), preset)
    # With every group under way at once, all would end in one moment and no kill find a middle.
    run.calls_in_flight = 2
    run.save(update_fields=["calls_in_flight"])
    workers = [site.start_worker(sweep_s=0.25) for _ in range(2)]
    is_over, landed = over(run), 0

    def story() -> str:
        """How far the run is, who holds what of it, and what the workers said last."""
        run.refresh_from_db()
        held = run.groups.exclude(status="done").values_list("pk", "status", "owner", "lease_until")
        said = "\n\n".join(each.said[-3000:] for each in workers)
        return f"{run.status} {run.done}/{run.total} {run.owner} {run.error}\n{[*held]}\n{said}"

    for moment in sorted(rng.uniform(0.02, 0.9) for _ in range(kills)):
        wait_until(
            lambda moment=moment: is_over() or progress(run) >= moment, seconds=240, saw=story
        )
        if is_over():
            break
        victim = rng.randrange(2)
        workers[victim].kill()
        landed += 1
        workers[victim] = site.start_worker(sweep_s=0.25)
    wait_until(is_over, seconds=240, saw=story)
    run.refresh_from_db()
    assert (run.status, run.error) == ("done", ""), story()
    assert run.figures == wanted
    assert landed >= kills // 2
    check_version(run)
    check_money(run, paid, landed)
    broken = [each.said for each in site.workers if "Traceback" in each.said]
    assert not broken, "\n\n".join(broken)[-20_000:]


def over(run: CleaningRun) -> Any:
    """Whether nothing goes on by itself any more; a paused run waits for a person."""
    ended = (*OVER, RunStatus.PAUSED)
    return lambda: CleaningRun.objects.get(pk=run.pk).status in ended


def progress(run: CleaningRun) -> float:
    found = CleaningRun.objects.get(pk=run.pk)
    return found.done / found.total if found.total else 0.0


def check_version(run: CleaningRun) -> None:
    """What is in the table has the digest that was summed up, and takes every label over."""
    rows = Passage.objects.filter(version=run.version).values_list("domain__name", "pid", "text")
    assert digest_of(rows) == run.figures["digest"]
    assert rows.count() == run.figures["passages"] == sum(run.version.passage_counts.values())
    assert not effective_labels(run.version).lost


def check_money(run: CleaningRun, paid: Counter[str], kills: int) -> None:
    """Every answer was paid for once; a kill can lose what was in flight and no more."""
    calls = Call.objects.values_list("status", "key")
    assert Counter(key for status, key in calls if status == "answered") == paid
    lost = [key for status, key in calls if status != "answered"]
    assert len(lost) <= kills * run.calls_in_flight


@pytest.mark.services
@PRESETS
def test_two_workers_killed_at_random_without_a_broker(site: Site, preset: str) -> None:
    survive(site, preset, kills=KILLS, seed=7)


@pytest.mark.services
@pytest.mark.parametrize(
    ("broker", "preset"),
    [("rabbitmq", "marcus"), ("redis", "dchunk"), ("redis", "diver_rules")],
    indirect=["broker"],
)
def test_two_workers_killed_at_random_with_a_broker(brokered: Site, preset: str) -> None:
    survive(brokered, preset, kills=2 * KILLS, seed=11)


@pytest.mark.services
def test_two_workers_share_a_run_and_drop_a_cancelled_one(site: Site) -> None:
    benchmark = make_corpus(12_000)
    workers = [site.start_worker(sweep_s=0.25) for _ in range(2)]
    for worker in workers:
        worker.wait_ready()
    run = start(benchmark, "diver_rules")
    wait_until(over(run), seconds=120)
    assert len(set(run.groups.values_list("owner", flat=True))) == 2
    other = start(benchmark, "diver_rules", name="other")
    wait_until(lambda: progress(other) > 0.1)
    other.refresh_from_db()
    cancel_cleaning(run=other, actor=make_member(benchmark, "admin", "admin"))
    gone = CorpusVersion.objects.filter(pk=other.version_id)
    wait_until(lambda: not gone.exists())
    assert not Passage.objects.filter(version=other.version_id).exists()
    check_version(CleaningRun.objects.select_related("version").get(pk=run.pk))
