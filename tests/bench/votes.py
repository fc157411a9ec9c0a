"""Next-and-submit under load: the peers' load (../shared/bench/peers), and people in two tabs.

python -m tests.bench.votes [--only sqlite|postgres] [--cases 20000] [--rounds 3] [--tabs-only];
PostgreSQL where ASSAY_TEST_POSTGRES names a server. Aims: at least 60 pairs a second at 16
clients without think time on two processors, next and submit each within 15 ms at the median for
one client, nothing over the quota.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kit.management.commands.serve import web_command
from tests.bench.loading import environment, prepare
from tests.bench.processor import busy_seconds, family, wait_until_idle, waited_seconds
from tests.bench.server import ROOT, free_port, wait_for_port

PEERS = ROOT.parent / "shared" / "bench" / "peers"
PEOPLE = 100
_WARM_UP = 64


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
    with site(name, server, cases, "start") as place:
        for clients in (16, 1):
            found = loadgen(place, clients, ops if clients > 1 else 320, rounds)
            print(
                f"{name}, {clients} client{'s' * (clients > 1)}: {found['pairs_per_s']} pairs/s, "
                f"next {found['next_median_ms']} ms (p95 {found['next_p95_ms']}), "
                f"submit {found['submit_median_ms']} ms (p95 {found['submit_p95_ms']}), "
                f"{found['errors']} errors; processor ms a pair: server {found['server']:.1f}, "
                f"client {found['client']:.1f}",
                flush=True,
            )
        asked, given = one_by_one(place)
        print(f"{name}, processor ms of the server: next {asked:.1f}, submit {given:.1f}")
        print(f"{name}: {run_data(['check'], place.setting)}", flush=True)


def tabs(server: str, cases: int) -> None:
    """A hundred people in two tabs each, until every case has its votes."""
    with site("postgres", server, cases, "start") as place:
        told = json.dumps({"url": place.url, "tokens": place.tokens})
        began, busy = time.monotonic(), place.busy()
        found = run_data(["tabs", "2"], place.setting, told)
        rate = found["given"] / (time.monotonic() - began)
        spent = 1000 * (place.busy() - busy) / found["given"]
        print(
            f"postgres, {len(place.tokens)} people in two tabs, {cases:,} cases: {found}, "
            f"{rate:.0f} votes a second, {spent:.1f} processor ms a vote",
            flush=True,
        )


def one_by_one(place: "Site") -> tuple[float, float]:
    """Processor milliseconds of the server for a next and for a submit of one client; medians."""
    link = http.client.HTTPConnection(urlsplit(place.url).netloc)
    headers = {"Authorization": f"Token {place.tokens[-1]}", "Content-Type": "application/json"}

    def ask(method: str, path: str, body: Any = None) -> tuple[Any, float]:
        began = place.busy()
        link.request(method, f"/api/b/votes/cases/{path}", body and json.dumps(body), headers)
        answer = json.loads(link.getresponse().read())
        return answer, 1000 * (place.busy() - began)

    spent: list[tuple[float, float]] = []
    for _ in range(200):
        shown, asking = ask("GET", "next/")
        _, giving = ask("POST", f"{shown['case']['id']}/votes/", {"label": 1, "elapsed_ms": 3100})
        spent.append((asking, giving))
    asked, given = zip(*spent, strict=True)
    return statistics.median(asked), statistics.median(given)


def loadgen(place: "Site", clients: int, ops: int, rounds: int) -> dict[str, Any]:
    """One run of the peers' load generator with its generic adapter; `server` and `client` are
    processor milliseconds a pair."""
    base = "/api/b/votes/cases"
    body = {"label": 1, "elapsed_ms": 3100}
    state = {
        "base": place.url,
        "users": [{"username": f"u{n}", "token": token} for n, token in enumerate(place.tokens)],
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
        command += ["--warmup", str(_WARM_UP), "--rounds", str(rounds), "--out", str(out)]
        busy, client = place.busy(), waited_seconds()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        spent = {"server": place.busy() - busy, "client": waited_seconds() - client}
        found: dict[str, Any] = json.loads(out.read_text())
    pairs = _WARM_UP + sum(each["submit"]["n"] for each in found["detail"])
    return found | {name: 1000 * seconds / pairs for name, seconds in spent.items()}


@dataclass
class Site:
    """A web server on a filled database."""

    url: str
    tokens: list[str]
    setting: dict[str, str]
    process: subprocess.Popen[bytes]
    address: str

    def busy(self) -> float:
        """Processor seconds of the server so far, with those of its sessions in PostgreSQL."""
        return busy_seconds([*family(self.process.pid), *self._sessions()])

    def _sessions(self) -> list[int]:
        if not self.address.startswith("postgres"):
            return []
        import psycopg

        base, _, own = self.address.rpartition("/")
        with psycopg.connect(f"{base}/postgres", autocommit=True) as link:
            asked = "SELECT pid FROM pg_stat_activity WHERE datname = %s"
            return [pid for (pid,) in link.execute(asked, [own])]


@contextmanager
def site(name: str, server: str, cases: int, reveal: str) -> Iterator[Site]:
    """A web server as `serve` starts it, on a filled database."""
    with (
        tempfile.TemporaryDirectory(prefix="assay-bench-") as folder,
        database(name, server, Path(folder)) as address,
    ):
        data = Path(folder)
        prepare(data, address)
        setting = environment(data, address) | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        setting |= {"ASSAY_PLAIN_STATIC": "1", "PYTHONWARNINGS": "ignore"}
        setting |= {"CONN_MAX_AGE": "3600"}  # a session that ended cannot be asked what it did
        tokens = run_data([str(cases), str(PEOPLE), reveal], setting)["tokens"]
        port = free_port()
        process = subprocess.Popen(web_command("127.0.0.1", port), cwd=ROOT, env=setting)
        try:
            wait_for_port(port, process)
            wait_until_idle(process.pid)
            yield Site(f"http://127.0.0.1:{port}", tokens, setting, process, address)
        finally:
            process.terminate()
            process.wait(240)


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
