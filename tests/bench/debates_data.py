"""A run of 120,000 pairs for the benchmark of its screens: shaped like DREAM's Table 8."""

import json
import random
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from corpus.models import Benchmark, CorpusVersion, Domain, Membership, Passage, Pool, Query
from debate.dream import default_prompt
from debate.models import Debate, DebateFlag, DebateRun, Turn
from kit.database.bulk import analyze, copy_rows
from llm.ledger.accounts import open_account
from llm.models import Call

SLUG, ADMIN = "bench", "admin"
DOMAINS = ("msmarco", "nq", "lifestyle", "recreation", "science", "technology", "writing")
QUERIES, PASSAGES = 3_657, 60_000
_REQUEST = json.dumps({"messages": [{"role": "user", "content": "Read this. " * 100}]})


def fill(pairs: int) -> None:
    """A benchmark with one finished run over so many pairs."""
    admin, _ = User.objects.get_or_create(username=ADMIN)
    benchmark = Benchmark.objects.create(slug=SLUG, name="Bench")
    Membership.objects.create(user=admin, benchmark=benchmark, roles=["admin", "reviewer"])
    queries, passages = _add_texts(benchmark)
    pool = Pool.objects.create(benchmark=benchmark, name="pairs")
    run = DebateRun.objects.create(
        benchmark=benchmark,
        pool=pool,
        name="the run",
        endpoint="practice",
        model="m-1",
        prompt_sha256=default_prompt().sha256,
        is_trial=True,
        status="done",
        total=pairs,
        done=pairs,
        started_at=timezone.now(),
        ended_at=timezone.now(),
    )
    _add_debates(run, queries, passages, pairs)
    _add_turns(run, random.Random(5))
    analyze(Query, Passage, Debate, Turn, DebateFlag, Call)


def _add_texts(benchmark: Benchmark) -> tuple[list[int], list[int]]:
    version = CorpusVersion.objects.create(benchmark=benchmark, name="as loaded", state="ready")
    version.layers = [version.pk]
    version.save()
    domains = [
        Domain.objects.create(benchmark=benchmark, name=name, is_ready=True) for name in DOMAINS
    ]
    Query.objects.bulk_create(
        (
            Query(
                domain=domains[n % 7],
                qid=f"q-{n}",
                text=f"Why do {'moths' if n % 3 else 'sequoia seedlings'} circle lamp number {n}?",
                answers=["They tilt."],
            )
            for n in range(QUERIES)
        ),
        batch_size=2_000,
    )
    Passage.objects.bulk_create(
        (
            Passage(
                version=version, domain=domains[n % 7], pid=f"page-{n}_0.txt", text="Text. " * 80
            )
            for n in range(PASSAGES)
        ),
        batch_size=2_000,
    )
    return _keys(Query), _keys(Passage)


def _keys(kind: Any) -> list[int]:
    return list(kind.objects.order_by("pk").values_list("pk", flat=True))


def _add_debates(run: DebateRun, queries: list[int], passages: list[int], pairs: int) -> None:
    now = timezone.now() if connection.vendor == "postgresql" else str(timezone.now())[:26]
    columns = ("run_id", "query_id", "passage_id", "status", "round", "label", "error", "ended_at")

    def rows() -> Iterator[tuple[Any, ...]]:
        for n in range(pairs):
            query = queries[n % len(queries)]
            passage = passages[(n * 7 + n // len(queries)) % len(passages)]
            yield (run.pk, query, passage, *_outcome(n), now)

    copy_rows(Debate, columns, rows())


def _outcome(n: int) -> tuple[str, int | None, int | None, str]:
    if n % 29 == 0:
        return "escalated", None, None, ""
    if n % 4_001 == 0:
        return "failed", None, None, "The endpoint “default” answered HTTP 500."
    if n % 997 == 0:
        return "unreadable", None, None, "No object with the key response."
    return "agreed", 2 if n % 13 == 0 else 1, 1 if n % 4 == 0 else 0, ""


def _add_turns(run: DebateRun, chance: random.Random) -> None:
    """Two turns a round with a call each, and what is flagged in them."""
    moment = timezone.now() if connection.vendor == "postgresql" else str(timezone.now())[:26]
    said, account = list(_said(run, chance)), open_account(run)
    calls = (
        (
            *(f"{n:064x}", 1, "debate_turn", "m-1", "practice", False, f"debate:{debate}", ""),
            *("answered", _REQUEST, "{}", "", 900, 0, 120, 0, 4.2, "", moment, account.pk),
        )
        for n, (debate, *_) in enumerate(said)
    )
    names = ("key", "attempt", "role", "model", "endpoint", "practice", "subject", "owner")
    names += ("status", "request", "text", "finish_reason", "input_tokens", "cached_tokens")
    names += ("output_tokens", "reasoning_tokens", "elapsed_s", "error", "created_at")
    names += ("account_id",)
    copy_rows(Call, names, calls)
    first = Call.objects.order_by("pk").values_list("pk", flat=True)[0]
    turns = (
        (
            *(debate, number, agent, "relevant" if agent == "A" else "irrelevant", "yes", 1),
            *("So it reads.", "[]", json.dumps(flags), 2, "f" * 64, first + n),
        )
        for n, (debate, number, agent, flags) in enumerate(said)
    )
    columns = ("debate_id", "round", "agent", "stance", "response", "label", "reason")
    columns += ("references", "flags", "rung", "prompt_sha256", "call_id")
    copy_rows(Turn, columns, turns)
    flagged = sorted({(debate, flag) for debate, _, _, flags in said for flag in flags})
    copy_rows(DebateFlag, ("run_id", "debate_id", "flag"), ((run.pk, *each) for each in flagged))


def _said(run: DebateRun, chance: random.Random) -> Iterator[tuple[int, int, str, list[str]]]:
    rows = run.debates.order_by("pk").values_list("pk", "round", "status")
    for debate, last, status in rows.iterator(chunk_size=5_000):
        for number in range(1, (last or (2 if status == "escalated" else 1)) + 1):
            for agent in "AB":
                flags = [] if chance.random() > 0.1 else ["long_reason"]
                flags += ["no_reason"] if debate % 20_011 == 0 else []
                yield debate, number, agent, flags
