"""Cranfield through a whole chain, with people who are played: for a test, and for the bench."""

import json
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command

from annotate.assignments.services import submit_query
from annotate.models import Aspect, EscalationCase, GoldPassage, VotingPlan
from annotate.review.services import (
    accept_review,
    score_weights,
    start_review,
    waiting_for_review,
)
from annotate.voting.services import cast_vote
from annotate.workspace.aspects import add_aspect
from annotate.workspace.checklist import undecided_originals
from annotate.workspace.gold import assign_passage
from corpus.access import enter
from corpus.benchmarks.services import add_person
from corpus.models import Benchmark, Judgment, Passage, Query, Role
from kit.errors import Refused
from tests.annotate.reviewing import look_at_all

SLUG = "cranfield"
VOTERS, EXPERT, REVIEWER = ("voter-1", "voter-2", "voter-3"), "expert", "reviewer"
# Of one system: words by their weights, words alone, factors, vectors, and pairs of these.
SYSTEMS: tuple[dict[str, Any], ...] = (
    {"name": "BM25", "method": "bm25"},
    {"name": "TF-IDF", "method": "tfidf"},
    {"name": "LSA 100", "method": "lsa", "dimensions": 100},
    {"name": "Vectors", "method": "embeddings"},
    {"name": "BM25 + LSA", "method": "hybrid", "runs": ["BM25", "LSA 100"]},
    *({"name": f"BM25, b {b}", "method": "bm25", "b": b} for b in (0.0, 0.2, 0.4, 0.6, 1.0)),
    *({"name": f"BM25, k1 {k}", "method": "bm25", "k1": k} for k in (0.2, 0.6, 2.5)),
    *({"name": f"LSA {n}", "method": "lsa", "dimensions": n} for n in (20, 50, 200)),
    {"name": "Vectors 64", "method": "embeddings", "dimensions": 64},
    {"name": "BM25 + TF-IDF", "method": "hybrid", "runs": ["BM25", "TF-IDF"]},
    {"name": "LSA + vectors", "method": "hybrid", "runs": ["LSA 100", "Vectors"]},
    {"name": "BM25 + vectors", "method": "hybrid", "runs": ["BM25", "Vectors"]},
)
SEARCHED = ["BM25", "LSA 100"]


def plan(*, systems: int, depth: int) -> str:
    """Every step over so many systems: hybrids come after the runs that they are made of."""
    asked = SYSTEMS[:systems]
    alone = [each for each in asked if each["method"] != "hybrid"]
    pairs = [each for each in asked if each["method"] == "hybrid"]
    steps: list[dict[str, Any]] = [
        {"do": "clean"},
        {"do": "systems", "systems": alone},
        {"do": "systems", "systems": pairs},
        {"do": "pool", "depth": depth},
        {"do": "filter"},
        {"do": "debate"},
        {"do": "people"},
        {"do": "pool", "aspects": True, "depth": 1, "runs": SEARCHED},
        {"do": "holes", "next": 50},
        {"do": "debate"},
        {"do": "people"},
        {"do": "aspects"},
        {"do": "review"},
        {"do": "agents", "rounds": 2, "runs": SEARCHED},
        {"do": "judge"},
        {"do": "answers", "k": 5},
        {"do": "grade"},
        {"do": "release", "version": "0.1.0"},
    ]
    return "\n".join(_toml(each) for each in steps)


