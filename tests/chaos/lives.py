"""The lives of workers: each ends by SIGKILL, at a named point or at a moment drawn at random."""

import os
import random
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.money import question
from tests.chaos.site import ChaosSite
from tests.chaos.sql import Database
from tests.services.processes import Worker
from tests.stub.process import Stub

# Where kit.failpoints ends a worker by itself, in the order of a call's own life.
CLAIM: Final = "during-claim"
POINTS: Final = (
    "before-intent-commit",
    "after-intent-commit",
    "send",
    "before-settle",
    "after-settle",
    "before-outcomes-commit",
    "after-outcomes-commit",
)
# Charged by the endpoint, and no answer yet: only the endpoint can tell, so the driver kills.
AFTER_SEND: Final = "after-send"
# Not dead but silent for longer than its lease; it wakes when another has a part of what it held.
STALLED: Final = "stalled"
# Lives on until the run is over.
NEVER: Final = "never"
_PATIENCE_S: Final = 300.0
# Some times as long as a call takes, so that no stage of it is met more often than another.
_JITTER_S: Final = 0.4
_PAUSE_S: Final = 0.01
# Answers that the endpoint keeps back for each random life that has not died yet, so that the run
# cannot be over before: each finds some work, however quick the others were.
_KEPT_FOR_EACH: Final = 16
# The run, and the groups of it that its workers share.
_TABLES: Final = ("debate_debaterun", "kit_rungroup")
_EXPIRE: Final = [
    f"UPDATE {table} SET lease_until = '2001-01-01 00:00:00+00:00' "
    "WHERE status = 'running' AND owner LIKE ?"
    for table in _TABLES
]
# Waits for whoever holds rows that all workers write, in a transaction or between two of them.
_TOUCH: Final = [
    *[f"UPDATE {table} SET fence = fence" for table in _TABLES],
    "UPDATE llm_account SET name = name",
    "UPDATE llm_ratelimit SET endpoint = endpoint",
]
_OWNERS: Final = " UNION ALL ".join(
    f"SELECT '{table}', id, owner, status FROM {table} WHERE owner <> ''" for table in _TABLES
)
_IN_SIGHT: Final = 2  # both at work; who is left goes on with what the other held


def named_points(hits: Sequence[int]) -> list[str]:
    """Every named point, to be died at when it is reached for the first time, the fifth, ..."""
    # A worker claims a run once: of that point there is no fifth time.
    by_themselves = [f"{point}:{count}" for count in hits for point in POINTS]
    return [*by_themselves, *[f"{CLAIM}:1"] * len(hits), *[AFTER_SEND, STALLED] * len(hits)]


@dataclass
class Life:
    """One worker process and how it is meant to end; an empty `point` is a random moment."""

    point: str
    worker: Worker
    target: int | None = None  # calls begun at which a random life ends

    @property
    def pid(self) -> int:
        return self.worker.process.pid


@dataclass
class Deaths:
    """Who was killed, by process id, and where; "" for a random moment."""

    points: dict[int, str] = field(default_factory=dict)

    @property
    def at_random(self) -> int:
        """Number of random kills."""
        return sum(not point for point in self.points.values())

    @property
    def named(self) -> list[str]:
        """The named points that were died at."""
        return sorted(filter(None, self.points.values()))


