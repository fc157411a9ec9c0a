"""One part of the browsing benchmark in a process of its own.

python -m tests.bench.browsing_once {fill FOLDER|index|ask ROUNDS}, with ASSAY_DATA and DATABASE_URL
set to a migrated scratch database.
"""

import os
import statistics
import sys
import time
from importlib import import_module
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("ASSAY_PLAIN_STATIC", "1")  # nothing is collected here
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from corpus.models import Judgment, Passage, Query, RetrievalRun  # noqa: E402
from tests.bench.browsing_data import ADMIN, SLUG, fill, fill_index  # noqa: E402
from tests.bench.browsing_files import COMMON  # noqa: E402
from tests.bench.client import Visitor  # noqa: E402
from tests.bench.server import running_bare  # noqa: E402

# From asking to having the page, and of that the processor's.
Seconds = tuple[float, float]
WARM_UP = 2
LIMIT_MS = 150


def main() -> None:
    """Do the part that the command line names."""
    match sys.argv[1:]:
        case ["fill", folder]:
            fill(Path(folder))
        case ["index"]:
            fill_index()
        case ["ask", rounds]:
            ask(int(rounds))


def ask(rounds: int) -> None:
    """Every page in turn, then the table."""
    import_module("config.wsgi")  # imported as the server does, which settles the collector
    client = Client(headers={"Host": "127.0.0.1"})
    client.force_login(User.objects.get(username=ADMIN))
    paths = addresses()
    times: dict[str, list[Seconds]] = {name: [] for name in ("bare page", *paths)}
    with running_bare() as bare:
        anchor = Visitor(bare)
        for turn in range(WARM_UP + rounds):
            taken = {"bare page": (anchor.timed("/"), 0.0)}
            taken |= {name: timed(client, path) for name, path in paths.items()}
            for name, seconds in taken.items():
                times[name] += [seconds] if turn >= WARM_UP else []
    report(times)


def timed(client: Client, path: str) -> Seconds:
    """Seconds that a page took, and how long it kept a processor busy meanwhile."""
    started, busy = time.perf_counter(), processor_seconds()
    response = client.get(path)
    seconds = time.perf_counter() - started, processor_seconds() - busy
    assert response.status_code == 200, (path, response.status_code)
    return seconds


def processor_seconds() -> float:
    """Of this process and, where it can be looked up, of PostgreSQL's process that serves it."""
    used = time.process_time()
    if connection.vendor == "postgresql":
        served_by = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
        if served_by.exists():
            used += int(served_by.read_text().split()[0]) / 1e9
    return used


def addresses() -> dict[str, str]:
    """Each list with typical and worst parameters."""
    query, run = Query.objects.order_by("pk")[0], RetrievalRun.objects.order_by("pk")[0]
    passage = Passage.objects.order_by("pk")[0]
    last = {"passages": Passage.objects.count(), "judgments": Judgment.objects.count()}
    base, api = f"/b/{SLUG}", f"/api/b/{SLUG}"
    words = {
        "common word": COMMON,
        "common beginning": "con",
        "common and rare": "the sequoiadendron",
        "no match": "zzzzz",
        "id": "biology-12",
        "whole domain's ids": "robotics-",
    }
    return {
        "overview": f"{base}/",
        "passages": f"{base}/passages/",
        "passages, last page": f"{base}/passages/?page={last['passages'] // 50}",
        "passages, sorted down": f"{base}/passages/?sort=-passage",
        "passages, one domain": f"{base}/passages/?domain=robotics",
        "passages, domain, deep": f"{base}/passages/?domain=earth_science&page=2400",
        "passages, with text": f"{base}/passages/?text=yes&page=100",
        "passages, without text": f"{base}/passages/?text=no",
        "passages, domain without": f"{base}/passages/?text=no&domain=robotics",
        **{f"passages, {name}": f"{base}/passages/?q={q}" for name, q in words.items()},
        "passages, word in domain": f"{base}/passages/?q={COMMON}&domain=sustainable_living",
        "passages, word, page 40": f"{base}/passages/?q={COMMON}&page=40",
        "passage": f"{base}/passages/{passage.pk}/",
        "pages": f"{base}/documents/",
        "pages, id": f"{base}/documents/?q=page-4",
        "pages, deep": f"{base}/documents/?page=99",
        "pages, title": f"{base}/documents/?q=age 49",
        "pages, word of passages": f"{base}/documents/?q={COMMON}",
        "queries": f"{base}/queries/",
        "queries, word": f"{base}/queries/?q=case",
        "queries, sorted by gold": f"{base}/queries/?sort=-gold",
        "queries, sorted by originals": f"{base}/queries/?sort=-originals",
        "workspace search": f"{base}/queries/{query.pk}/?find={COMMON}",
        "judgments": f"{base}/judgments/",
        "judgments, last page": f"{base}/judgments/?page={last['judgments'] // 50}",
        "judgments, domain": f"{base}/judgments/?domain=biology",
        "judgments, count now": f"{base}/judgments/?counts=yes",
        "judgments, history": f"{base}/judgments/?counts=no",
        "judgments, original": f"{base}/judgments/?source=original&label=relevant",
        "judgments, rare source": f"{base}/judgments/?source=expert",
        "judgments, none": f"{base}/judgments/?source=lara&domain=robotics",
        "judgments, superseded": f"{base}/judgments/?status=superseded&practice=True",
        "judgments, query": f"{base}/judgments/?query={query.pk}",
        "judgments, id": f"{base}/judgments/?q=biology-1",
        "gold versions": f"{base}/gold/",
        "retrieval runs": f"{base}/retrieval/",
        "retrieval run": f"{base}/retrieval/{run.pk}/",
        "retrieval run, word": f"{base}/retrieval/{run.pk}/?q=case",
        "retrieval run, domain": f"{base}/retrieval/{run.pk}/?domain=robotics&page=2",
        "ranked list": f"{base}/retrieval/{run.pk}/{query.pk}/",
        "ranked list, no label": f"{base}/retrieval/{run.pk}/{query.pk}/?show=none",
        "ranked list, last page": f"{base}/retrieval/{run.pk}/{query.pk}/?page=20",
        "API passages": f"{api}/passages/",
        "API passages, word": f"{api}/passages/?q={COMMON}",
        "API passages, deep": f"{api}/passages/?offset=500000",
        "API judgments": f"{api}/judgments/",
        "API judgments, query": f"{api}/judgments/?query={query.pk}",
    }


def report(times: dict[str, list[Seconds]]) -> None:
    """One line a page; those beyond the limit are marked."""
    load, *_ = os.getloadavg()
    print(f"{connection.vendor}, load {load:.1f} at the end")
    print(f"{'milliseconds':30} {'busy p50':>9} {'busy p95':>9} {'least':>7} {'p50':>7} {'p95':>7}")
    for name, measured in times.items():
        walls, busy = ([1000 * each for each in column] for column in zip(*measured, strict=True))
        slow = "  !" if p95(walls) > LIMIT_MS else ""
        print(
            f"{name:30} {statistics.median(busy):9.1f} {p95(busy):9.1f} {min(walls):7.1f}"
            f" {statistics.median(walls):7.1f} {p95(walls):7.1f}{slow}"
        )


def p95(values: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(values, n=20)[-1]


if __name__ == "__main__":
    main()