def _toml(step: dict[str, Any]) -> str:
    return "\n".join(["[[step]]", *(f"{name} = {_value(value)}" for name, value in step.items())])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_value(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def load(source: Path, folder: Path, *, queries: int) -> Benchmark:
    """Cranfield with its first so many queries, a short answer and two aspects of each, and people.

    Answers are the longest words of the query, which the practice model looks for: three, or the
    next one. A half of the query is an aspect, which one of the relevant documents supports.
    """
    kept = folder / "cranfield"
    kept.mkdir()
    for name in ("cran.all.1400", "cran.qry", "cranqrel"):
        text = (source / name).read_text(encoding="utf-8", errors="replace")
        if name == "cran.qry":
            text = ".I ".join(text.split(".I ")[: queries + 1])
        if name == "cranqrel":
            lines = [line for line in text.splitlines() if int(line.split()[0]) <= queries]
            text = "\n".join(lines) + "\n"
        (kept / name).write_text(text, encoding="utf-8")
    call_command(
        "load_benchmark",
        str(kept),
        format="cranfield",
        benchmark=SLUG,
        name="Cranfield",
        stdout=StringIO(),
    )
    benchmark = Benchmark.objects.get(slug=SLUG)
    for name in (*VOTERS, EXPERT):
        add_person(benchmark=benchmark, username=name, roles=[Role.ANNOTATOR], actor=None)
    add_person(benchmark=benchmark, username=REVIEWER, roles=[Role.REVIEWER], actor=None)
    answers = folder / "answers.jsonl"
    best = list(_best(benchmark))
    rows = [json.dumps({"id": query.qid, "answers": _answers(query.text)}) for query, _ in best]
    answers.write_text("\n".join(rows), encoding="utf-8")
    call_command("load_answers", str(answers), benchmark=SLUG, stdout=StringIO())
    _write_aspects(best)
    return benchmark


def _answers(text: str) -> list[str]:
    words = sorted(dict.fromkeys(text.split()), key=len, reverse=True)
    return [" ".join(words[:3]), words[min(3, len(words) - 1)]]


def _best(benchmark: Benchmark) -> Iterator[tuple[Query, list[Passage]]]:
    """Each query with its relevant passages, the best first."""
    gold = Judgment.objects.original().filter(query__domain__benchmark=benchmark, label__gt=0)
    gold = gold.exclude(passage__text=None).exclude(passage__text="")
    rows = gold.select_related("query", "passage").order_by("query__qid", "-label", "pk")
    for query, own in groupby(rows, key=lambda each: each.query):
        yield query, [each.passage for each in own]


def _write_aspects(best: list[tuple[Query, list[Passage]]]) -> None:
    expert = User.objects.get(username=EXPERT)
    for query, passages in best:
        words = query.text.split()
        half = len(words) // 2
        for part, passage in zip((words[:half], words[half:]), passages, strict=False):
            aspect = add_aspect(query=query, actor=expert, content=" ".join(part), weight=3)
            assign_passage(query=query, passage=passage, aspect=aspect, actor=expert)


def vote_on_all(benchmark: Benchmark, voters: tuple[str, ...] = VOTERS) -> int:
    """Everybody says of every open case that the passage helps where its length is even."""
    voting, cast = VotingPlan.objects.current(benchmark), 0
    cases = EscalationCase.objects.filter(query__domain__benchmark=benchmark, status="open")
    for case in cases.select_related("query__domain__benchmark", "passage"):
        for name in voters:
            access = enter(User.objects.get(username=name), benchmark.slug)
            # Of what others have voted on, or hold, as in the demo, fewer votes are missing.
            with suppress(Refused):
                cast_vote(
                    case=case,
                    voter=access.user,
                    label=1 - len(case.passage.text) % 2,
                    access=access,
                    plan=voting,
                )
                cast += 1
    return cast


def submit_all(benchmark: Benchmark) -> int:
    """The expert ties what is undecided to the aspects in turn, and submits every query."""
    expert = User.objects.get(username=EXPERT)
    asked = Query.objects.in_benchmark(benchmark).filter(assignments=None)
    for query in asked:
        aspects = list(Aspect.objects.filter(query=query).present())
        open_gold = [
            undecided_originals().filter(query=query),
            GoldPassage.objects.asking().filter(query=query),
            GoldPassage.objects.unlisted().filter(query=query),
        ]
        passages = [each.passage for rows in open_gold for each in rows]
        for passage, aspect in zip(passages, cycle(aspects), strict=False):
            assign_passage(query=query, passage=passage, aspect=aspect, actor=expert)
        submit_query(query=query, actor=expert)
    return len(asked)


def review_all(benchmark: Benchmark) -> int:
    """The reviewer scores every query's weights blind, finds the rest fine, and accepts."""
    access = enter(User.objects.get(username=REVIEWER), benchmark.slug)
    waiting = list(waiting_for_review(access))
    for query in waiting:
        review = start_review(query=query, reviewer=access.user)
        weights = {each.pk: 2 for each in Aspect.objects.filter(query=query).present()}
        review = score_weights(review=review, actor=access.user, weights=weights)
        look_at_all(review)
        accept_review(review=review, actor=access.user)
    return len(waiting)


# What people do, by what a chain says that it waits for.
PLAYED = {"disputed": vote_on_all, "submitted": submit_all, "accepted": review_all}


def drive(benchmark: Benchmark, told: Path) -> dict[str, Any]:
    """The chain from its plan to its end: people do whatever it waits for."""
    found = _chain(benchmark.slug, str(told))
    while any(act(benchmark) for word, act in PLAYED.items() if word in found["waits_for"]):
        found = _chain(benchmark.slug, "--resume")
    return found


def _chain(*args: str) -> dict[str, Any]:
    out = StringIO()
    call_command("chain", *args, "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found
