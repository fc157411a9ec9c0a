"""Citations of answers and gold passages of aspects that a cleaned corpus version loses."""

from typing import NamedTuple

from annotate.answers.citing import brackets, numbers_gold
from annotate.answers.evidence import answers_in
from annotate.models import Aspect
from annotate.workspace.inherited import gold_in
from corpus.imports.context import chunks
from corpus.models import CorpusVersion, Passage, Query

NO_PASSAGE = "no passage of this version takes it over"
COUNTS_NOTHING = "counts the gold of the query, which has not so many: it stays as it was written"


class LostCitation(NamedTuple):
    """Words in brackets of a published answer that cite no passage of the version, and why."""

    query: Query
    cited: str
    why: str


class LostSupport(NamedTuple):
    """A gold passage of an aspect that no passage of the version inherits."""

    aspect: Aspect
    passage: Passage


def lost_work(version: CorpusVersion) -> tuple[list[LostCitation], list[LostSupport]]:
    """Citations and gold passages that the version does not inherit; none in loaded texts."""
    return (_citations(version), _support(version)) if version.is_derived else ([], [])


def _citations(version: CorpusVersion) -> list[LostCitation]:
    found: dict[int, list[tuple[str, str]]] = {}
    for domain in version.benchmark.domains.ready():
        for pk, answer in answers_in(version, domain).items():
            # Inherited ones became ids: what still counts gold counted none.
            numbers = [each for each in brackets(answer.text) if numbers_gold(each)]
            rows = [(each, NO_PASSAGE) for each in answer.lost_citations]
            rows += [
                (each, COUNTS_NOTHING) for each in numbers if each not in answer.lost_citations
            ]
            if rows:
                found[pk] = rows
    keys = sorted(found)
    queries = {
        query.pk: query
        for part in chunks(keys)
        for query in Query.objects.select_related("domain").filter(pk__in=part)
    }
    return [LostCitation(queries[pk], *row) for pk in keys for row in found[pk]]


def _support(version: CorpusVersion) -> list[LostSupport]:
    found: list[LostSupport] = []
    for part in chunks(gold_in(version)[1]):
        related = Aspect.objects.select_related("query__domain")
        aspects = related.in_bulk([aspect for aspect, _ in part])
        passages = Passage.objects.defer("text").in_bulk([passage for _, passage in part])
        found += [LostSupport(aspects[aspect], passages[pk]) for aspect, pk in part]
    return found
