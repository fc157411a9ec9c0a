"""What is wrong with the content of a release, and the checks of its records."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from annotate.answers.citing import foreign_citations
from evaluation.exporters.names import aspect_id, fits_trec
from evaluation.exporters.records import AspectRecord, Label, QueryRecord

Place = dict[str, Any]
# Places named per fault; the count is always whole.
MOST_PLACES = 20


@dataclass(frozen=True)
class Fault:
    """One kind of fault: how often, in words, and the first places where it is.

    A place has `split` and, where they apply, `query`, `passage` and `aspect` as published ids,
    with `query_pk`, `passage_pk` and `case_pk` for links.
    """

    check: str
    count: int
    rows: tuple[Place, ...]

    @property
    def message(self) -> str:
        """The fault as a sentence."""
        one, many = SENTENCES[self.check]
        return one if self.count == 1 else many.format(count=f"{self.count:,}")

    def as_json(self) -> dict[str, Any]:
        """How releases keep it."""
        return {
            "check": self.check,
            "message": self.message,
            "count": self.count,
            "rows": list(self.rows),
        }


# Every check in the order in which faults are shown: (one, many).
SENTENCES: dict[str, tuple[str, str]] = {
    "practice_labels": (
        "1 label comes from the practice model; it shows how the work goes and measures nothing.",
        "{count} labels come from the practice model; they show how the work goes and measure "
        "nothing.",
    ),
    "practice_answers": (
        "1 reference answer was written by the practice model; it answers nothing.",
        "{count} reference answers were written by the practice model; they answer nothing.",
    ),
    "open_cases": (
        "1 disputed pair still waits for votes; its label is not decided.",
        "{count} disputed pairs still wait for votes; their labels are not decided.",
    ),
    "expert_cases": (
        "1 disputed pair found no majority and waits for an expert; its label is not decided.",
        "{count} disputed pairs found no majority and wait for an expert; their labels are not "
        "decided.",
    ),
    "outside_corpus": (
        "1 relevant label belongs to a passage outside this corpus version and is left out.",
        "{count} relevant labels belong to passages outside this corpus version and are left out.",
    ),
    "uncarried_gold": (
        "1 relevant label holds for no passage of this corpus version: its text was not carried.",
        "{count} relevant labels hold for no passage of this corpus version: their text was not "
        "carried.",
    ),
    "uncarried_support": (
        "1 passage that supports an aspect has no place in this corpus version.",
        "{count} passages that support aspects have no place in this corpus version.",
    ),
    "practice_texts": (
        "The texts of this corpus version were cleaned by the practice model.",
        "The texts of this corpus version were cleaned by the practice model.",
    ),
    "gold_without_text": (
        "1 gold passage has no text: its id is in the gold, but not in documents.",
        "{count} gold passages have no text: their ids are in the gold, but not in documents.",
    ),
    "passages_without_text": (
        "1 passage has no text and is left out of documents.",
        "{count} passages have no text and are left out of documents.",
    ),
    "gold_without_aspect": (
        "1 relevant passage supports no aspect of its query, which has aspects; it is left out "
        "of gold_ids.",
        "{count} relevant passages support no aspect of their query, which has aspects; they are "
        "left out of gold_ids.",
    ),
    "support_not_relevant": (
        "1 passage supports an aspect although its label does not call it relevant.",
        "{count} passages support an aspect although their labels do not call them relevant.",
    ),
    "support_without_label": (
        "1 passage supports an aspect, but the current gold does not list it and nobody has "
        "judged it.",
        "{count} passages support an aspect, but the current gold does not list them and nobody "
        "has judged them.",
    ),
    "two_aspects": (
        "1 passage supports two aspects of its query; it may support one.",
        "{count} passages support two aspects of their query; each may support one.",
    ),
    "carried_two_aspects": (
        "1 passage holds the text of gold of two aspects of its query and supports both.",
        "{count} passages hold the text of gold of two aspects of their query and support both.",
    ),
    "foreign_citations": (
        "1 reference answer cites a passage that is not gold of its query.",
        "{count} reference answers cite passages that are not gold of their query.",
    ),
    "uncarried_citations": (
        "1 citation in reference answers names a passage whose text was not carried to this "
        "corpus version.",
        "{count} citations in reference answers name passages whose text was not carried to this "
        "corpus version.",
    ),
    "agreement_below_bar": (
        "The voters' agreement is below the bar that was set for this release, or cannot be "
        "measured.",
        "The voters' agreement is below the bar that was set for this release, or cannot be "
        "measured.",
    ),
    "aspects_without_passages": (
        "1 aspect has no supporting passage.",
        "{count} aspects have no supporting passage.",
    ),
    "empty_aspects": (
        "1 aspect has no words yet.",
        "{count} aspects have no words yet.",
    ),
    "unweighed_aspects": (
        "1 aspect has the weight it began with: nobody chose one.",
        "{count} aspects have the weight they began with: nobody chose one.",
    ),
    "mixed_scales": (
        "1 query weighs its aspects on two scales, so that its weights cannot be compared.",
        "{count} queries weigh their aspects on two scales, so that their weights cannot be "
        "compared.",
    ),
    "uncarried_labels": (
        "1 label of an irrelevant passage holds for none of this corpus version and is left out.",
        "{count} labels of irrelevant passages hold for none of this corpus version and are left "
        "out.",
    ),
    "outweighed_labels": (
        "1 pair has a label of its own and a carried one; the weightier stands.",
        "{count} pairs have a label of their own and a carried one; the weightier stands.",
    ),
    "given_elsewhere": (
        "1 label was given in a corpus version that this one was not made of, and stands there "
        "only.",
        "{count} labels were given in corpus versions that this one was not made of, and stand "
        "there only.",
    ),
    "queries_without_gold": (
        "1 query has no gold passage; measures skip it.",
        "{count} queries have no gold passage; measures skip them.",
    ),
    "white_space_in_ids": (
        "1 id holds white space and is left out of the TREC files.",
        "{count} ids hold white space and are left out of the TREC files.",
    ),
}

# Faults that a final release may have, listed on its card; while it has any other it is refused.
ALLOWED = frozenset(
    {
        "passages_without_text",
        "carried_two_aspects",
        "aspects_without_passages",
        "uncarried_labels",
        "outweighed_labels",
        "given_elsewhere",
        "queries_without_gold",
    }
)
BLOCKING = SENTENCES.keys() - ALLOWED


def find_faults(split: str, queries: Sequence[QueryRecord]) -> list[Fault]:
    """Every fault of one split that its records show by themselves, in the order of SENTENCES."""
    labels = [(query, label) for query in queries for label in query.labels]
    aspects = [(query, aspect) for query in queries for aspect in query.aspects]
    gold = {query.pk: {*query.gold_ids, *query.relevant} for query in queries}

    def at(query: QueryRecord, **more: Any) -> Place:
        return {"split": split, "query": query.qid, "query_pk": query.pk, **more}

    def at_label(query: QueryRecord, label: Label) -> Place:
        return at(query, passage=label.passage, passage_pk=label.passage_pk)

    def at_aspect(query: QueryRecord, aspect: AspectRecord) -> Place:
        return at(query, aspect=aspect_id(split, query.qid, aspect.k))

    def at_passages(find: Callable[[QueryRecord], Iterable[str]]) -> list[Place]:
        return [at(query, passage=pid) for query in queries for pid in find(query)]

    places: dict[str, list[Place]] = {
        "practice_labels": [at_label(*each) for each in labels if each[1].practice],
        "practice_answers": [at(query) for query in queries if query.practice_answer],
        # A passage counts once, however many queries it is gold for.
        "gold_without_text": _once(
            at_label(query, label)
            for query, label in labels
            if not label.loaded and label.passage in gold[query.pk]
        ),
        "gold_without_aspect": at_passages(lambda q: sorted(set(q.accepted) - set(q.gold_ids))),
        "support_not_relevant": at_passages(_refused_support),
        "support_without_label": at_passages(
            lambda q: sorted(set(q.supporting) - {each.passage for each in q.labels})
        ),
        "two_aspects": at_passages(_of_two_aspects),
        "foreign_citations": at_passages(partial(_foreign_citations, known=_known(queries))),
        "uncarried_citations": at_passages(lambda q: q.uncarried_citations),
        "aspects_without_passages": [
            at_aspect(q, each) for q, each in aspects if not each.passages
        ],
        "empty_aspects": [at_aspect(q, each) for q, each in aspects if not each.content.strip()],
        "unweighed_aspects": [at_aspect(q, each) for q, each in aspects if not each.weighed],
        "mixed_scales": [at(q) for q in queries if len({each.scale for each in q.aspects}) > 1],
        "queries_without_gold": [at(query) for query in queries if not query.gold_ids],
        "white_space_in_ids": [
            *(at(query) for query in queries if not fits_trec(query.qid)),
            *_once(at_label(*each) for each in labels if not fits_trec(each[1].passage)),
        ],
    }
    return [
        Fault(check, len(places[check]), tuple(places[check][:MOST_PLACES]))
        for check in SENTENCES
        if places.get(check)
    ]


def _once(places: Iterable[Place]) -> list[Place]:
    """The first place of each passage."""
    first: dict[str, Place] = {}
    for place in places:
        first.setdefault(place["passage"], place)
    return list(first.values())


def _refused_support(query: QueryRecord) -> list[str]:
    refused = {each.passage for each in query.labels if each.expert <= 0}
    return sorted(refused.intersection(query.supporting))


def _of_two_aspects(query: QueryRecord) -> list[str]:
    times = Counter(pid for aspect in query.aspects for pid in set(aspect.passages))
    return sorted(pid for pid, count in times.items() if count > 1)


def _known(queries: Sequence[QueryRecord]) -> set[str]:
    known = {label.passage for query in queries for label in query.labels}
    return known.union(*(query.supporting for query in queries))


def _foreign_citations(query: QueryRecord, known: set[str]) -> list[str]:
    if not query.reference_answer:
        return []
    cited = foreign_citations(query.reference_answer, query.gold_ids, known | query.cited)
    return [pid for pid in cited if pid not in query.uncarried_citations]


def merged(faults: Iterable[Fault]) -> list[Fault]:
    """Faults of all splits, one per check, in the order of SENTENCES."""
    by_check: dict[str, Fault] = {}
    for each in faults:
        before = by_check.get(each.check, Fault(each.check, 0, ()))
        rows = (before.rows + each.rows)[:MOST_PLACES]
        by_check[each.check] = Fault(each.check, before.count + each.count, rows)
    return [by_check[check] for check in SENTENCES if check in by_check]
