"""The bank of exam items: written by admins, read from CSV, or drawn from imported gold."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from annotate.exams.qualification import note, require_admin
from annotate.models import Basis, EscalationCase, ExamItem
from corpus.models import Benchmark, Domain, Judgment, Passage, Query
from kit.errors import Refused
from kit.stats.sampling import draw

LONGEST = 200_000
MOST_DRAWN = 500


def add_items(*, domain: Domain, actor: User, items: Iterable[ExamItem]) -> list[ExamItem]:
    """Add items that an admin wrote, as yet without domain and author; all of them or none.

    Raises Refused for an empty text or a label that is neither 0 nor 1.
    """
    require_admin(domain.benchmark, actor)
    rows = list(items)
    if not rows:
        raise Refused("There is no item to add.")
    for each in rows:
        if not each.question.strip() or not each.passage.strip():
            raise Refused("Question and passage may not be empty.", field="question")
        if each.label not in (0, 1):
            raise Refused("Choose the right answer.", field="label")
        if len(each.passage) > LONGEST or len(each.question) > LONGEST:
            raise Refused(f"A text may have {LONGEST:,} characters.", field="passage")
        each.domain, each.created_by = domain, actor
    with transaction.atomic():
        added = ExamItem.objects.bulk_create(rows)
        items_added = [each.pk for each in added]
        note(domain.benchmark, actor, "add exam items", domain, items=items_added)
    return added


def draw_items(
    *, domain: Domain, actor: User, count: int, seed: int = 1, practice: bool = False
) -> list[ExamItem]:
    """Draw items from the benchmark: half original gold, half gold of another query.

    A passage that is gold for another query of the domain and was never judged for this one is
    taken to be not relevant: look at such items before you ask for the exam. Positions of agents,
    where a disputed case of yet another query offers them, go along as unrelated arguments.
    Raises Refused where nothing can be drawn.
    """
    require_admin(domain.benchmark, actor)
    if not 1 <= count <= MOST_DRAWN:
        raise Refused(f"Draw 1 to {MOST_DRAWN} items.", field="count")
    gold = Judgment.objects.original().filter(query__domain=domain, label__gt=0)
    gold = gold.exclude(query__text="").exclude(passage__text=None).exclude(passage__text="")
    pairs = list(gold.order_by("query", "passage").values_list("query", "passage"))
    with transaction.atomic():
        taken = set(ExamItem.objects.usable(domain).values_list("source_query", "source_passage"))
        strata = {
            1: [pair for pair in pairs if pair not in taken],
            0: [pair for pair in _foreign_pairs(domain, pairs) if pair not in taken],
        }
        # Half of either kind, whatever their numbers: each is drawn for itself.
        sizes = {1: (count + 1) // 2, 0: count // 2}
        chosen = [
            (pair, label)
            for label, found in strata.items()
            for pair in draw({label: found}, sizes[label], seed)
        ]
        if not chosen:
            raise Refused(f"{domain.name} has no gold with its text that is not in the bank yet.")
        arguments = _arguments(domain)
        queries = Query.objects.in_bulk([query for (query, _), _ in chosen])
        passages = Passage.objects.in_bulk([passage for (_, passage), _ in chosen])
        rows = []
        for place, ((query, passage), label) in enumerate(chosen):
            unrelated = [positions for other, positions in arguments if other != query]
            rows.append(
                ExamItem(
                    domain=domain,
                    question=queries[query].text,
                    answers=queries[query].answers,
                    passage=passages[passage].text or "",
                    positions=unrelated[place % len(unrelated)] if unrelated else [],
                    label=label,
                    basis=Basis.GOLD if label else Basis.UNRELATED,
                    is_practice=practice,
                    source_query_id=query,
                    source_passage_id=passage,
                    created_by=actor,
                )
            )
        try:
            with transaction.atomic():
                added = ExamItem.objects.bulk_create(rows)
        except IntegrityError:
            raise Refused("Somebody drew items at the same moment. Draw again.") from None
        items = [each.pk for each in added]
        note(domain.benchmark, actor, "draw exam items", domain, seed=seed, items=items)
    return added


def retire_item(*, item: ExamItem, actor: User) -> None:
    """Draw this item no more; attempts that met it stay as they are."""
    require_admin(item.domain.benchmark, actor)
    with transaction.atomic():
        rows = ExamItem.objects.filter(pk=item.pk, retired_at=None)
        if not rows.update(retired_at=timezone.now()):
            raise Refused("This item was retired already.")
        note(item.domain.benchmark, actor, "retire exam item", item)


def bank(benchmark: Benchmark) -> QuerySet[ExamItem]:
    """Every item with how often it was answered, and how often rightly, in exams."""
    exams = Q(given__attempt__is_practice=False)
    return (
        ExamItem.objects.filter(domain__benchmark=benchmark)
        .select_related("domain")
        .annotate(
            answered=Count("given", filter=exams),
            right=Count("given", filter=exams & Q(given__label=F("label"))),
        )
    )


def read_lines(rows: Iterator[dict[str, str]]) -> Iterator[ExamItem]:
    """Items out of rows of a CSV with question, answers, passage, label (explanation, practice).

    `answers` is a JSON list, or one answer as it stands. Raises Refused naming line and field.
    """
    for line, row in enumerate(rows, start=2):
        label = row.get("label", "").strip()
        if label not in ("0", "1"):
            raise Refused(f"Line {line}, label: write 1 (relevant) or 0.", field="file")
        for name in ("question", "passage"):
            if not row.get(name, "").strip():
                raise Refused(f"Line {line}, {name}: this field is empty.", field="file")
        yield ExamItem(
            question=row["question"],
            answers=_answers(row.get("answers", ""), line),
            passage=row["passage"],
            label=int(label),
            explanation=row.get("explanation", ""),
            is_practice=row.get("practice", "").strip() == "1",
        )


def _answers(text: str, line: int) -> list[str]:
    if not text.strip().startswith("["):
        return [text] if text.strip() else []
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(f"Line {line}, answers: this is no JSON list.", field="file") from None
    if not all(isinstance(each, str) for each in found):
        raise Refused(f"Line {line}, answers: every answer is a text.", field="file")
    return list(found)


def _foreign_pairs(domain: Domain, gold: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Each gold passage with the next query for which it was never judged by anybody."""
    queries = list(dict.fromkeys(query for query, _ in gold))
    judged = set(Judgment.objects.filter(query__domain=domain).values_list("query", "passage"))
    found = []
    for place, (own, passage) in enumerate(gold):
        others = queries[place % len(queries) :] + queries[: place % len(queries)]
        free = (each for each in others if each != own and (each, passage) not in judged)
        query = next(free, None)
        if query is not None:
            found.append((query, passage))
    return list(dict.fromkeys(found))


def _arguments(domain: Domain) -> list[tuple[int, list[Any]]]:
    """Agents' positions in disputes of the benchmark, each with the key of its query."""
    cases = EscalationCase.objects.of_voters().about_pairs()
    cases = cases.filter(query__domain__benchmark=domain.benchmark_id)
    rows = cases.order_by("pk").values_list("query", "snapshot")[:200]
    return [(query, kept["positions"]) for query, kept in rows if kept.get("positions")]