class Reaper:
    """Lets workers live one after the other over a run, until all have died or it is over."""

    def __init__(
        self, site: ChaosSite, database: Database, stub: Stub, *, answers: int, seed: int
    ) -> None:
        """`answers` is how many the whole run needs; it counts only where lives end at random."""
        self._site, self._database, self._stub = site, database, stub
        self._answers = answers
        self._rng = random.Random(seed)
        self._waiting: list[str] = []
        self._alive: list[Life] = []
        self._calls_seen = 0
        self.deaths = Deaths()

    def run(self, points: Iterable[str], *, kills: int) -> Deaths:
        """A life for every named point (`name:count`), then `kills` random ones; then to the end.

        Returns when the run is over. Raises AssertionError when nothing happens for minutes.
        """
        self._waiting = [*points, *[""] * kills]
        self._ration()
        last, stands_at = time.monotonic(), (-1, 0)
        while not self._is_over():
            while len(self._alive) < _IN_SIGHT and self._may_begin():
                self._begin()
            self._look()
            now = (self._calls(), len(self.deaths.points))
            if now != stands_at:
                last, stands_at = time.monotonic(), now
            assert time.monotonic() - last < _PATIENCE_S, self._story()
            time.sleep(_PAUSE_S)
        return self.deaths

    def stop(self) -> None:
        """End the workers that are left, without force."""
        for life in self._alive:
            life.worker.stop()

    def _may_begin(self) -> bool:
        """Whether another life may begin: one that lives on would keep the run from the mortal."""
        return bool(self._waiting) or all(life.point == NEVER for life in self._alive)

    def _begin(self) -> None:
        point = self._waiting.pop(0) if self._waiting else NEVER
        named = bool(point) and point not in (AFTER_SEND, STALLED, NEVER)
        self._alive.append(Life(point, self._site.start_life(point if named else "")))

    def _look(self) -> None:
        """Bury who died at its point, and end whose moment has come."""
        self._bury_the_dead()
        at_work = {pid for pid, status in self._owners().values() if status == "running"}
        for life in list(self._alive):
            if life.pid not in at_work:
                continue
            if life.point == AFTER_SEND:
                self._kill_after_send(life)
            elif life.point == STALLED:
                self._stall(life)
            elif not life.point and self._has_come(life):
                self._end(life)
            elif life.point and self._is_dry():
                # It must find its point, even in a plan that is too short for all.
                self._ration(at_least=_KEPT_FOR_EACH)

    def _left_at_random(self) -> int:
        """Lives that are still to end at a random moment, begun or not."""
        return self._waiting.count("") + sum(not life.point for life in self._alive)

    def _missing(self) -> int:
        """Answers that the run is known to need yet."""
        return max(0, self._answers - self._answered())

    def _ration(self, *, at_least: int = 0) -> None:
        """Allow no more answers than leave something to do for every random life to come."""
        left = self._left_at_random()
        allowed = self._missing() - left * _KEPT_FOR_EACH
        self._stub.allow(max(allowed, at_least) if left else None)

    def _is_dry(self) -> bool:
        """Whether who is at work gets no more answers; asks only when no calls are begun."""
        calls, self._calls_seen = self._calls_seen, self._calls()
        return calls == self._calls_seen and self._stub.is_dry

    def _has_come(self, life: Life) -> bool:
        """Whether the worker at work has done its random share of what is left."""
        calls = self._calls()
        if life.target is None:
            share = self._missing() / (self._left_at_random() + 1)
            life.target = calls + int(self._rng.uniform(0, 1.8 * share))
        return calls >= life.target or self._is_dry()

    def _end(self, life: Life) -> None:
        """Kill it some moment later."""
        time.sleep(self._rng.uniform(0, _JITTER_S))
        life.worker.kill()
        self._bury(life)

    def _kill_after_send(self, life: Life) -> None:
        """Hold answers back until one is charged for that it waits for, and kill it."""
        self._stub.hold()
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not self._is_charged(life) and not self._is_over():
                assert time.monotonic() < deadline, self._story()
                time.sleep(_PAUSE_S)
            self._end(life)
        finally:
            self._stub.release()

    def _stall(self, life: Life) -> None:
        """Stop the worker in its tracks until another has a part of it; then let it see that."""
        deadline = time.monotonic() + _PATIENCE_S
        os.kill(life.pid, signal.SIGSTOP)
        while not (held := self._expire_at_once(life)):
            # Stopped in the middle of a transaction, whose locks would stop all others too, or
            # between two things that it held: it goes on, however long that takes.
            assert time.monotonic() < deadline, self._story()
            os.kill(life.pid, signal.SIGCONT)
            for touch in _TOUCH:
                self._database.change(touch)
            time.sleep(self._rng.uniform(0, _JITTER_S))
            os.kill(life.pid, signal.SIGSTOP)
        while not self._is_taken(held, life) and not self._is_over():
            assert time.monotonic() < deadline, self._story()
            self._bury_the_dead()
            if self._alive == [life]:
                self._begin()
            if self._is_dry():
                # The other one waits for answers to what it has, and takes nothing else meanwhile.
                self._ration(at_least=_KEPT_FOR_EACH)
            time.sleep(_PAUSE_S)
        os.kill(life.pid, signal.SIGCONT)
        while "taken over" not in life.worker.said:
            assert time.monotonic() < deadline, self._story()
            time.sleep(_PAUSE_S)
        self._end(life)

    def _bury_the_dead(self) -> None:
        for life in list(self._alive):
            if life.worker.process.poll() is not None:
                assert life.worker.process.returncode == -signal.SIGKILL, life.worker.said
                self._bury(life)

    def _bury(self, life: Life) -> None:
        self._alive.remove(life)
        self.deaths.points[life.pid] = life.point
        self._ration()
        # As if the time of its leases had passed: nobody else waits for that here.
        for expire in _EXPIRE:
            self._database.change(expire, f"%:{life.pid}")

    def _story(self) -> str:
        """What the workers said last."""
        return "\n".join(life.worker.said[-4000:] for life in self._alive)

    def _is_over(self) -> bool:
        (status,) = self._one("SELECT status FROM debate_debaterun")
        return status in ("done", "failed", "cancelled", "paused")

    def _owners(self) -> dict[tuple[str, int], tuple[int, str]]:
        """Process id of who had the run and each of its groups last, and its state."""
        rows = self._database.rows(_OWNERS)
        return {
            (table, key): (int(who.rpartition(":")[2]), state) for table, key, who, state in rows
        }

    def _expire_at_once(self, life: Life) -> set[tuple[str, int]]:
        """End the leases of a stopped worker; what it holds, or nothing where locks forbid it."""
        soon = self._database.change_soon
        if not all(soon(touch) for touch in _TOUCH):
            return set()
        if not all(soon(expire, f"%:{life.pid}") for expire in _EXPIRE):
            return set()
        return {place for place, last in self._owners().items() if last == (life.pid, "running")}

    def _is_taken(self, places: set[tuple[str, int]], life: Life) -> bool:
        """Whether another worker has taken any of these."""
        owners = self._owners()
        return any(owners[place][0] != life.pid for place in places)

    def _is_charged(self, life: Life) -> bool:
        """Whether the endpoint has put a call on its bill that the worker waits for."""
        asked = "SELECT model, request FROM llm_call WHERE status = 'intent' AND owner LIKE ?"
        charged = {row[0] for row in self._stub.rows("SELECT question FROM payment")}
        calls = self._database.rows(asked, f"%:{life.pid}")
        return any(question(*each) in charged for each in calls)

    def _calls(self) -> int:
        (calls,) = self._one("SELECT coalesce(max(id), 0) FROM llm_call")
        return int(calls)

    def _answered(self) -> int:
        (calls,) = self._one("SELECT count(*) FROM llm_call WHERE status = 'answered'")
        return int(calls)

    def _one(self, sql: str) -> Sequence[object]:
        (row,) = self._database.rows(sql)
        return row
