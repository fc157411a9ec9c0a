"""What reference answers may cite, which of them are published, and how a corpus version cites.

Answers cite passages as they were loaded, and stay as they were written: read for a derived
version, each citation becomes those of the passages that take over what it cites, as judgments,
gold passages and aspects do (docs/cleaning.md).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from annotate.answers.citing import Evidence, Report, brackets, check_answer, numbered, renamed
from annotate.models import Aspect, GoldPassage, ReferenceAnswer
from annotate.workspace.models import SCALE_TOP
from corpus.access import Access
from corpus.imports.context import chunks
from corpus.judgments.shown import shown_labels
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Domain,
    Judgment,
    Passage,
    Query,
    Source,
    VersionState,
)
from corpus.versions.crosswalk import targets

# Citations of one answer that are looked up.
_MAX_CITED = 500

# What renamed() puts between brackets that follow each other.
_NEXT = "]["


@dataclass(frozen=True)
class AnswerEvidence:
    """A query's present aspects in the order people gave them, with the gold passages of each in
    the order they were assigned.

    `accepted` are the relevant passages of a query without aspects, in the order of their ids.
    """

    query: Query
    aspects: tuple[tuple[Aspect, tuple[Passage, ...]], ...]
    accepted: tuple[str, ...] = ()

    @cached_property
    def passages(self) -> list[Passage]:
        """Every gold passage of an aspect in the order that `[doc_3]` counts in."""
        by_number = sorted(self.aspects, key=lambda pair: pair[0].k)
        return list({each.pk: each for _, own in by_number for each in own}.values())

    @cached_property
    def evidence(self) -> Evidence:
        """The same as the checks read it."""
        return Evidence(
            {aspect.k: tuple(each.pid for each in own) for aspect, own in self.aspects},
            {each.pid: each.text for each in self.passages if each.text is not None},
            self.accepted,
        )

    @property
    def missing(self) -> str:
        """What is missing before an answer can be written, and what to do; "" if nothing is."""
        if not self.aspects:
            return "This query has no aspects yet. Write them first."
        if not self.passages:
            return "No aspect has a gold passage yet. Assign passages first."
        return ""

    @property
    def unready(self) -> str:
        """Why a model cannot be asked; "" if it can. A model needs all that it has to cover."""
        if self.missing:
            return self.missing
        for aspect, own in self.aspects:
            if not aspect.content.strip():
                return f"a{aspect.k} has no words yet."
            if not own:
                return f"a{aspect.k} has no gold passage."
            if not any(each.text for each in own):
                return f"No passage of a{aspect.k} has a text."
        return ""

    def top(self, aspect: Aspect) -> int:
        """The highest weight of the aspect's scale."""
        return SCALE_TOP[aspect.scale]


def material_of(query: Query, shown_to: Access | None = None) -> AnswerEvidence:
    """Aspects and gold of one query; without labels that this person may not see (shown.py)."""
    return materials([query], shown_to)[query.pk]


def materials(
    queries: Iterable[Query], shown_to: Access | None = None
) -> dict[int, AnswerEvidence]:
    """The same of many queries, by key.

    Each needs its domain: gold that is no aspect's is read there.
    """
    known = {each.pk: each for each in queries}
    standing = GoldPassage.objects.standing().filter(query__in=known).select_related("passage")
    gold: dict[int, list[Passage]] = defaultdict(list)
    for each in standing:
        gold[each.aspect_id].append(each.passage)
    aspects: dict[int, list[tuple[Aspect, tuple[Passage, ...]]]] = defaultdict(list)
    for aspect in Aspect.objects.filter(query__in=known).present():
        aspects[aspect.query_id].append((aspect, tuple(gold[aspect.pk])))
    accepted = _accepted([query for pk, query in known.items() if not aspects[pk]], shown_to)
    return {
        pk: AnswerEvidence(query, tuple(aspects[pk]), accepted.get(pk, ()))
        for pk, query in known.items()
    }


def _accepted(queries: Iterable[Query], shown_to: Access | None) -> dict[int, tuple[str, ...]]:
    """Ids of the loaded or collected passages that the expert view calls relevant, sorted.

    docs/protocol.md 2.7: relevant by the original gold or by the label given since, unless an
    expert says otherwise.
    """
    asked = {each.pk: each for each in queries}
    if not asked:
        return {}
    benchmarks = {each.domain.benchmark_id for each in asked.values()}
    layers = {pk for benchmark in benchmarks for pk in _loaded_layers(benchmark)}
    labels = Judgment.objects.filter(query__in=asked, passage__version_id__in=layers)
    relevant: dict[int, set[str]] = defaultdict(set)
    refused: dict[int, set[str]] = defaultdict(set)
    since = labels.standing()
    shown = shown_labels(since, shown_to) if shown_to else since
    for rows in (labels.original(), shown):
        for query, pid, label, source in rows.values_list(
            "query_id", "passage__pid", "label", "source"
        ):
            if label > 0:
                relevant[query].add(pid)
            elif source == Source.EXPERT:
                refused[query].add(pid)
    return {pk: tuple(sorted(relevant[pk] - refused[pk])) for pk in asked}


