"""From a number of the agreement page to the items behind it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from annotate.agreement.opinions import Opinion
from annotate.agreement.slices import Dimension, grouped
from annotate.models import EscalationCase, ReviewPoint, WeightScore
from corpus.models import Benchmark
from evaluation.services.agreement import SAMPLE, VERDICTS, VOTES, WEIGHTS, Reading

SHOWS = {
    "all": "Every item with a label",
    "shared": "Items with two labels or more",
    "split": "Items whose labels differ",
    "against": "Items on which this person stood alone",
}
DIMENSIONS: tuple[Dimension, ...] = ("domain", "month", "guideline", "person")


@dataclass(frozen=True)
class Item:
    """One item with who said what; `url` leads to its page."""

    key: int
    name: str
    url: str
    about: str
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Wanted:
    """Which items are asked for, and in words what they have in common."""

    items: list[int]
    words: str


def wanted_items(reading: Reading, params: Mapping[str, str]) -> Wanted:
    """The items that the parameters of a link ask for; what is unknown is left out.

    `show` is all, shared, split or against; `by` and `key` choose a slice, `person` one rater,
    `first` and `second` two.
    """
    opinions, words = _chosen(reading, params)
    show = params.get("show", "all")
    show = show if show in SHOWS else "all"
    labels: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for each in opinions:
        labels[each.item][str(each.rater)] = each.label
    person = _name(reading, params.get("person", ""))
    items = [item for item, given in labels.items() if _fits(given, show, person)]
    return Wanted(sorted(items), ", ".join(filter(None, [SHOWS[show], words])))


def _chosen(reading: Reading, params: Mapping[str, str]) -> tuple[Sequence[Opinion], str]:
    by, key = params.get("by", ""), params.get("key", "")
    for dimension in DIMENSIONS:
        if by == dimension:
            words = reading.scorers.get(key) or f"{by} {key}"
            return grouped(reading.opinions, dimension).get(key, []), words
    pair = [_name(reading, params.get(name, "")) for name in ("first", "second")]
    if all(pair):
        return [each for each in reading.opinions if each.rater in pair], " and ".join(pair)
    person = _name(reading, params.get("person", ""))
    if person:
        items = {each.item for each in reading.opinions if each.rater == person}
        return [each for each in reading.opinions if each.item in items], person
    return reading.opinions, ""


def _name(reading: Reading, key: str) -> str:
    known = key.isascii() and key.isdigit() and len(key) < 19
    return reading.names.get(int(key), "") if known else ""


def _fits(given: Mapping[str, int], show: str, person: str) -> bool:
    if show == "shared":
        return len(given) > 1
    if show == "split":
        return len(set(given.values())) > 1
    if show == "against":
        return _stood_alone(given, person)
    return True


def _stood_alone(given: Mapping[str, int], person: str) -> bool:
    """Whether the others have a majority, and it is another label than the person's."""
    others = [label for name, label in given.items() if name != person]
    if person not in given or not others:
        return False
    counts = {label: others.count(label) for label in others}
    top = [label for label, n in counts.items() if n == max(counts.values())]
    return len(top) == 1 and top[0] != given[person]


def read_items(benchmark: Benchmark, reading: Reading, keys: Iterable[int]) -> list[Item]:
    """These items in their order, with the labels that count."""
    wanted = list(keys)
    given: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    keep = set(wanted)
    for each in reading.opinions:
        if each.item in keep:
            given[each.item].append((str(each.rater), reading.label_names[each.label]))
    about = _ABOUT[reading.key](benchmark, wanted)
    return [
        Item(key, *about[key], labels=tuple(sorted(given[key]))) for key in wanted if key in about
    ]


def item_link(benchmark: Benchmark, reading: Reading, key: int) -> tuple[str, str]:
    """Name and address of one item, without looking it up."""
    if reading.key == VOTES:
        return f"Case {key}", reverse("dispute", args=[benchmark.slug, key])
    return f"{reading.item.capitalize()} {key}", ""


def _cases(benchmark: Benchmark, keys: list[int]) -> dict[int, tuple[str, str, str]]:
    rows = EscalationCase.objects.in_benchmark(benchmark).filter(pk__in=keys)
    return {
        row.pk: (
            f"Case {row.pk}",
            reverse("dispute", args=[benchmark.slug, row.pk]),
            f"{row.query}: {row.passage.pid}",
        )
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


_ABOUT = {VOTES: _cases, WEIGHTS: _scores, SAMPLE: _scores, VERDICTS: _points}
