"""The versions of DIVER as steps (docs/protocol.md 5.7). Pure."""

from dataclasses import dataclass
from typing import Final

EXPAND, COMPUTE, HYBRID = "expand", "compute", "hybrid"
POINTWISE, LISTWISE, GROUPWISE, MERGE = RERANKS = ("pointwise", "listwise", "groupwise", "merge")
V1, V2, V3 = PRESETS = ("v1", "v2", "v3")
TITLES: Final = {each: f"DIVER ({each})" for each in PRESETS}
CHOICES: Final = tuple(TITLES.items())
ABOUT: Final = {
    V1: "Queries expanded in two rounds, the retriever beside BM25, reranked pointwise.",
    V2: "The same, reranked pointwise and listwise, both merged.",
    V3: "The same with another retriever, reranked in groups.",
}
RETRIEVER: Final = "retriever"
_QEXPAND: Final = "diver-retrievers-evaluate-retriever-with-diver-qexpand-query"
_ORIGINAL: Final = "diver-retrievers-evaluate-retriever-with-original-query"
_ROWS: Final = {V1: "DIVER-Retriever(v1)", V2: "DIVER-Retriever(v1)", V3: "DIVER-Retriever(v2)"}


@dataclass(frozen=True)
class Step:
    """One run of a pipeline; `of` names what it is made from, RETRIEVER or earlier steps."""

    name: str
    kind: str
    of: tuple[str, ...]


def steps_of(preset: str, *, is_bm25: bool) -> tuple[Step, ...]:
    """The steps of a version. A retriever that is BM25 itself has no hybrid with it."""
    steps = [Step("expanded", EXPAND, (RETRIEVER,))]
    base = "expanded"
    if not is_bm25:
        steps.append(Step("BM25", COMPUTE, ("expanded",)))
        steps.append(Step("hybrid", HYBRID, ("expanded", "BM25")))
        base = "hybrid"
    if preset == V3:
        return (*steps, Step("groupwise", GROUPWISE, (base,)))
    steps.append(Step("pointwise", POINTWISE, (base,)))
    if preset == V2:
        steps.append(Step("listwise", LISTWISE, (base,)))
        steps.append(Step("merged", MERGE, ("pointwise", "listwise")))
    return tuple(steps)


def printed_of(preset: str, step: str, *, is_last: bool) -> tuple[str, str, int] | None:
    """Where the paper prints a step: table, name of the row, and its place among rows of that
    name; None where it does not."""
    if is_last:
        return "diver-full-pipelines", f"DIVER({preset})", 0
    if step == RETRIEVER:
        return _ORIGINAL, _ROWS[preset], 0
    if preset == V3:
        return None
    return {
        "expanded": (_QEXPAND, "DIVER-Retriever(v1)", 0),
        "hybrid": (_QEXPAND, "+BM25 (Hybrid)", 1),
    }.get(step)
