"""Ten pairs of known order, which a reranker is tried on before a run pays for it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from corpus.reranking.asking import ENDPOINT, Settings, Task, first_requests, steps_of
from corpus.reranking.rules import auc
from kit.errors import Refused
from llm.pump import carry, together
from llm.requests import Request

LEAST_AUC: Final = 0.9
# Of each a question, what answers it, and what does not.
_TEXT: Final = Path(__file__).resolve().parent.parent / "prompts" / "rerank_pairs.txt"
PAIRS: Final = [each.splitlines() for each in _TEXT.read_text(encoding="utf-8").split("\n\n")]
# What is likely where scores are all the same, upside down, or tell little.
_LIKELY: Final = {
    True: (
        "the model is no reranker (an embedding or a chat model has no head for scores), or the "
        "server drops the documents",
        "the server returns distances, or the model's labels are swapped",
        "the model wants a prompt template (a setting here), or is no reranker, or does not know "
        "the language",
    ),
    False: (
        "the model does not keep to the form that is asked for, or its answers are too short for "
        "it (a setting here)",
        "the model puts the worst first, or takes a score for a distance",
        "the model goes by the place of a passage, or is too small for this prompt, or does not "
        "know the language",
    ),
}


async def probe(ask: Callable[[Request], Awaitable[str | None]], who: Settings, key: bytes) -> None:
    """Raises Refused with the likely cause where its scores of the pairs tell nothing, and
    LLMError. Answers come from the ledger where the same was tried before."""
    outcomes = await together(carry(steps_of(task, who, key), ask) for task in _tasks())
    # What could not be read, or was left out, stands last.
    scores = [
        [outcome.scores[n] or 0.0 for n in _places(number)]
        for number, outcome in enumerate(outcomes)
    ]
    found = auc([one for one, _ in scores], [other for _, other in scores])
    unread = sum(outcome.unread for outcome in outcomes)
    if fault := fault_of(scores, found, unread, is_server=who.method == ENDPOINT):
        raise Refused(
            f"{who.model} was tried on ten pairs of known order before anything was paid for "
            f"passages, and {fault}"
        )


def first_asked(who: Settings, key: bytes) -> list[Request]:
    """What is asked about the pairs at first, for forecasts."""
    return [each for task in _tasks() for each in first_requests(task, who, key)]


def fault_of(
    scores: list[list[float]], found: float, unread: int = 0, *, is_server: bool = True
) -> str:
    """What is wrong with these scores, and the likely cause; "" for nothing."""
    same, swapped, little = _LIKELY[is_server]
    replies = f" {unread} of its replies could not be read." if unread else ""
    if len({round(each, 6) for pair in scores for each in pair}) == 1:
        return f"every score is the same.{replies} Likely {same}."
    if found < 1 - LEAST_AUC:
        return f"scores stand on their head: AUC {found:.2f}.{replies} Likely {swapped}."
    if found < LEAST_AUC:
        return (
            f"scores do not tell answers from other texts: AUC {found:.2f}, at least "
            f"{LEAST_AUC} is expected.{replies} Likely {little}."
        )
    return ""


def _tasks() -> list[Task]:
    """The pairs as queries with two documents each."""
    return [
        Task(question, [(answer, other)[n] for n in _places(number)], orders=[range(2)])
        for number, (question, answer, other) in enumerate(PAIRS)
    ]


def _places(number: int) -> tuple[int, int]:
    """Where the answer stands and where the other: in turns, for a model may go by places."""
    return (0, 1) if number % 2 == 0 else (1, 0)
