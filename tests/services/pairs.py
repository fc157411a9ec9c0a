"""Pairs to debate, and everything that a run over them must have left behind, once each."""

from collections import Counter
from dataclasses import dataclass

from annotate.models import EscalationCase
from corpus.models import Judgment, Pool
from debate.models import Debate, DebateRun, Turn
from kit.models import Event
from kit.runs.models import RunStatus
from llm.models import Call
from tests.factories import make_benchmark, make_passage, make_pool, make_query

# Ten answer words: their number in a passage is what the practice model goes by
# (docs/protocol.md 8), so that pairs agree early, late or never.
_WORDS = ["moths", "roll", "their", "backs", "toward", "any", "lamp", "and", "fly", "loops"]


@dataclass(frozen=True)
class Result:
    """What a run came to, in words that are the same in every database."""

    debates: dict[str, tuple[object, ...]]
    turns: Counter[tuple[object, ...]]
    labels: Counter[tuple[object, ...]]
    cases: Counter[tuple[object, ...]]
    events: Counter[str]
    answered: Counter[tuple[str, str]]


def make_pairs(count: int) -> Pool:
    """A benchmark with a pool of that many pairs of every outcome."""
    benchmark = make_benchmark()
    query = make_query(benchmark, answers=[" ".join(_WORDS)])
    pairs = []
    for number in range(count):
        text = f"{' '.join(_WORDS[: number % 11])} beside other things, {number}."
        pairs.append((query, make_passage(benchmark, f"p{number}", text=text)))
    return make_pool(benchmark, *pairs)


def result_of(run: DebateRun) -> Result:
    """Everything that stands in the database after a run; one run, one benchmark."""
    debates = run.debates.values_list("passage__pid", "status", "round", "label")
    turns = Turn.objects.filter(debate__run=run, call__status=Call.Status.ANSWERED)
    return Result(
        debates={pid: tuple(rest) for pid, *rest in debates},
        turns=Counter(turns.values_list("debate__passage__pid", "round", "agent", "response")),
        # Every row, not only the standing ones: nothing was labelled a second time.
        labels=Counter(Judgment.objects.values_list("passage__pid", "label", "source", "status")),
        cases=Counter(EscalationCase.objects.values_list("passage__pid", "kind")),
        events=Counter(Event.objects.values_list("verb", flat=True)),
        answered=Counter(Call.objects.answered().values_list("key", "status")),
    )


def check_finished(run: DebateRun, expected: Result) -> None:
    """The run is done and left exactly what an undisturbed one leaves."""
    run.refresh_from_db()
    assert (run.status, run.done, run.error) == (RunStatus.DONE, run.total, "")
    assert not Debate.objects.waiting().exists()
    assert result_of(run) == expected
    standing = Judgment.objects.standing().values_list("query", "passage")
    assert set(Counter(standing).values()) == {1}


def calls_by_status() -> Counter[str]:
    """Number of ledger rows in each state."""
    return Counter(Call.objects.values_list("status", flat=True))


def is_over(run: DebateRun) -> bool:
    """Whether the run has ended, by a fresh look."""
    run.refresh_from_db()
    return run.is_over
