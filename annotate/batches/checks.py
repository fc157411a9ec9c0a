"""Attention checks: pairs with a known answer, dressed in arguments about another pair
(docs/protocol.md 2.4).

Half of them are relevant (gold with its own query), half are not (the gold of an unrelated query),
so that who always says yes fails as surely as who always says no.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from django.db.models import Exists, OuterRef

from annotate.models import AttentionCheck, BatchItem, EscalationCase, GoldPassage
from corpus.access import Access
from corpus.models import Judgment, Passage, Query, Source
from kit.errors import Refused

NONE_LEFT = (
    "No attention check can be made for this batch: it needs old gold with its text, in the "
    "domains of the batch, that you have not seen. Tell an admin."
)
_LOOKED_AT = 200  # gold pairs of which one is chosen


def checks_in(size: int) -> int:
    """How many items of a batch of this size are checks: 10 %, at least one."""
    return max(1, round(0.1 * size))


def choose_checks(
    *, access: Access, cases: Sequence[EscalationCase], count: int, seed: int
) -> list[AttentionCheck]:
    """So many checks that this person never saw, made where too few exist; in the transaction of
    the batch. Raises Refused where the benchmark has no gold to make them of."""
    rng = Random(seed)  # noqa: S311  (seeded with a keyed number)
    domains = {case.query.domain_id for case in cases}
    seen = BatchItem.objects.filter(batch__voter=access.user, check_item=OuterRef("pk"))
    own = GoldPassage.objects.filter(
        created_by=access.user, query=OuterRef("query"), passage=OuterRef("passage")
    )
    known = AttentionCheck.objects.usable(access.benchmark).filter(query__domain__in=domains)
    known = known.exclude(Exists(seen)).exclude(Exists(own)).exclude(_has_case())
    chosen: list[AttentionCheck] = []
    for _ in range(count):
        expected = rng.randrange(2)
        taken = [each.pk for each in chosen]
        pks = list(
            known.filter(expected=expected).exclude(pk__in=taken).values_list("pk", flat=True)
        )
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
    pair = _pair(access, domains, expected, rng)
    if pair is None:
        return None
    query, passage = pair
    return AttentionCheck.objects.create(
        query=query,
        passage=passage,
        expected=expected,
        snapshot=_dressed(query, passage, cases, rng),
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
    pair = {"query": OuterRef("query"), "passage": OuterRef("passage")}
    rows = (
        Judgment.objects.original()
        .filter(label__gt=0, query__domain__in=domains, passage__text__isnull=False)
        .exclude(passage__text="")
        .exclude(Exists(AttentionCheck.objects.filter(**pair)))
        .exclude(_has_case())
        .exclude(Exists(GoldPassage.objects.filter(created_by=access.user, **pair)))
        # What an expert found not to be gold is no known answer.
        .exclude(Exists(Judgment.objects.standing().filter(source=Source.EXPERT, label=0, **pair)))
    )
    pks = list(rows.order_by("pk").values_list("pk", flat=True)[:10_000])
    some = rng.sample(pks, min(len(pks), _LOOKED_AT))
    found = Judgment.objects.filter(pk__in=some).select_related(
        "query__domain", "passage__document"
    )
    return sorted(found, key=lambda each: each.pk)


def _has_case() -> Exists:
    pair = {"query": OuterRef("query"), "passage": OuterRef("passage")}
    return Exists(EscalationCase.objects.filter(**pair))


def _is_unrelated(query: Query, other: Query) -> bool:
    """Two questions of one domain that share no answer."""
    if query.pk == other.pk or query.domain_id != other.domain_id:
        return False
    return not set(map(str, query.answers)) & set(map(str, other.answers))


def _is_known_pair(query: Query, passage: Passage) -> bool:
    """Whether anybody, or any list of gold, said something of the pair or of its page."""
    labels = Judgment.objects.filter(query=query)
    if labels.filter(passage=passage).exists():
        return True
    if passage.document_id and labels.filter(passage__document=passage.document_id).exists():
        return True
    pair = {"query": query, "passage": passage}
    return (
        EscalationCase.objects.filter(**pair).exists()
        or AttentionCheck.objects.filter(**pair).exists()
        or GoldPassage.objects.filter(**pair).exists()
    )


def _dressed(
    query: Query, passage: Passage, cases: Sequence[EscalationCase], rng: Random
) -> dict[str, Any]:
    """A snapshot like those of the batch: an unrelated case's reasons, quoting this passage."""
    donors = [each for each in cases if each.query_id != query.pk] or list(cases)
    donor = rng.choice(donors).snapshot
    positions = donor.get("positions") or []
    return {
        "question": query.text,
        "answers": list(query.answers),
        "practice": bool(donor.get("practice")),
        "rounds": donor.get("rounds") or 0,
        "positions": [
            {**each, "references": _quotes(passage.text or "", each, rng)}
            for each in positions
            if isinstance(each, dict)
        ],
    }


def _quotes(text: str, position: dict[str, Any], rng: Random) -> list[dict[str, Any]]:
    """As many quotes as the position had, taken from this passage as they stand there."""
    pieces = _pieces(text)
    wanted = min(len(position.get("references") or []), len(pieces))
    return [
        {"text": text[start:end], "start": start, "end": end}
        for start, end in sorted(rng.sample(pieces, wanted))
    ]


def _pieces(text: str) -> list[tuple[int, int]]:
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
