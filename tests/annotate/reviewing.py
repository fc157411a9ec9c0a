"""A query whose work is complete, and the people who review it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from annotate.models import Aspect, GoldPassage, Review
from annotate.review import points
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage
from corpus.models import Benchmark, Passage, Query
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query

KEYS = ("comprehensive", "balanced", "sound", "granularity")
GOOD = {"explicit": True, "credible": True, "relevant": True}


@dataclass
class Desk:
    """`query` has two aspects (weights 5 and 2) with a passage each, written by `author`."""

    benchmark: Benchmark
    author: User
    reviewer: User
    third: User
    admin: User
    outsider: User  # reviewer of another domain
    query: Query
    aspects: list[Aspect]
    passages: list[Passage]

    def url(self, path: str) -> str:
        """Path under the benchmark."""
        return f"/b/{self.benchmark.slug}/{path}"

    @property
    def weights(self) -> dict[int, int]:
        """What a blind scorer gives: 4 and 2."""
        return {self.aspects[0].pk: 4, self.aspects[1].pk: 2}


def complete(
    query: Query, author: User, weights: tuple[int, int] = (5, 2)
) -> tuple[list[Aspect], list[Passage]]:
    """Two aspects by the author, with a passage each, of which the first is old gold."""
    passages = [make_passage(query.domain.benchmark, f"page/{n}", "biology") for n in (1, 2)]
    make_gold(query, passages[0])
    aspects = [
        add_aspect(query=query, actor=author, content=f"Point {n}.", weight=weight)
        for n, weight in enumerate(weights, 1)
    ]
    for aspect, passage in zip(aspects, passages, strict=True):
        assign_passage(query=query, passage=passage, aspect=aspect, actor=author)
    return aspects, passages


def make_desk(slug: str = "garden", weights: tuple[int, int] = (5, 2)) -> Desk:
    """A benchmark with one query that is ready for its second review."""
    benchmark = make_benchmark(slug, domains=("biology", "weather"))
    author = make_member(benchmark, "author", "annotator")
    query = make_query(benchmark, "7", "biology")
    aspects, passages = complete(query, author, weights)
    return Desk(
        benchmark=benchmark,
        author=author,
        reviewer=make_member(benchmark, "reviewer", "reviewer"),
        third=make_member(benchmark, "third", "reviewer"),
        admin=make_member(benchmark, "admin", "admin"),
        outsider=make_member(benchmark, "outsider", "reviewer", domains=("weather",)),
        query=query,
        aspects=aspects,
        passages=passages,
    )


def look_at_all(review: Review, *, but: Collection[Any] = ()) -> None:
    """The reviewer finds everything fine, but what is named: keys, aspects' numbers, passages."""
    by: dict[str, Any] = {"review": review, "actor": review.reviewer}
    for key in KEYS:
        if key not in but:
            points.check_aspects(**by, key=key, fine=True)
    for aspect in Aspect.objects.filter(query=review.query).present():
        if aspect.pk not in but:
            points.check_weight(**by, aspect=aspect, weight=aspect.weight)
    for gold in GoldPassage.objects.standing().filter(query=review.query):
        if gold.passage not in but:
            points.check_passage(**by, passage=gold.passage, checks=GOOD)
