"""One run twice: in peace, and with its workers killed. Django must be set up already."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from debate.runs.services import start_run
from llm import endpoints
from llm.ledger.writing import list_lost_calls
from tests.chaos.invariants import Evidence, Outcomes, check, outcomes
from tests.chaos.lives import Deaths, Reaper
from tests.chaos.pairs import make_pairs
from tests.chaos.site import ChaosSite
from tests.chaos.sql import Database
from tests.stub.process import Stub, stub_process

_LOST_WITHIN_S = 600.0
_QUICK = 32


@dataclass(frozen=True)
class Plan:
    """What to do to a run. `points` are `name:count`; `patient` waits for the app to list lost
    calls by itself, which takes it minutes; else their age is put back first."""

    pairs: int
    kills: int
    points: Sequence[str] = ()
    in_flight: int = 8
    script: str = "plain"
    latency_ms: float = 20.0
    lease_s: float = 30.0
    seed: int = 0
    patient: bool = False


@dataclass
class Report:
    """What came of it; `faults` is empty if every promise held."""

    faults: list[str]
    numbers: dict[str, int]
    deaths: Deaths
    seconds: dict[str, float] = field(default_factory=dict)


class Drill:
    """Runs a plan on an empty, migrated database; `say` gets a line now and then."""

    def __init__(
        self,
        plan: Plan,
        *,
        database: Database,
        folder: Path,
        broker: str = "",
        queue: str = "celery",
        say: Callable[[str], None],
    ) -> None:
        self._plan, self._database, self._folder, self._say = plan, database, folder, say
        self._broker, self._queue = broker, queue
        self._log = folder / "failpoints.log"

    def run(self) -> Report:
        """Both runs and the comparison; raises AssertionError when a run stands still."""
        begun = time.monotonic()
        # How many calls are in flight, and how long they take, is not what this run is about.
        with self._stub("peace", "plain", latency_ms=0) as stub:
            self._live(stub, in_flight=_QUICK)
        expected, answers = outcomes(self._database), self._count("answered")
        call_command("flush", interactive=False, verbosity=0)
        self._log.unlink(missing_ok=True)
        middle = time.monotonic()
        self._say(f"undisturbed: {len(expected.debates)} pairs in {middle - begun:.0f} s")
        with self._stub("chaos", self._plan.script, latency_ms=self._plan.latency_ms) as stub:
            deaths = self._live(
                stub,
                in_flight=self._plan.in_flight,
                points=self._plan.points,
                kills=self._plan.kills,
                answers=answers,
            )
        seconds = {"undisturbed": middle - begun, "disturbed": time.monotonic() - middle}
        faults, numbers = self._verdict(stub, deaths, expected)
        return Report(faults, numbers, deaths, seconds)

    def _stub(self, name: str, script: str, *, latency_ms: float) -> AbstractContextManager[Stub]:
        options = ["--script", script, "--seed", str(self._plan.seed)]
        options += ["--latency-ms", str(latency_ms)]
        return stub_process(self._folder / f"{name}.bill", *options)

    def _live(
        self,
        stub: Stub,
        *,
        in_flight: int,
        points: Sequence[str] = (),
        kills: int = 0,
        answers: int = 0,
    ) -> Deaths:
        """Start the run over all pairs and see it through; `answers` is what it needs."""
        stub.configure(settings)
        settings.ASSAY_CALLS_IN_FLIGHT = in_flight
        pool = make_pairs(self._plan.pairs)
        site = ChaosSite(
            self._folder,
            "",
            self._broker,
            self._queue,
            lease_s=self._plan.lease_s,
            stub=stub,
            journal=self._log,
        )
        start_run(
            benchmark=pool.benchmark, pool=pool, endpoint=endpoints.available()[0], actor=None
        )
        with site:
            reaper = Reaper(site, self._database, stub, answers=answers, seed=self._plan.seed)
            deaths = reaper.run(points, kills=kills)
            if deaths.points and self._plan.patient:
                self._wait_for_the_list()
            reaper.stop()
        return deaths

    def _wait_for_the_list(self) -> None:
        """The workers that are left list what the dead ones never heard of, in their own time."""
        self._say("waiting for lost calls to be listed")
        deadline = time.monotonic() + _LOST_WITHIN_S
        while self._count("intent") and time.monotonic() < deadline:
            time.sleep(1)

    def _count(self, status: str) -> int:
        """Calls in that state."""
        rows = self._database.rows("SELECT count(*) FROM llm_call WHERE status = ?", status)
        return int(rows[0][0])

    def _verdict(
        self, stub: Stub, deaths: Deaths, expected: Outcomes
    ) -> tuple[list[str], dict[str, int]]:
        if not self._plan.patient:
            self._grow_old()
            list_lost_calls()
        evidence = Evidence(
            database=self._database,
            bill=stub.bill,
            handed=handed_over(self._log),
            killed=deaths.points,
            expected=expected,
        )
        return check(evidence)

    def _grow_old(self) -> None:
        """As if an hour had passed over the calls that nobody answered."""
        ago = (
            "datetime(created_at, '-1 hour')"
            if self._database.is_sqlite
            else ("created_at - interval '1 hour'")
        )
        self._database.change(f"UPDATE llm_call SET created_at = {ago} WHERE status = 'intent'")


def handed_over(log: Path) -> frozenset[int]:
    """Ids of the calls whose request was handed to the transport, by the workers' own log."""
    lines = log.read_text().splitlines() if log.exists() else []
    words = (line.split() for line in lines)
    return frozenset(int(w[2]) for w in words if len(w) == 3 and w[1] == "send")
