"""Answers that stand here, sentence by sentence, with the passages that each cites."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from annotate.answers.citing import (
    brackets,
    cited_sentences,
    looks_like_an_id,
    numbered,
    without_citations,
)
from annotate.answers.evidence import answers_in, materials
from corpus.imports.context import chunks
from corpus.models import Benchmark, CorpusVersion, Query
from evaluation.agents.models import AgentState
from evaluation.rag.models import AnswerState, RagAnswer
from evaluation.rag.running import passages_of
from evaluation.support.models import SetKind, SupportedAnswer, SupportSet

_AT_ONCE: Final = 200
Sentences: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
# A row that is not stored, and the keys of passages by id.
Split: TypeAlias = tuple[SupportedAnswer, Mapping[str, int]]
# (corpus version, domain) -> ids of passages -> their keys; null is the loaded texts.
Known: TypeAlias = dict[tuple[int | None, int], dict[str, int]]


@dataclass(frozen=True)
class Written:
    """An answer as it was written. What stands in brackets is a number of `numbered` passages where
    there are some, else an id, or the number of a gold passage."""

    query: Query
    system: str
    origin: str
    text: str
    version: int | None
    numbered: tuple[str, ...] | None = None
    gold: tuple[str, ...] = ()


def splits(of: SupportSet, without: Collection[str] = ()) -> Iterator[Split]:
    """Every answer of the set, not stored, with the keys of the passages by id, in a lasting order;
    but those of origins that are there already."""
    read: dict[str, Callable[[SupportSet], Iterator[Written]]] = {
        SetKind.AGENT: _of_agent,
        SetKind.RAG: _of_rag,
        SetKind.REFERENCE: _references,
    }
    left = (each for each in read[of.kind](of) if each.origin not in without)
    for part in chunks(left):
        named: dict[tuple[int | None, int], set[str]] = defaultdict(set)
        for each in part:
            inside = brackets(each.text)
            pids = {pid for bracket in inside for pid in _parts(bracket)} | {*inside}
            named[each.version, each.query.domain_id] |= pids | {*(each.numbered or ()), *each.gold}
        known = passages(of.benchmark, named)
        for each in part:
            here = known[each.version, each.query.domain_id]
            found = SupportedAnswer(
                support_set=of,
                query=each.query,
                system=each.system,
                origin=each.origin,
                text=each.text,
                sentences=split(each, here),
            )
            yield found, here


def split(written: Written, known: Mapping[str, int]) -> Sentences:
    """Its sentences with what each cites, in order and once; `known` are passages by id."""
    found = []
    for sentence, inside in cited_sentences(written.text):
        cited, meant = [], []
        for bracket in inside:
            if own := _cited(bracket, written, known):
                cited += own
                meant.append(bracket)
        plain = " ".join(without_citations(sentence, meant).split())
        found.append((plain, tuple(dict.fromkeys(cited))))
    return tuple(found)


def _cited(bracket: str, written: Written, known: Mapping[str, int]) -> list[str]:
    """The ids that stand in one pair of brackets; empty where they cite nothing."""
    if bracket in known and written.numbered is None:
        return [bracket]
    parts = _parts(bracket)
    if written.numbered is not None:
        if not all(part.isascii() and part.isdigit() for part in parts):
            return []
        of = written.numbered
        return [of[int(p) - 1] if len(p) < 6 and 0 < int(p) <= len(of) else p for p in parts]
    meant = [numbered(part, written.gold) or part for part in parts]
    return meant if all(pid in known or looks_like_an_id(pid) for pid in meant) else []


def _parts(bracket: str) -> list[str]:
    return [part.strip() for part in bracket.split(",")]


def passages(benchmark: Benchmark, named: Mapping[tuple[int | None, int], set[str]]) -> Known:
    """Keys of passages by id, of each corpus version and domain, with what experts collected."""
    found: Known = {}
    for (version, domain), pids in named.items():
        rows = passages_of(benchmark, version).filter(domain=domain).order_by("pk")
        here = found.setdefault((version, domain), {})
        for some in chunks(pids):
            here |= dict(rows.filter(pid__in=some).values_list("pid", "pk"))
    return found


def _of_agent(of: SupportSet) -> Iterator[Written]:
    run = of.agent_run
    assert run is not None
    version = run.retrieval_run.corpus_version_id if run.retrieval_run else None
    done = run.items.exclude(state__in=(AgentState.WAITING, AgentState.FAILED))
    for item in done.select_related("query__domain").order_by("pk").iterator(_AT_ONCE):
        for answer in item.answers:
            name = f"{run.name}, round {answer['round']}" if run.rounds else run.name
            origin = f"agent:{item.pk}:{answer['round']}"
            yield Written(item.query, name, origin, answer["text"], version)


def _of_rag(of: SupportSet) -> Iterator[Written]:
    assert of.rag_run is not None
    rows = of.rag_run.answers.filter(state=AnswerState.ANSWERED, is_informed=True)
    answer: RagAnswer
    for answer in rows.select_related("query__domain", "source").order_by("pk").iterator(_AT_ONCE):
        source = answer.source
        yield Written(
            answer.query,
            source.name,
            f"rag:{answer.pk}",
            answer.text,
            source.corpus_version_id,
            tuple(answer.passages),
        )


def _references(of: SupportSet) -> Iterator[Written]:
    version = CorpusVersion.objects.current(of.benchmark)
    key = version.key if version else None
    for domain in of.benchmark.domains.ready().order_by("name"):
        told = {pk: each.text for pk, each in answers_in(version, domain).items() if each.text}
        queries = domain.queries.select_related("domain").order_by("pk")
        write = partial(Written, system="reference answers", version=key)
        for part in chunks(each for each in queries if each.pk in told):
            of_query = materials(part)
            for query in part:
                gold = tuple(of_query[query.pk].evidence.gold)
                origin = f"reference:{query.pk}"
                yield write(query=query, origin=origin, text=told[query.pk], gold=gold)


def before(sentences: Sequence[Sequence[object]], at: int, count: int = 3) -> str:
    """The sentences before one, by which its pronouns are understood."""
    return " ".join(str(each[0]) for each in sentences[max(0, at - count) : at])
