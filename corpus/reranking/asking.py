"""What a reranker is asked about one query, step by step, and what it comes to. Pure.

A method is a generator: it yields requests and is sent their texts, None for an answer that the
model refused or that was cut off.
"""

import hashlib
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from corpus.reranking import rules
from llm.profiles import likely_thoughts
from llm.prompts import PromptTemplate, fence
from llm.requests import Request
from llm.reranking import rerank_request, unpack

POINTWISE, LISTWISE, GROUPWISE = "pointwise", "listwise", "groupwise"
ENDPOINT, ORACLE, MERGE = "endpoint", "oracle", "merge"
# Documents of a query that are asked about at once, one by one (docs/protocol.md 5.4).
AT_ONCE: Final = 10
_PROMPTS: Final = Path(__file__).resolve().parent.parent / "prompts"
_NEEDS: Final = {
    POINTWISE: {"rule", "query", "document"},
    LISTWISE: {"rule", "query", "documents", "k"},
    GROUPWISE: {"rule", "query", "documents"},
}
ROLES: Final = {POINTWISE: "rerank_point", LISTWISE: "rerank_list", GROUPWISE: "rerank_group"}
# How answers are drawn where a run leaves it open; tokens are beside what a model thinks before.
# `reference` is as published (docs/protocol.md 1.3, 5.5).
_GREEDY: Final = {"temperature": 0.0, "top_p": 1.0}
SAMPLING: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    (rules.STRICT, POINTWISE): {**_GREEDY, "output_tokens": 100},
    (rules.STRICT, LISTWISE): {**_GREEDY, "output_tokens": 4_000},
    (rules.STRICT, GROUPWISE): {**_GREEDY, "output_tokens": 4_000, "repeats": 2},
    (rules.REFERENCE, POINTWISE): {"temperature": 0.6, "top_p": 0.9, "output_tokens": 128},
    (rules.REFERENCE, LISTWISE): {"temperature": 0.8, "top_p": 0.8, "output_tokens": 4_000},
    (rules.REFERENCE, GROUPWISE): {
        "temperature": 0.3,
        "top_p": 0.8,
        "output_tokens": 8_000,
        "repeats": 6,
    },
}
AUTO: Final = "auto"
GENERAL: Final = "general"
# What helps, by the kind of query; a benchmark's domain of that name is asked by its rule.
FAMILIES: Final[dict[str, str]] = {
    name: rule
    for line in (_PROMPTS / "rerank_rules.txt").read_text(encoding="utf-8").splitlines()
    for name, _, rule in [line.partition(": ")]
}


@dataclass(frozen=True)
class Settings:
    """A reranker as it was frozen when the run was made; `wire` is that of a rerank server."""

    method: str
    endpoint: str = ""
    model: str = ""
    depth: int = 100
    parser: str = rules.STRICT
    family: str = AUTO
    document_chars: int = 0
    group_size: int = 20
    repeats: int = 1
    temperature: float = 0.0
    top_p: float = 1.0
    output_tokens: int = 4_000
    reasoning_effort: str = ""
    wire: str = ""
    batch: int = 100
    # Of a server whose model wants its texts in a form of its own; "" as they are.
    query_template: str = ""
    document_template: str = ""


@dataclass(frozen=True)
class Task:
    """One query with its first documents as they are shown; `orders` are the shuffles, one a
    repeat."""

    question: str
    documents: Sequence[str]
    family: str = GENERAL
    orders: Sequence[Sequence[int]] = ()


@dataclass(frozen=True)
class Outcome:
    """What a reranker made of the documents, in their order.

    `scores` are from 0 to 1 (a list's are K - place, a server's its own); None where none could be
    read. `unread` counts replies that could not be. `is_kept` says that the whole query stays in
    the retriever's order.
    """

    scores: Sequence[float | None]
    spread: Sequence[float | None] = ()
    unread: int = 0
    is_kept: bool = False


Texts: TypeAlias = Sequence[str | None]
Steps: TypeAlias = Generator[Sequence[Request], Texts, Outcome]


@cache
def prompt_of(method: str) -> PromptTemplate:
    """The prompt of a method, as it comes with the app."""
    return PromptTemplate.load(_PROMPTS / f"{ROLES[method]}.txt", placeholders=_NEEDS[method])


def digest_of(method: str) -> str:
    """What a run pins: the prompt with the rules of all families; "" of who needs none."""
    if method not in ROLES:
        return ""
    text = "\n".join([prompt_of(method).sha256, *FAMILIES.values()])
    return hashlib.sha256(text.encode()).hexdigest()


def family_of(domain: str, chosen: str = AUTO) -> str:
    """The chosen one, or the one that a domain of BRIGHT has its prompt of."""
    return (domain if domain in FAMILIES else GENERAL) if chosen == AUTO else chosen


def steps_of(task: Task, who: Settings, key: bytes) -> Steps:
    """The method's questions about one query."""
    methods: Mapping[str, Callable[[Task, Settings, bytes], Steps]] = {
        POINTWISE: _pointwise,
        LISTWISE: _listwise,
        GROUPWISE: _groupwise,
        ENDPOINT: _scored_by_server,
    }
    return methods[who.method](task, who, key)