def _loaded_layers(benchmark: int) -> list[int]:
    """Versions of what was loaded and collected, as they are released."""
    owner = Benchmark.objects.get(pk=benchmark)
    loaded = CorpusVersion.objects.loaded(owner)
    growing = CorpusVersion.objects.growing(owner)
    return [*(loaded.layers if loaded else ()), *([growing.pk] if growing else ())]


def check(material: AnswerEvidence, text: str) -> Report:
    """The checks of an answer as its citations stand now."""
    named = brackets(text)[:_MAX_CITED]
    domain = Passage.objects.shown().filter(domain_id=material.query.domain_id, pid__in=named)
    return check_answer(text, material.evidence, known=set(domain.values_list("pid", flat=True)))


@dataclass(frozen=True)
class Published:
    """What a release says in answer to a query; `cited` are ids of passages of its domain.

    `lost_citations` are those that no passage of the corpus version inherits.
    """

    text: str = ""
    practice: bool = False
    cited: frozenset[str] = frozenset()
    lost_citations: tuple[str, ...] = ()


def published_answers(
    domain: Domain, *, only: int | None = None, without: Collection[int] = ()
) -> dict[int, Published]:
    """For every query of the domain (or `only` that): the answer chosen here, else the imported.

    `without` are keys of answers that do not count.
    """
    queries = domain.queries.all() if only is None else domain.queries.filter(pk=only)
    texts = {pk: (text, False) for pk, text in queries.values_list("pk", "reference_answer")}
    chosen = ReferenceAnswer.objects.chosen().filter(query__domain=domain)
    chosen = chosen.exclude(pk__in=without)
    for query, text, practice in chosen.values_list("query_id", "text", "practice"):
        if query in texts:
            texts[query] = (text, practice)
    known = _known(domain, {pk: text for pk, (text, _) in texts.items() if text})
    return {
        pk: Published(text, practice, known.get(pk, frozenset()))
        for pk, (text, practice) in texts.items()
    }


def _known(domain: Domain, texts: Mapping[int, str]) -> dict[int, frozenset[str]]:
    named = {pk: brackets(text) for pk, text in texts.items()}
    there: set[str] = set()
    for pids in chunks({each for cited in named.values() for each in cited}):
        rows = Passage.objects.filter(domain=domain, pid__in=pids)
        there.update(rows.values_list("pid", flat=True))
    return {pk: frozenset(there.intersection(cited)) for pk, cited in named.items()}


def answers_in(
    version: CorpusVersion | None,
    domain: Domain,
    *,
    only: int | None = None,
    without: Collection[int] = (),
) -> dict[int, Published]:
    """Published answers of the domain's queries (or `only` that), cited by ids of the version.

    What is not inherited stays as it was written, and is listed.
    """
    published = published_answers(domain, only=only, without=without)
    if version is None or not version.is_derived:
        return published
    cited = {pk: brackets(answer.text) for pk, answer in published.items() if answer.text}
    # The passage id behind each bracket; numbers count the query's gold.
    meant = {}
    queries = domain.queries.filter(pk__in=[pk for pk, own in cited.items() if own])
    queries = queries.select_related("domain")
    for pk, material in materials(queries).items():
        gold = material.evidence.gold
        meant[pk] = {each: numbered(each, gold) or each for each in cited[pk]}
    names = _names_in(version, domain, {pid for own in meant.values() for pid in own.values()})
    return {pk: _inherited(answer, meant.get(pk, {}), names) for pk, answer in published.items()}


def _inherited(
    answer: Published, meant: Mapping[str, str], names: Mapping[str, tuple[str, ...]]
) -> Published:
    """`meant` gives the id behind each bracket, `names` those of the version for each id."""
    there = {cited: names[pid] for cited, pid in meant.items() if names.get(pid)}
    lost = tuple(cited for cited, pid in meant.items() if pid in names and not names[pid])
    text = renamed(answer.text, {cited: _NEXT.join(pids) for cited, pids in there.items()})
    known = frozenset(pid for pids in there.values() for pid in pids)
    return Published(_once(text), answer.practice, known | answer.cited, lost)


def _once(text: str) -> str:
    """Neighbouring citations of one passage, because two of the older ones are in it, as one."""
    return re.sub(r"(\[[^\[\]]{1,500}\])(?:\1)+", r"\1", text)


def _names_in(
    version: CorpusVersion, domain: Domain, pids: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """For each id of a loaded or collected passage those of the version; ids unknown are left out.

    What experts collected is in no version that was cleaned, and keeps its name.
    """
    root = version
    while root.is_derived and root.parent is not None:
        root = root.parent
    loaded: dict[str, int] = {}
    found: dict[str, tuple[str, ...]] = {}
    for group in chunks(pids):
        rows = Passage.objects.filter(domain=domain, pid__in=group)
        columns = ("pk", "pid", "version_id", "version__state")
        for pk, pid, layer, state in rows.order_by("pk").values_list(*columns):
            if state == VersionState.GROWING:
                found[pid] = (pid,)
            elif layer in root.layers:
                loaded[pid] = pk
            elif layer in version.layers and pid not in found:
                found[pid] = (pid,)
    there = targets(version, set(loaded.values()))
    names: dict[int, str] = {}
    for keys in chunks({pk for pks in there.values() for pk in pks}):
        names.update(Passage.objects.filter(pk__in=keys).order_by().values_list("pk", "pid"))
    return found | {pid: tuple(names[each] for each in there[pk]) for pid, pk in loaded.items()}
