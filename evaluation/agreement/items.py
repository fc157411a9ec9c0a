"""From a number of the agreement page to the items behind it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.urls import reverse

from annotate.agreement.ratings import Rating
from annotate.agreement.slices import Dimension, grouped
from annotate.models import EscalationCase, ReviewPoint, WeightScore
from corpus.models import Benchmark
from evaluation.agreement.services import ANSWERED, SAMPLE, VERDICTS, VOTES, WEIGHTS, Reading
from kit.numbers import is_number

SHOWS = {
    "all": "Every item with a label",
    "shared": "Items with two labels or more",
    "counted": "Items with the commonest number of labels, which Fleiss’ κ takes",
    "split": "Items whose labels differ",
    "against": "Items on which this person stood alone",
    "clear": "Items on which the others have a majority",
    "others": "Items on which the majority of the others says “{label}”",
    "met": "Items on which “{label}” met “{other}”",
}
# Which labels a show asks for.
ASKED = {"others": ("label",), "met": ("label", "other")}
DIMENSIONS: tuple[Dimension, ...] = ("domain", "month", "guideline", "person")


def wanted_items(reading: Reading, params: Mapping[str, str]) -> tuple[list[int], str]:
    """The items that the parameters of a link ask for, and in words what they have in common; what
    is unknown is left out.

    `show` is all, shared, counted, split, against, clear, others or met; `by` and `key` choose a
    slice, `person` one rater, `first` and `second` two; `label` and `other` are labels: of others
    as they are, of met by their place on the scale.
    """
    ratings, words = _chosen(reading, params)
    show = params.get("show", "all")
    show = show if show in SHOWS else "all"
    labels: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for each in ratings:
        labels[each.item][str(each.rater)] = each.label
    person = _name(reading, params.get("person", ""))
    asked = _labels(reading, params, show)
    if asked is None:
        show, asked = "all", ()
    if show == "counted":
        # The commonest number of labels, of items with two or more; the larger one in a tie.
        sizes = Counter(len(given) for given in labels.values() if len(given) > 1)
        asked = (max(sizes, key=lambda size: (sizes[size], size), default=0),)
    items = [item for item, given in labels.items() if _fits(given, show, person, asked)]
    asked = asked if show in ASKED else ()
    names = dict(zip(("label", "other"), map(reading.label_names.get, asked), strict=False))
    return sorted(items), ", ".join(filter(None, [SHOWS[show].format(**names), words]))


def _labels(reading: Reading, params: Mapping[str, str], show: str) -> tuple[int, ...] | None:
    """The labels that others and met ask for; None where they are none."""
    given = [params.get(name, "") for name in ASKED.get(show, ())]
    scale = list(reading.label_names)
    numbers = [int(each) for each in given if is_number(each)]
    if len(numbers) < len(given):
        return None
    if show == "met":
        return tuple(scale[n] for n in numbers) if max(numbers) < len(scale) else None
    return tuple(numbers) if set(numbers) <= set(scale) else None


def _chosen(reading: Reading, params: Mapping[str, str]) -> tuple[Sequence[Rating], str]:
    by, key = params.get("by", ""), params.get("key", "")
    for dimension in DIMENSIONS:
        if by == dimension:
            words = reading.scorers.get(key) or f"{by} {key}"
            return grouped(reading.ratings, dimension).get(key, []), words
    pair = [_name(reading, params.get(name, "")) for name in ("first", "second")]
    if all(pair):
        return [each for each in reading.ratings if each.rater in pair], " and ".join(pair)
    person = _name(reading, params.get("person", ""))
    if person:
        items = {each.item for each in reading.ratings if each.rater == person}
        return [each for each in reading.ratings if each.item in items], person
    return reading.ratings, ""


def _name(reading: Reading, key: str) -> str:
    return reading.names.get(int(key), "") if is_number(key) else ""


def _fits(given: Mapping[str, int], show: str, person: str, asked: Sequence[int]) -> bool:
    if show == "counted":
        return len(given) == asked[0]
    if show == "clear":
        return person in given and _majority_of_others(given, person) is not None
    if show == "others":
        return person in given and _majority_of_others(given, person) == asked[0]
    if show == "met":
        found = list(given.values())
        return all(found.count(each) >= asked.count(each) for each in asked)
    if show == "shared":
        return len(given) > 1
    if show == "split":
        return len(set(given.values())) > 1
    if show == "against":
        # Whether the others have a majority, and it is another label than the person's.
        majority = _majority_of_others(given, person)
        return person in given and majority is not None and majority != given[person]
    return True


def _majority_of_others(given: Mapping[str, int], person: str) -> int | None:
    """The label that most others gave; None without others and where they tie."""
    others = [label for name, label in given.items() if name != person]
    counts = {label: others.count(label) for label in others}
    top = [label for label, n in counts.items() if n == max(counts.values())]
    return top[0] if len(top) == 1 else None


def read_items(benchmark: Benchmark, reading: Reading, keys: Iterable[int]) -> list[dict[str, Any]]:
    """These items in their order: number, name, address, what it is about, labels that count."""
    ordered = list(keys)
    given: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    keep = set(ordered)
    for each in reading.ratings:
        if each.item in keep:
            given[each.item].append((str(each.rater), reading.label_names[each.label]))
    about = _ABOUT[reading.key](benchmark, ordered)
    return [
        {
            **dict(zip(("name", "url", "about"), about[key], strict=True)),
            "item": key,
            "labels": [{"rater": rater, "given": label} for rater, label in sorted(given[key])],
        }
        for key in ordered
        if key in about
    ]


def item_links(benchmark: Benchmark, reading: Reading) -> Callable[[int], tuple[str, str]]:
    """What gives name and address of one item by its key, all looked up at once."""
    if reading.key == VOTES:
        keys = {each.item for each in reading.ratings}
        rows = EscalationCase.objects.in_benchmark(benchmark).only("public_id").in_bulk(keys)
        return lambda key: _named(benchmark, rows[key])
    return lambda key: (f"{reading.item.capitalize()} {key}", "")


def _named(benchmark: Benchmark, case: EscalationCase) -> tuple[str, str]:
    return f"Case {case.name}", reverse("dispute", args=[benchmark.slug, case.public_id])


def _cases(benchmark: Benchmark, keys: list[int]) -> dict[int, tuple[str, str, str]]:
    rows = EscalationCase.objects.in_benchmark(benchmark).filter(pk__in=keys)
    return {
        row.pk: (*_named(benchmark, row), f"{row.query}: {row.passage.pid}")
        for row in rows.select_related("query__domain", "passage").defer(
            "snapshot", "passage__text"
        )
    }


def _scores(benchmark: Benchmark, keys: list[int]) -> dict[int, tuple[str, str, str]]:
    rows = WeightScore.objects.filter(pk__in=keys, aspect__query__domain__benchmark=benchmark)
    return {
        row.pk: (
            row.aspect.aspect_id,
            reverse("query", args=[benchmark.slug, row.aspect.query_id]),
            row.aspect.content[:120],
        )
        for row in rows.select_related("aspect__query__domain")
    }


def _points(benchmark: Benchmark, keys: list[int]) -> dict[int, tuple[str, str, str]]:
    rows = ReviewPoint.objects.filter(pk__in=keys, review__query__domain__benchmark=benchmark)
    return {
        row.pk: (
            row.passage.pid if row.passage else f"point {row.pk}",
            reverse("review", args=[benchmark.slug, row.review_id]),
            str(row.review.query),
        )
        for row in rows.select_related("review__query__domain", "passage")
    }


_ABOUT = {
    VOTES: _cases,
    WEIGHTS: _scores,
    SAMPLE: _scores,
    VERDICTS: _points,
    ANSWERED: _points,
}