def first_requests(task: Task, who: Settings, key: bytes) -> Sequence[Request]:
    """What is asked at first, for forecasts."""
    return next(steps_of(task, who, key))


def _pointwise(task: Task, who: Settings, key: bytes) -> Steps:
    """A score for each document. `strict` asks once more where none can be read."""
    scores: list[float | None] = []
    unread = 0
    for start in range(0, len(task.documents), AT_ONCE):
        batch = task.documents[start : start + AT_ONCE]
        found = yield from _points(task, batch, who, key, 0)
        unread += found.count(None)
        if None in found and who.parser == rules.STRICT:
            missing = [n for n, score in enumerate(found) if score is None]
            again = yield from _points(task, [batch[n] for n in missing], who, key, 1)
            unread += again.count(None)
            for n, score in zip(missing, again, strict=True):
                found[n] = score
        scores += found
    if who.parser == rules.REFERENCE:
        scores = [score or 0.0 for score in scores]
    return Outcome(scores, unread=unread)


def _points(
    task: Task, documents: Sequence[str], who: Settings, key: bytes, again: int
) -> Generator[Sequence[Request], Texts, list[float | None]]:
    shown = {"query": fence("query", task.question, key), "rule": FAMILIES[task.family]}
    texts = yield [
        _request(who, replicate=again, **shown, document=fence("document", each, key))
        for each in documents
    ]
    return [None if text is None else rules.read_point(text, who.parser) for text in texts]


def _listwise(task: Task, who: Settings, key: bytes) -> Steps:
    """One call for all. An unreadable list leaves the retriever's order, and is counted."""
    count = len(task.documents)
    (text,) = yield [
        _request(
            who,
            rule=FAMILIES[task.family],
            query=fence("query", task.question, key),
            documents=_numbered(task.documents, key),
            k=str(count),
        )
    ]
    order = None if text is None else rules.read_list(text, count, who.parser)
    is_kept = order is None
    places = rules.by_place(range(count) if order is None else order)
    return Outcome([places.get(n) for n in range(count)], unread=is_kept, is_kept=is_kept)


def _groupwise(task: Task, who: Settings, key: bytes) -> Steps:
    """Scores in shuffled groups, averaged over repeats. A group that cannot be read is 0 for all
    its members in `reference`; `strict` asks once more, then leaves that repeat out."""
    values: list[list[float]] = [[] for _ in task.documents]
    unread = 0
    for repeat, order in enumerate(task.orders):
        left = rules.groups(order, who.group_size)
        for again in range(2 if who.parser == rules.STRICT else 1):
            shown = [[task.documents[n] for n in group] for group in left]
            texts = yield [
                _request(
                    who,
                    replicate=2 * repeat + again,
                    rule=FAMILIES[task.family],
                    query=fence("query", task.question, key),
                    documents=_numbered(each, key),
                )
                for each in shown
            ]
            failed = []
            for group, text in zip(left, texts, strict=True):
                read = None if text is None else rules.read_group(text, len(group), who.parser)
                if read is None:
                    unread += 1
                    failed.append(group)
                for n, score in (read or {}).items():
                    values[group[n]].append(score)
            left = failed
            if not left:
                break
        if who.parser == rules.REFERENCE:
            for n in (n for group in left for n in group):
                values[n].append(0.0)
    found = [rules.averaged(each) for each in values]
    return Outcome([mean for mean, _ in found], [spread for _, spread in found], unread)


def server_request(who: Settings, query: str, documents: Sequence[str]) -> Request:
    """What a rerank server is asked, texts within their templates."""
    whole, each = who.query_template or "{query}", who.document_template or "{document}"
    return rerank_request(
        endpoint=who.endpoint,
        model=who.model,
        wire=who.wire,
        query=whole.replace("{query}", query),
        documents=[each.replace("{document}", document) for document in documents],
    )


def _scored_by_server(task: Task, who: Settings, key: bytes) -> Steps:
    """Scores of a rerank server, in batches of what it takes."""
    texts = yield [
        server_request(who, task.question, task.documents[start : start + who.batch])
        for start in range(0, len(task.documents), who.batch)
    ]
    scores: list[float | None] = []
    for start, text in zip(range(0, len(task.documents), who.batch), texts, strict=True):
        size = len(task.documents[start : start + who.batch])
        scores += [None] * size if text is None else unpack(text)
    return Outcome(scores)


def _request(who: Settings, *, replicate: int = 0, **values: str) -> Request:
    thoughts = likely_thoughts(who.model, who.reasoning_effort)
    return Request(
        endpoint=who.endpoint,
        role=ROLES[who.method],
        model=who.model,
        messages=prompt_of(who.method).render(**values),
        schema_name="",
        schema={},
        temperature=who.temperature,
        top_p=None if who.top_p == 1 else who.top_p,
        max_tokens=who.output_tokens + thoughts,
        reasoning_effort=who.reasoning_effort,
        replicate=replicate,
    )


def _numbered(documents: Sequence[str], key: bytes) -> str:
    """Documents below their numbers, line breaks squeezed (docs/protocol.md 4.7)."""
    squeezed = (re.sub(r"\s*\n\s*", " ", each) for each in documents)
    return "\n\n".join(
        f"[{n}].\n{fence('document', each, key)}" for n, each in enumerate(squeezed, start=1)
    )
