"""What is wrong with the content of a release, and the checks of its records."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from annotate.answers.citing import foreign_citations
from evaluation.exporters.names import aspect_id, fits_trec
from evaluation.exporters.records import AspectRecord, Label, QueryRecord

Place = dict[str, Any]
# Places named per fault; the count is always whole.
MAX_PLACES = 20
# So many of them on the card.
MAX_NAMED = 5
# Every check in the order in which faults are shown: in words for `one` and for `many`, the `page`
# where it is fixed with the words of the link, and whether it `blocks`: a final release is refused
# while it has such a fault, the others are listed on its card.
CHECKS: dict[str, dict[str, Any]] = {
    row["check"]: row
    for row in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
}
BLOCKING = {check for check, row in CHECKS.items() if row["blocks"]}


@dataclass(frozen=True)
class Fault:
    """One kind of fault: how often, in words, and the first places where it is.

    A place has `split` and, where they apply, `query`, `passage` and `aspect` as published ids,
    with `query_pk`, `passage_pk` and `case_pk` for links; or a `name` alone.
    """

    check: str
    count: int
    rows: tuple[Place, ...]

    @property
    def message(self) -> str:
        """The fault as a sentence."""
        words = CHECKS[self.check]["one" if self.count == 1 else "many"]
        return str(words).format(count=f"{self.count:,}")

    def as_json(self) -> dict[str, Any]:
        """How releases keep it."""
        return {
            "check": self.check,
            "message": self.message,
            "count": self.count,
            "rows": list(self.rows),
        }


def find_faults(split: str, queries: Sequence[QueryRecord]) -> list[Fault]:
    """Every fault of one split that its records show by themselves, in the order of CHECKS."""
    labels = [(query, label) for query in queries for label in query.labels]
    aspects = [(query, aspect) for query in queries for aspect in query.aspects]
    own = [each for each in aspects if not each[0].has_equal_subtopics]
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
        "excluded_gold": at_passages(lambda q: sorted(gold[q.pk].intersection(q.excluded))),
        "foreign_citations": at_passages(partial(_foreign_citations, known=_known(queries))),
        "uncarried_citations": at_passages(lambda q: q.lost_citations),
        "aspects_without_passages": [
            at_aspect(q, each) for q, each in aspects if not each.supporting
        ],
        "empty_aspects": [at_aspect(q, a) for q, a in own if not a.content.strip()],
        "unweighed_aspects": [at_aspect(q, a) for q, a in own if not a.weighed],
        "equal_subtopics": [at_aspect(q, a) for q, a in aspects if q.has_equal_subtopics],
        "several_subtopics": at_passages(
            lambda q: sorted({pid for aspect in q.aspects for pid in aspect.listed})
        ),
        "mixed_scales": [at(q) for q in queries if len({each.scale for each in q.aspects}) > 1],
        "queries_without_gold": [at(query) for query in queries if not query.gold_ids],
        "white_space_in_ids": [
            *(at(query) for query in queries if not fits_trec(query.qid)),
            *_once(at_label(*each) for each in labels if not fits_trec(each[1].passage)),
        ],
    }
    return [
        Fault(check, len(places[check]), tuple(places[check][:MAX_PLACES]))
        for check in CHECKS
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
    return [pid for pid in cited if pid not in query.lost_citations]


def merged(faults: Iterable[Fault]) -> list[Fault]:
    """Faults of all splits, one per check, in the order of CHECKS."""
    by_check: dict[str, Fault] = {}
    for each in faults:
        before = by_check.get(each.check, Fault(each.check, 0, ()))
        rows = (before.rows + each.rows)[:MAX_PLACES]
        by_check[each.check] = Fault(each.check, before.count + each.count, rows)
    return [by_check[check] for check in CHECKS if check in by_check]


def named(fault: Fault) -> str:
    """The first places of a fault in a bracket, and how many more there are."""
    names = [place_name(row) for row in fault.rows[:MAX_NAMED]]
    rest = fault.count - len(names)
    more = [f"and {rest:,} more"] if rest and names else []
    return f"({', '.join(names + more)})" if names else ""


def place_name(place: Place) -> str:
    """The published ids of one place, the finest one and its query; or its `name` instead."""
    if "name" in place:
        return code(str(place["name"]))
    query = f"{place['split']}-{place['query']}" if "query" in place else place["split"]
    finest = place.get("aspect") or place.get("passage")
    if "aspect" in place:
        return code(str(finest))
    return f"{code(query)}: {code(str(finest))}" if finest is not None else code(query)


def code(text: str) -> str:
    """The text as inline code on one line."""
    return f"`{json.dumps(text, ensure_ascii=False)[1:-1].replace('`', ' ')}`"
