"""The leaderboard's pages with many systems, beside a bare Django page in the same run.

python -m tests.bench.leaderboard [--runs 40] [--rounds 60]. 735 queries in seven domains, each
ranked to a depth of 200 by every system; the sheet is computed once and timed. Read the ratios.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from tests.bench.client import Visitor
from tests.bench.loading import environment, prepare
from tests.bench.loading_data import make_folder
from tests.bench.server import ROOT, running_bare

_ROWS, _DEPTH, _WARM_UP, _ADMIN = 20_000, 200, 3, "admin"
_PAGES = {
    "leaderboard": "leaderboard/",
    "another metric and gold": "leaderboard/?metric=recall%40100&view=base",
    "two systems compared": "leaderboard/compare/?a={0}&b={1}",
    "one system by query": "leaderboard/runs/{0}/",
    "as a file": "leaderboard/runs.csv",
    "holes": "holes/",
}


def main() -> None:
    """Print the figures that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--once", type=Path)
    wanted, _ = parser.parse_known_args()
    if wanted.once:
        once(wanted.once, wanted.runs, wanted.rounds)
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data, files = Path(folder, "data"), Path(folder, "files")
        data.mkdir()
        make_folder(files, _ROWS)
        url = f"sqlite:///{data / 'bench.sqlite3'}"
        prepare(data, url)
        command = [sys.executable, "-m", "tests.bench.leaderboard", "--once", str(files)]
        command += ["--runs", str(wanted.runs), "--rounds", str(wanted.rounds)]
        subprocess.run(command, cwd=ROOT, env=environment(data, url), check=True)


def once(files: Path, runs: int, rounds: int) -> None:
    """Fill the scratch database, score, and ask every page in turn with the bare one."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("ASSAY_PLAIN_STATIC", "1")  # nothing is collected here
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    from tests.bench.browsing_once import Seconds, report, timed

    keys = fill(files, runs)
    import_module("config.wsgi")  # imported as the server does, which settles the collector
    client = Client(headers={"Host": "127.0.0.1"})
    client.force_login(User.objects.get(username=_ADMIN))
    paths = {name: f"/b/bench/{path}".format(*keys) for name, path in _PAGES.items()}
    times: dict[str, list[Seconds]] = {name: [] for name in ("bare page", *paths)}
    with running_bare() as bare:
        anchor = Visitor(bare)
        for turn in range(_WARM_UP + rounds):
            taken = {"bare page": (anchor.timed("/"), 0.0)}
            taken |= {name: timed(client, path) for name, path in paths.items()}
            for name, seconds in taken.items():
                times[name] += [seconds] if turn >= _WARM_UP else []
    report(times)
    walls = {name: statistics.median(wall for wall, _ in each) for name, each in times.items()}
    print("median as a multiple of the bare page's:")
    for name, seconds in walls.items():
        print(f"{name:30} {seconds / walls['bare page']:9.1f}")


def fill(files: Path, count: int) -> list[int]:
    """Load the files, give every query a list of each system, and score them."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from corpus.models import Benchmark, RankedList, RetrievalRun
    from evaluation.scores import sheets

    User.objects.get_or_create(username=_ADMIN)
    options = {"format": "bright_pro", "benchmark": "bench", "admin": _ADMIN, "verbosity": 0}
    call_command("load_benchmark", str(files), stdout=sys.stderr, **options)
    benchmark = Benchmark.objects.get(slug="bench")
    chance = random.Random(40)
    keys = []
    for number in range(count):
        run = RetrievalRun.objects.create(
            benchmark=benchmark,
            name=f"system {number}",
            digest=str(number),
            depth=_DEPTH,
            query_count=735,
        )
        keys.append(run.pk)
        lists = (
            RankedList(run=run, query_id=query, pids=pids, scores=list(range(_DEPTH, 0, -1)))
            for query, pids in _rankings(benchmark.pk, chance, number / count)
        )
        RankedList.objects.bulk_create(lists, batch_size=100)
    begun, busy = time.perf_counter(), time.process_time()
    sheet = sheets.request_sheet(benchmark=benchmark, actor=None, claimed=True)
    sheets.carry_out(sheet)
    sheet.refresh_from_db()
    print(
        f"{count} systems: scored in {time.perf_counter() - begun:.1f} s of which the processor "
        f"was busy {time.process_time() - busy:.1f} s; boards of "
        f"{len(json.dumps(sheet.boards)) / 1024:.0f} KB",
        flush=True,
    )
    return keys


def _rankings(benchmark: int, chance: random.Random, skill: float) -> list[tuple[int, list[str]]]:
    """A list for each query that begins with more of its gold the better a system is."""
    from corpus.models import Judgment, Passage

    gold: dict[int, list[str]] = {}
    rows = Judgment.objects.filter(query__domain__benchmark=benchmark)
    for query, pid in rows.values_list("query_id", "passage__pid"):
        gold.setdefault(query, []).append(pid)
    others = list(Passage.objects.values_list("pid", flat=True)[:5_000])
    found = []
    for query, pids in gold.items():
        known = [pid for pid in pids if chance.random() < skill]
        listed = dict.fromkeys([*chance.sample(others, 2), *known, *chance.sample(others, _DEPTH)])
        found.append((query, list(listed)[:_DEPTH]))
    return found


if __name__ == "__main__":
    main()
