"""Which queries a model may write answers to, from what, and what that is likely to take."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, QuerySet

from annotate.answers.evidence import AnswerEvidence, materials
from annotate.models import Aspect, ReferenceAnswer
from corpus.models import Benchmark, Query
from debate.answering.asking import (
    AspectText,
    PassageText,
    Settings,
    Task,
    default_prompt,
    request,
)
from llm.endpoints import Endpoint, fence_key
from llm.prices import table
from llm.profiles import likely_input
from llm.requests import Usage

# Tokens of an answer of several paragraphs; and how often one is asked for twice, a guess.
_LIKELY_ANSWER: Final = 1_200
_AGAIN: Final = 1.2
_AT_ONCE: Final = 200
_MOST_NAMED: Final = 20


def candidates(benchmark: Benchmark, *, domain: str = "", again: bool = False) -> QuerySet[Query]:
    """Queries with aspects, of one domain or all; without `again`, those no model has answered."""
    written = Exists(Aspect.objects.filter(query=OuterRef("pk"), removed_at=None))
    found = Query.objects.in_benchmark(benchmark).filter(written, domain__is_ready=True)
    if domain:
        found = found.filter(domain__name=domain)
    if not again:
        answers = ReferenceAnswer.objects.standing().by_models().filter(query=OuterRef("pk"))
        found = found.exclude(Exists(answers))
    return found.select_related("domain__benchmark").order_by("pk")


def forecast(
    queries: QuerySet[Query], endpoint: Endpoint | None, *, with_weights: bool = True
) -> dict[str, Any]:
    """What a run is likely to take, from the prompts as they would be sent.

    Answers in the ledger already are not taken off; `usd` is None where the model has no known
    price. `unready` pairs queries that are left out with the reason, the first of `left_out`.
    """
    tokens, ready, left_out = 0, 0, 0
    unready: list[tuple[Query, str]] = []
    shape = Settings("", "", default_prompt(), with_weights=with_weights)
    for material in all_materials(queries):
        if material.unready:
            left_out += 1
            if len(unready) < _MOST_NAMED:
                unready.append((material.query, material.unready))
            continue
        ready += 1
        tokens += likely_input(request(task_of(material), shape, key=fence_key()))
    given, taken = round(_AGAIN * tokens), round(_AGAIN * ready * _LIKELY_ANSWER)
    price = None
    if endpoint is not None:
        today = datetime.now(UTC).date()
        price = table().find(endpoint, endpoint.default_model, on=today)
    usd = price.cost(Usage(input=given, output=taken)) if price else None
    return {
        "queries": ready,
        "calls": round(_AGAIN * ready),
        "input_tokens": given,
        "output_tokens": taken,
        "usd": usd,
        "left_out": left_out,
        "unready": unready,
    }


def task_of(material: AnswerEvidence) -> Task:
    """What a model is given: aspects, and the passages that have a text, in the order of ids."""
    supports = {each.pk: aspect.k for aspect, own in material.aspects for each in own}
    texts = [each for each in material.passages if each.text]
    return Task(
        query=material.query.text,
        aspects=tuple(
            AspectText(each.k, each.content, each.weight, material.top(each))
            for each, _ in material.aspects
        ),
        passages=tuple(
            PassageText(f"doc_{number}", each.pid, supports[each.pk], each.text or "")
            for number, each in enumerate(texts, start=1)
        ),
    )


def all_materials(queries: QuerySet[Query]) -> Iterator[AnswerEvidence]:
    """AnswerEvidence of many queries, some at a time."""
    keys: Sequence[int] = list(queries.values_list("pk", flat=True))
    for start in range(0, len(keys), _AT_ONCE):
        part = Query.objects.filter(pk__in=keys[start : start + _AT_ONCE]).order_by("pk")
        yield from materials(part.select_related("domain__benchmark")).values()
