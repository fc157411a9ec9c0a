"""Calls per second and processor time per call, beside the bare openai client in the same run.

python -m tests.bench.calls [--in-flight 64 256] [--rounds 3] [--seconds 10]; PostgreSQL too where
ASSAY_TEST_POSTGRES names a server. Read the ratios; `limit` is in flight / latency. With
`--workers 1 2` a run that so many worker processes share is measured instead; `--latency 2` for
an endpoint as slow as real ones; `--of rerank` for a pointwise reranking in place of debates, with
`--calls 73900` of 739 queries x 100 passages.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.bench.loading import environment, prepare
from tests.bench.server import ROOT, free_port, wait_for_port

Measured = dict[str, float]


def main() -> None:
    """Print the tables that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--in-flight", type=int, nargs="*", default=[64, 256])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a measurement, at best")
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    parser.add_argument("--latency", type=float, default=0.2, help="seconds, of the endpoint")
    parser.add_argument("--workers", type=int, nargs="*", default=[], help="that share a run")
    parser.add_argument("--of", choices=("ours", "rerank"), default="ours")
    parser.add_argument("--calls", type=int, help="in place of --seconds")
    wanted, _ = parser.parse_known_args()
    latency = wanted.latency
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder, endpoint(latency) as url:
        data = Path(folder)
        databases = {"sqlite": on_sqlite(data)}
        if server := os.environ.get("ASSAY_TEST_POSTGRES"):
            databases["postgres"] = on_postgres(data, server)
        for name, fresh in databases.items():
            if wanted.only in (None, name):
                for in_flight in wanted.in_flight:
                    limit = in_flight / latency
                    calls = wanted.calls or int(limit * wanted.seconds) // 1600 * 1600
                    measure = partial(once, url=url, data=data, in_flight=in_flight)
                    for_run = [fresh, measure, limit, calls, wanted.rounds]
                    if wanted.workers:
                        share(f"{name}, {in_flight} in flight", *for_run, wanted.workers)
                    else:
                        compare(f"{name}, {in_flight} in flight", *for_run, of=wanted.of)


def share(
    name: str,
    fresh: Callable[[], str],
    measure: Callable[..., Measured],
    limit: float,
    calls: int,
    rounds: int,
    workers: Sequence[int],
) -> None:
    """A run that one worker drives and then several share, round by round."""
    turns = []
    for _ in range(rounds):
        turns.append(
            {n: measure(f"shared-{n}", database=fresh(), calls=n * calls) for n in workers}
        )
    for n in workers:
        shares = sorted(n * calls / turn[n]["wall"] / (n * limit) for turn in turns)
        ratios = sorted(n * turn[workers[0]]["wall"] / turn[n]["wall"] for turn in turns)
        cpu = statistics.median(1000 * turn[n]["cpu"] / (n * calls) for turn in turns)
        print(
            f"{name} each, {n} workers: share of the limit {statistics.median(shares):.2f} "
            f"({shares[0]:.2f} to {shares[-1]:.2f}), calls a second beside the first line's "
            f"{statistics.median(ratios) / workers[0]:.2f} ({ratios[0] / workers[0]:.2f} to "
            f"{ratios[-1] / workers[0]:.2f}), {cpu:.2f} ms of processor time a call",
            flush=True,
        )


def compare(
    name: str,
    fresh: Callable[[], str],
    measure: Callable[..., Measured],
    limit: float,
    calls: int,
    rounds: int,
    *,
    of: str,
) -> None:
    """Anchors and ours in turn, round by round; ratios within each round."""
    turns = []
    for _ in range(rounds):
        turns.append(
            {kind: measure(kind, database=fresh(), calls=calls) for kind in ("openai", of)}
        )
    ratios = sorted(turn["openai"]["wall"] / turn[of]["wall"] for turn in turns)
    above = [1000 * (turn[of]["cpu"] - turn["openai"]["cpu"]) / calls for turn in turns]
    shares = {
        kind: statistics.median(calls / turn[kind]["wall"] / limit for turn in turns)
        for kind in ("openai", of)
    }
    print(
        f"{name}: throughput ours / openai client "
        f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), share of the "
        f"limit {shares[of]:.2f} (openai client {shares['openai']:.2f}), processor time above "
        f"it {statistics.median(above):.2f} ms a call",
        flush=True,
    )


def once(kind: str, *, url: str, data: Path, database: str, in_flight: int, calls: int) -> Measured:
    """One measurement in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.calls_once", kind, url, str(in_flight)]
    done = subprocess.run(
        [*command, str(calls)],
        cwd=ROOT,
        env=environment(data, database),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    rate, cpu = calls / measured["wall"], 1000 * measured["cpu"] / calls
    print(f"  {kind:8} {rate:7.0f} calls/s, {cpu:5.2f} ms of processor time a call", flush=True)
    return measured


@contextmanager
def endpoint(latency: float) -> Iterator[str]:
    """The fixed-latency endpoint in a process of its own; its base URL."""
    port = free_port()
    command = [sys.executable, "-m", "tests.bench.calls_stub", str(port), str(latency)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def on_sqlite(data: Path) -> Callable[[], str]:
    """A fresh copy of an empty, migrated file each time."""
    empty, database = data / "empty.sqlite3", data / "bench.sqlite3"
    prepare(data, f"sqlite:///{empty}")

    def fresh() -> str:
        for ending in ("", "-wal", "-shm"):
            database.with_name(database.name + ending).unlink(missing_ok=True)
        shutil.copyfile(empty, database)
        return f"sqlite:///{database}"

    return fresh


def on_postgres(data: Path, server: str) -> Callable[[], str]:
    """A fresh copy of an empty, migrated database on that server each time."""
    import psycopg

    base, _, _ = server.rpartition("/")
    empty, name = "assay_calls_empty", "assay_calls"
    with psycopg.connect(server, autocommit=True) as admin:
        for each in (name, empty):
            admin.execute(f"DROP DATABASE IF EXISTS {each}")
        admin.execute(f"CREATE DATABASE {empty}")
    prepare(data, f"{base}/{empty}")

    def fresh() -> str:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {name}")
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {empty}")
        return f"{base}/{name}"

    return fresh


if __name__ == "__main__":
    main()
