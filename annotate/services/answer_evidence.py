"""What reference answers may cite, and which of them are published."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from annotate.citing import Evidence, Report, brackets, check_answer
from annotate.models import Aspect, GoldPassage, ReferenceAnswer
from annotate.models.aspects import SCALE_TOP
from corpus.models import Domain, Passage, Query

# Ids asked for at a time.
_AT_ONCE = 500


@dataclass(frozen=True)
class Material:
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


def material_of(query: Query) -> Material:
    """Aspects and gold of one query."""
    return materials([query])[query.pk]


def materials(queries: Iterable[Query]) -> dict[int, Material]:
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
    return {pk: Material(query, tuple(aspects[pk])) for pk, query in known.items()}


def check(material: Material, text: str) -> Report:
    """The checks of an answer as its citations stand now."""
    named = brackets(text)[:_AT_ONCE]
    domain = Passage.objects.shown().filter(domain_id=material.query.domain_id, pid__in=named)
    return check_answer(text, material.evidence, known=set(domain.values_list("pid", flat=True)))


@dataclass(frozen=True)
class Published:
    """What a release says in answer to a query; `cited` are ids of passages of its domain."""

    text: str
    practice: bool = False
    cited: frozenset[str] = frozenset()


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
    wanted = sorted({each for cited in named.values() for each in cited})
    there: set[str] = set()
    for start in range(0, len(wanted), _AT_ONCE):
        rows = Passage.objects.filter(domain=domain, pid__in=wanted[start : start + _AT_ONCE])
        there.update(rows.values_list("pid", flat=True))
    return {pk: frozenset(there.intersection(cited)) for pk, cited in named.items()}
