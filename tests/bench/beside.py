"""The ranked search beside the work, at full size: one domain of 526,319 passages.

python -m tests.bench.beside [--rows 526319]. Texts are three random sentences each of the passages
of ../shared/data/hotpotqa, so that words are spread as in natural language; searches are sentences
of the same kind, as long as an aspect.
"""

import argparse
import gzip
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.loading import environment, prepare
from tests.bench.loading_data import FULL
from tests.bench.server import ROOT

DATA = ROOT.parent / "shared" / "data" / "hotpotqa"
SLUG, ROUNDS = "beside", 40


def main() -> None:
    """Fill a scratch database, then print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--part", default="")
    wanted, _ = parser.parse_known_args()
    if wanted.part:
        run(wanted.rows)
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        url = os.environ.get("ASSAY_BENCH_DATABASE") or f"sqlite:///{folder}/bench.sqlite3"
        prepare(Path(folder), url)
        command = [sys.executable, "-m", "tests.bench.beside", "--part", "run"]
        command += ["--rows", str(wanted.rows)]
        subprocess.run(command, cwd=ROOT, env=environment(Path(folder), url), check=True)


def run(rows: int) -> None:
    """In a process whose settings name the scratch database."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from corpus.models import Benchmark, CorpusVersion, Domain, Passage, VersionState
    from corpus.texts.indexing import index, request_index

    chance = random.Random(1)
    known = sentences()
    if Benchmark.objects.filter(slug=SLUG).exists():  # of an earlier run on the same database
        version = CorpusVersion.objects.get()
        ask(version, Domain.objects.get(), rows, known)
        return
    benchmark = Benchmark.objects.create(slug=SLUG, name=SLUG)
    domain = Domain.objects.create(benchmark=benchmark, name="all", is_ready=True)
    version = CorpusVersion.objects.create(benchmark=benchmark, name="v", state=VersionState.READY)
    version.layers = [version.pk]
    version.save()
    for start in range(0, rows, 5_000):
        Passage.objects.bulk_create(
            Passage(
                version=version,
                domain=domain,
                pid=f"p/{n}",
                text=" ".join(chance.choices(known, k=3)),
            )
            for n in range(start, min(rows, start + 5_000))
        )
    filling = request_index(version)
    assert filling.claim()
    index(filling)
    ask(version, domain, rows, known)


def ask(version: Any, domain: Any, rows: int, known: list[str]) -> None:
    """Search and print the times."""
    from corpus.texts.search import best_passages

    chance = random.Random(2)
    times, counts = [], []
    for turn in range(ROUNDS + 2):
        text = " ".join(chance.choices(known, k=1 + turn % 2))
        began = time.perf_counter()
        found = best_passages(text, version=version, domain=domain, most=10)
        times.append(time.perf_counter() - began)
        counts.append(len(found))
    times = sorted(times[2:])
    print(
        f"beside: {rows:,} passages in one domain, {ROUNDS} searches as long as an aspect: median "
        f"{1000 * statistics.median(times):.0f} ms, 95 % within "
        f"{1000 * times[int(0.95 * len(times)) - 1]:.0f} ms, {min(counts)} to {max(counts)} found"
    )


def sentences() -> list[str]:
    """Sentences of the real passages."""
    with gzip.open(DATA / "dev_250.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [each for line in lines for each in passages(json.loads(line))]
    found = [each.strip() for text in texts for each in re.split(r"(?<=[.!?]) ", text)]
    return [each for each in found if 30 < len(each) < 400]


def passages(row: dict[str, Any]) -> list[str]:
    """The texts of one question."""
    return [each["paragraph_text"] for each in row["contexts"]]


if __name__ == "__main__":
    main()
