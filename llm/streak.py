"""Telling an outage of the endpoint from an item that fails by itself. Pure."""

from collections.abc import Sequence
from typing import Final, Generic, Protocol, TypeVar

from llm.failures import Blame, CannotGoOn, Failure

# Refusals in a row after which the rest is not tried.
REFUSALS: Final = 20


class Heard(Protocol):
    """A result: why a call brought no answer, and whether one came that was not known before."""

    @property
    def failure(self) -> Failure | None: ...
    @property
    def heard(self) -> bool: ...


ResultT = TypeVar("ResultT", bound=Heard)


class Streak(Generic[ResultT]):
    """Holds back results that failed without an answer, until the endpoint answers another.

    Then they failed by themselves and are stored so. After `limit` of them in a row it is the
    endpoint, and they stay waiting.
    """

    def __init__(self, limit: int, *, words: tuple[str, str] = ("pair", "pairs")) -> None:
        self._limit, self._words = limit, words
        self._held: list[ResultT] = []
        self._heard = False
        self._answered = False
        self._refusals: list[str] = []

    def sift(self, outcomes: Sequence[ResultT]) -> tuple[list[ResultT], CannotGoOn | None]:
        """What may be stored, and why the drive must stop, if it must."""
        ready: list[ResultT] = []
        for outcome in outcomes:
            blame = outcome.failure.blame if outcome.failure else None
            if outcome.failure and blame is Blame.SETUP:
                return ready, CannotGoOn(outcome.failure.words)
            if blame is Blame.OUTAGE:
                self._held.append(outcome)
                if len(self._held) >= self._limit:
                    return ready, self._outage()
            elif outcome.heard or blame is Blame.PAIR:
                ready += [*self._held, outcome]
                self._held, self._heard = [], True
                if stop := self._refused(outcome):
                    return ready, stop
            else:  # from the ledger, or never asked: it says nothing about the endpoint
                ready.append(outcome)
        return ready, None

    def _refused(self, outcome: ResultT) -> CannotGoOn | None:
        """Why to stop after this outcome: the endpoint refuses all that it is asked.

        The same words for so many in a row, or any for as many from the first one on: the next
        hundred thousand would fare no better.
        """
        failure = outcome.failure
        if failure is None or failure.blame is not Blame.PAIR:
            self._answered, self._refusals = True, []
            return None
        same = not self._refusals or failure.words == self._refusals[-1]
        self._refusals = [*self._refusals, failure.words] if same or not self._answered else []
        if len(self._refusals) < REFUSALS:
            return None
        count, self._refusals = len(self._refusals), []
        return CannotGoOn(
            f"{failure.words} So it was for {count} {self._words[1]} in a row; the others wait. "
            "Choose another model or mend the endpoint, then resume the run.",
            pauses=True,
        )

    def end(self, *, is_last: bool, is_fresh: bool) -> list[ResultT]:
        """What is stored of the held ones when the drive ends.

        `is_last`: no pair is left; else they wait for the next drive. `is_fresh`: no pair of the
        run had an outcome before. Raises CannotGoOn if the endpoint never answered; a single
        pair that it took and never answered may have itself to blame.
        """
        if not self._held:
            return []
        never_heard = not self._heard and (not is_last or (is_fresh and len(self._held) > 1))
        if never_heard or (is_last and not any(map(_was_taken, self._held))):
            raise self._outage()
        return self._held if is_last else []

    def _outage(self) -> CannotGoOn:
        last, count = self._held[-1].failure, len(self._held)
        one, many = self._words
        failed = f"1 {one}" if count == 1 else f"{count} {many} in a row"
        return CannotGoOn(outage(last.words if last else "", failed=failed), pauses=True)


def outage(words: str, *, failed: str = "", many: str = "pairs") -> str:
    """What people are told of an endpoint that answers nobody."""
    rest = f"So it was for {failed}, which keep waiting." if failed else f"The other {many} wait."
    return f"{words} {rest} Resume the run when the endpoint answers again."


def _was_taken(outcome: Heard) -> bool:
    return outcome.failure is not None and outcome.failure.was_taken
