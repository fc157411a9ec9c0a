"""What reference answers may cite, which of them are published, and how a corpus version cites.

Answers cite passages as they were loaded, and stay as they were written: read for a derived
version, each citation becomes those of the passages that take over what it cites, as judgments,
gold passages and aspects do (docs/cleaning.md).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TypeVar

from annotate.answers.citing import Evidence, Report, brackets, check_answer, numbered, renamed
from annotate.models import Aspect, GoldPassage, ReferenceAnswer
from annotate.workspace.models import SCALE_TOP
from corpus.models import CorpusVersion, Domain, Passage, Query, VersionState
from corpus.versions.crosswalk import targets

# Ids asked for at a time.
_AT_ONCE = 500
T = TypeVar("T", int, str)

# What renamed() puts between brackets that follow each other.
_NEXT = "]["


@dataclass(frozen=True)
class AnswerEvidence:
    """A query's present aspects with the gold passages of each, in the order people gave them."""

    query: Query
    aspects: tuple[tuple[Aspect, tuple[Passage, ...]], ...]

    @cached_property
    def passages(self) -> list[Passage]:
        """Every gold passage, in the order of ids: the order that `[doc_3]` counts in."""
        found = {each.pk: each for _, own in self.aspects for each in own}
        return sorted(found.values(), key=lambda each: each.pid)

    @cached_property
    def evidence(self) -> Evidence:
        """The same as the checks read it."""
        return Evidence(
            {aspect.k: tuple(each.pid for each in own) for aspect, own in self.aspects},
            {each.pid: each.text for each in self.passages if each.text is not None},
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


def material_of(query: Query) -> AnswerEvidence:
    """Aspects and gold of one query."""
    return materials([query])[query.pk]


def materials(queries: Iterable[Query]) -> dict[int, AnswerEvidence]:
    """The same of many queries, by key."""
    known = {each.pk: each for each in queries}
    standing = GoldPassage.objects.standing().filter(query__in=known).select_related("passage")
    gold: dict[int, list[Passage]] = defaultdict(list)
    for each in standing:
        gold[each.aspect_id].append(each.passage)
    aspects: dict[int, list[tuple[Aspect, tuple[Passage, ...]]]] = defaultdict(list)
    for aspect in Aspect.objects.filter(query__in=known).present():
        own = sorted(gold[aspect.pk], key=lambda passage: passage.pid)
        aspects[aspect.query_id].append((aspect, tuple(own)))
    return {pk: AnswerEvidence(query, tuple(aspects[pk])) for pk, query in known.items()}


def check(material: AnswerEvidence, text: str) -> Report:
    """The checks of an answer as its citations stand now."""
    named = brackets(text)[:_AT_ONCE]
    domain = Passage.objects.shown().filter(domain_id=material.query.domain_id, pid__in=named)
    return check_answer(text, material.evidence, known=set(domain.values_list("pid", flat=True)))


@dataclass(frozen=True)
class Published:
    """What a release says in answer to a query; `cited` are ids of passages of its domain.

    `uncarried` are citations that no passage of the corpus version takes over.
    """

    text: str = ""
    practice: bool = False
    cited: frozenset[str] = frozenset()
    uncarried: tuple[str, ...] = ()


def published_answers(domain: Domain, *, only: int | None = None) -> dict[int, Published]:
    """For every query of the domain (or `only` that): the answer chosen here, else the imported."""
    queries = domain.queries.all() if only is None else domain.queries.filter(pk=only)
    texts = {pk: (text, False) for pk, text in queries.values_list("pk", "reference_answer")}
    chosen = ReferenceAnswer.objects.chosen().filter(query__domain=domain)
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
    for pids in _groups({each for cited in named.values() for each in cited}):
        rows = Passage.objects.filter(domain=domain, pid__in=pids)
        there.update(rows.values_list("pid", flat=True))
    return {pk: frozenset(there.intersection(cited)) for pk, cited in named.items()}


def answers_in(
    version: CorpusVersion | None, domain: Domain, *, only: int | None = None
) -> dict[int, Published]:
    """Published answers of the domain's queries (or `only` that), cited by ids of the version.

    `[doc_3]` counts the gold of the query's aspects as it was loaded, and becomes ids. What cannot
    be carried stays as it was written, and is listed.
    """
    published = published_answers(domain, only=only)
    if version is None or not version.is_derived:
        return published
    cited = {pk: brackets(answer.text) for pk, answer in published.items() if answer.text}
    meant = _meant(domain, cited)
    names = _names_in(version, domain, {pid for own in meant.values() for pid in own.values()})
    return {pk: _carried(answer, meant.get(pk, {}), names) for pk, answer in published.items()}


def _carried(
    answer: Published, meant: Mapping[str, str], names: Mapping[str, tuple[str, ...]]
) -> Published:
    """`meant` gives the id behind each bracket, `names` those of the version for each id."""
    there = {words: names[pid] for words, pid in meant.items() if names.get(pid)}
    lost = tuple(words for words, pid in meant.items() if pid in names and not names[pid])
    text = renamed(answer.text, {words: _NEXT.join(pids) for words, pids in there.items()})
    known = frozenset(pid for pids in there.values() for pid in pids)
    return Published(_once(text), answer.practice, known | answer.cited, lost)


def _once(text: str) -> str:
    """Neighbouring citations of one passage, because two of the older ones are in it, as one."""
    return re.sub(r"(\[[^\[\]]{1,500}\])(?:\1)+", r"\1", text)


def _meant(domain: Domain, cited: Mapping[int, list[str]]) -> dict[int, dict[str, str]]:
    """The passage id behind each bracket; numbers count the gold of the query's aspects."""
    queries = domain.queries.filter(pk__in=[pk for pk, own in cited.items() if own])
    found: dict[int, dict[str, str]] = {}
    for pk, material in materials(queries).items():
        gold = material.evidence.gold
        own = {words: numbered(words, gold) or words for words in cited[pk]}
        found[pk] = own
    return found


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
    for group in _groups(pids):
        rows = Passage.objects.filter(domain=domain, pid__in=group)
        columns = ("pk", "pid", "version_id", "version__state")
        for pk, pid, layer, state in rows.order_by("pk").values_list(*columns):
            if state == VersionState.GROWING:
                found[pid] = (pid,)
            elif layer in root.layers:
                loaded[pid] = pk
            elif layer in version.layers and pid not in found:
                found[pid] = (pid,)
    reached = targets(version, set(loaded.values()))
    names: dict[int, str] = {}
    for keys in _groups({pk for pks in reached.values() for pk in pks}):
        names.update(Passage.objects.filter(pk__in=keys).order_by().values_list("pk", "pid"))
    return found | {pid: tuple(names[each] for each in reached[pk]) for pid, pk in loaded.items()}


def _groups(wanted: Iterable[T]) -> Iterator[list[T]]:
    """As many of them as are asked for at a time."""
    rest = iter(sorted(wanted))
    while group := list(islice(rest, _AT_ONCE)):
        yield group
