"""Attention checks: pairs with a known answer, with arguments about another pair
(docs/protocol.md 2.4).

Half of them are relevant (gold with its own query), half are not (the gold of an unrelated query),
so that who always says yes fails as surely as who always says no.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from django.db.models import Exists, OuterRef, Q

from annotate.models import AttentionCheck, BatchItem, EscalationCase, GoldPassage
from annotate.workspace.models import SAME_PAIR
from corpus.access import Access
from corpus.models import Judgment, Passage, Query, Source
from kit.errors import Refused

NONE_LEFT = (
    "No attention check can be made for this batch: it needs old gold with its text, in the "
    "domains of the batch, that you have not seen. Tell an admin."
)
# Condition on an outer queryset of labels or checks.
_HAS_CASE = Exists(EscalationCase.objects.filter(**SAME_PAIR))
_SAMPLED = 200  # gold pairs of which one is chosen


def checks_in(size: int) -> int:
    """How many items of a batch of this size are checks: 10 %, at least one."""
    return max(1, round(0.1 * size))


def choose_checks(
    *, access: Access, cases: Sequence[EscalationCase], count: int, seed: int
) -> list[AttentionCheck]:
    """`count` checks that this person never saw, made where too few exist; in the transaction of
    the batch. Raises Refused where the benchmark has no gold to make them of."""
    rng = Random(seed)  # noqa: S311  (seeded with a keyed number)
    domains = {case.query.domain_id for case in cases}
    seen = BatchItem.objects.filter(batch__voter=access.user, check_item=OuterRef("pk"))
    own = GoldPassage.objects.filter(created_by=access.user, **SAME_PAIR)
    known = AttentionCheck.objects.usable(access.benchmark).filter(query__domain__in=domains)
    known = known.exclude(Exists(seen)).exclude(Exists(own)).exclude(_HAS_CASE)
    chosen: list[AttentionCheck] = []
    for _ in range(count):
        expected = rng.randrange(2)
        left = known.filter(expected=expected).exclude(pk__in=[each.pk for each in chosen])
        pks = list(left.values_list("pk", flat=True))
        # Fresh ones are preferred until there are some of each: few checks get known.
        found = None
        if len(pks) < 5 * count:
            found = _make(access, cases, domains, expected, rng)
        if found is None and pks:
            found = AttentionCheck.objects.get(pk=rng.choice(pks))
        found = found or _make(access, cases, domains, 1 - expected, rng)
        if found is None:
            raise Refused(NONE_LEFT)
        chosen.append(found)
    return chosen


def _make(
    access: Access,
    cases: Sequence[EscalationCase],
    domains: set[int],
    expected: int,
    rng: Random,
) -> AttentionCheck | None:
    query, passage = _pair(access, domains, expected, rng) or (None, None)
    if query is None or passage is None:
        return None
    snapshot = _snapshot(query, passage, cases, rng)
    return AttentionCheck.objects.create(
        query=query, passage=passage, expected=expected, snapshot=snapshot
    )


def _pair(
    access: Access, domains: set[int], expected: int, rng: Random
) -> tuple[Query, Passage] | None:
    gold = _gold(access, domains, rng)
    rng.shuffle(gold)
    if expected:
        return next(((each.query, each.passage) for each in gold), None)
    for each in gold:
        others = [other for other in gold if _is_unrelated(other.query, each.query)]
        if others:
            query = rng.choice(others).query
            if not _is_known_pair(query, each.passage):
                return query, each.passage
    return None


def _gold(access: Access, domains: set[int], rng: Random) -> list[Judgment]:
    """Some gold pairs with text that are no check, no case and not the person's own."""
    rows = (
        Judgment.objects.original()
        .filter(label__gt=0, query__domain__in=domains, passage__text__isnull=False)
        .exclude(passage__text="")
        .exclude(Exists(AttentionCheck.objects.filter(**SAME_PAIR)))
        .exclude(_HAS_CASE)
        .exclude(Exists(GoldPassage.objects.filter(created_by=access.user, **SAME_PAIR)))
        # What an expert found not to be gold is no known answer.
        .exclude(
            Exists(Judgment.objects.standing().filter(source=Source.EXPERT, label=0, **SAME_PAIR))
        )
    )
    pks = list(rows.order_by("pk").values_list("pk", flat=True)[:10_000])
    some = rng.sample(pks, min(len(pks), _SAMPLED))
    found = Judgment.objects.filter(pk__in=some).select_related(
        "query__domain", "passage__document"
    )
    return sorted(found, key=lambda each: each.pk)


def _is_unrelated(query: Query, other: Query) -> bool:
    """Two queries of one domain that share no answer."""
    is_other = query.pk != other.pk and query.domain_id == other.domain_id
    return is_other and not set(map(str, query.answers)) & set(map(str, other.answers))


def _is_known_pair(query: Query, passage: Passage) -> bool:
    """Whether the pair, or another passage of its page, has a label of anybody."""
    same_page = Q(passage=passage)
    if passage.document_id:
        same_page |= Q(passage__document=passage.document_id)
    pair = {"query": query, "passage": passage}
    return Judgment.objects.filter(same_page, query=query).exists() or any(
        model.objects.filter(**pair).exists()
        for model in (EscalationCase, AttentionCheck, GoldPassage)
    )


def _snapshot(
    query: Query, passage: Passage, cases: Sequence[EscalationCase], rng: Random
) -> dict[str, Any]:
    """A snapshot like those of the batch: an unrelated case's reasons, quoting this passage."""
    others = [each for each in cases if each.query_id != query.pk] or list(cases)
    source = rng.choice(others).snapshot
    return {
        "question": query.text,
        "answers": list(query.answers),
        "practice": bool(source.get("practice")),
        "rounds": source.get("rounds") or 0,
        "positions": [
            {**each, "references": _quotes(passage.text or "", each, rng)}
            for each in source.get("positions") or []
            if isinstance(each, dict)
        ],
    }


def _quotes(text: str, position: dict[str, Any], rng: Random) -> list[dict[str, Any]]:
    """As many quotes as the position had, taken from this passage word by word."""
    sentences = _sentences(text)
    count = min(len(position.get("references") or []), len(sentences))
    return [
        {"text": text[start:end], "start": start, "end": end}
        for start, end in sorted(rng.sample(sentences, count))
    ]


def _sentences(text: str) -> list[tuple[int, int]]:
    """Sentences, roughly: [start, end) in code points, without white space at the ends."""
    found, start = [], 0
    for end, sign in enumerate(text, 1):
        if sign in ".!?\n" or end == len(text):
            piece = text[start:end]
            left = len(piece) - len(piece.lstrip())
            if len(piece.strip()) > 15:
                found.append((start + left, start + len(piece.rstrip())))
            start = end
    return found
