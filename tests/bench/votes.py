"""Next-and-submit under load: the peers' load (../shared/bench/peers), and people in two tabs.

python -m tests.bench.votes [--only sqlite|postgres] [--cases 20000] [--rounds 3] [--tabs-only];
PostgreSQL where ASSAY_TEST_POSTGRES names a server. Aims: at least 60 pairs a second at 16
clients without think time on two processors, next and submit each within 15 ms at the median for
one client, nothing over the quota.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.loading import environment, prepare
from tests.bench.server import ROOT, free_port, wait_for_port

PEERS = ROOT.parent / "shared" / "bench" / "peers"
PEOPLE = 100


def main() -> None:
    """Print what docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--ops", type=int, default=480)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tabs-cases", type=int, default=5_000)
    parser.add_argument("--tabs-only", action="store_true")
    wanted, _ = parser.parse_known_args()
    server = os.environ.get("ASSAY_TEST_POSTGRES", "")
    for name in ("sqlite", "postgres"):
        if wanted.only not in (None, name) or (name == "postgres" and not server):
            continue
        if not wanted.tabs_only:
            loads(name, server, wanted.cases, wanted.ops, wanted.rounds)
        if name == "postgres":
            tabs(server, wanted.tabs_cases)


def loads(name: str, server: str, cases: int, ops: int, rounds: int) -> None:
    """The peers' load at 16 clients and at one."""
    if not (PEERS / "loadgen.py").is_file():
        print("  left out: ../shared/bench/peers is not there")
        return
    with site(name, server, cases, "start") as (url, tokens, setting):
        for clients in (16, 1):
            found = loadgen(url, tokens, clients, ops if clients > 1 else 320, rounds)
            print(
                f"{name}, {clients} client{'s' * (clients > 1)}: {found['pairs_per_s']} pairs/s, "
                f"next {found['next_median_ms']} ms (p95 {found['next_p95_ms']}), "
                f"submit {found['submit_median_ms']} ms (p95 {found['submit_p95_ms']}), "
                f"{found['errors']} errors",
                flush=True,
            )
        print(f"{name}: {run_data(['check'], setting)}", flush=True)


def tabs(server: str, cases: int) -> None:
    """A hundred people in two tabs each, until every case has its votes."""
    with site("postgres", server, cases, "start") as (url, tokens, setting):
        told = json.dumps({"url": url, "tokens": tokens})
        found = run_data(["tabs", "2"], setting, told)
        print(f"postgres, {len(tokens)} people in two tabs, {cases:,} cases: {found}", flush=True)


def loadgen(url: str, tokens: list[str], clients: int, ops: int, rounds: int) -> dict[str, Any]:
    """One run of the peers' load generator with its generic adapter."""
    base = "/api/b/votes/cases"
    body = {"label": 1, "elapsed_ms": 3100}
    state = {
        "base": url,
        "users": [{"username": f"u{n}", "token": token} for n, token in enumerate(tokens)],
        "csrf_cookie": None,
        "headers": {"Authorization": "Token {token}"},
        "login": None,
        "next": {"path": f"{base}/next/", "id_path": "case.id"},
        "submit": {"method": "POST", "path": base + "/{task}/votes/", "body": body},
    }
    with tempfile.TemporaryDirectory() as folder:
        told, out = Path(folder) / "state.json", Path(folder) / "out.json"
        told.write_text(json.dumps(state))
        command = [sys.executable, str(PEERS / "loadgen.py"), "--adapter", "generic"]
        command += ["--state", str(told), "--clients", str(clients), "--ops", str(ops)]
        command += ["--warmup", "64", "--rounds", str(rounds), "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(out.read_text())
    return found


@contextmanager
def site(
    name: str, server: str, cases: int, reveal: str
) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """A web server as `serve` starts it, on a filled database: URL, tokens and its environment."""
    with (
        tempfile.TemporaryDirectory(prefix="assay-bench-") as folder,
        database(name, server, Path(folder)) as address,
    ):
        data = Path(folder)
        prepare(data, address)
        setting = environment(data, address) | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        setting |= {"ASSAY_PLAIN_STATIC": "1"}
        tokens = run_data([str(cases), str(PEOPLE), reveal], setting)["tokens"]
        port = free_port()
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--log-level", "warning"]
        command += ["--worker-class", "gthread", "--threads", "8", "--workers", "2"]
        command += ["--keep-alive", "15", "--bind", f"127.0.0.1:{port}", "--no-control-socket"]
        process = subprocess.Popen(command, cwd=ROOT, env=setting)
        try:
            wait_for_port(port, process)
            yield f"http://127.0.0.1:{port}", tokens, setting
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def database(name: str, server: str, data: Path) -> Iterator[str]:
    """An empty database that is gone afterwards."""
    if name == "sqlite":
        yield f"sqlite:///{data / 'votes.sqlite3'}"
        return
    import psycopg

    base, own = server.rpartition("/")[0], f"assay_votes_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {own}")
    try:
        yield f"{base}/{own}"
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {own} WITH (FORCE)")


def run_data(arguments: list[str], setting: dict[str, str], told: str = "") -> dict[str, Any]:
    """What tests.bench.votes_data prints."""
    command = [sys.executable, "-m", "tests.bench.votes_data", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=setting, check=True, stdout=subprocess.PIPE, text=True, input=told
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
