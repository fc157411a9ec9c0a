"""Attention checks: pairs with a known answer, with arguments about another pair
(docs/protocol.md 2.4).

Half of them are relevant (gold with its own query), half are not (the gold of an unrelated query),
so that who always says yes fails as surely as who always says no. What a check says for and
against its person has not met before: the reasons of a neighbour, met twice, would give it away.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

from annotate.models import (
    AttentionCheck,
    BatchItem,
    CaseStatus,
    EscalationCase,
    GoldPassage,
    VoteSlot,
)
from annotate.workspace.models import SAME_PAIR
from corpus.access import Access
from corpus.models import Judgment, Passage, Query, Source
from kit.errors import Refused

NONE_LEFT = (
    "No attention check can be made for this batch: it needs original gold with its text, in the "
    "domains of the batch, that you have not seen. Tell an admin."
)
# Condition on an outer queryset of labels or checks.
_HAS_CASE = Exists(EscalationCase.objects.filter(**SAME_PAIR))
_SAMPLED = 200  # gold pairs of which one is chosen
_SOURCES = 20  # cases of each kind whose reasons are tried


def checks_in(size: int) -> int:
    """How many items of a batch of this size are checks: 10 %, at least one."""
    return max(1, round(0.1 * size))


class Met:
    """How often a person met each reason, in the cases of a new batch and in all before it."""

    def __init__(self, person: User, cases: Iterable[EscalationCase]) -> None:
        items = BatchItem.objects.filter(batch__voter=person)
        slots = VoteSlot.objects.filter(voter=person, case=OuterRef("pk"))
        mine = Exists(items.filter(case=OuterRef("pk"))) | Exists(slots)
        before = EscalationCase.objects.filter(mine).exclude(pk__in=[each.pk for each in cases])
        checks = AttentionCheck.objects.filter(Exists(items.filter(check_item=OuterRef("pk"))))
        self.times: Counter[str] = Counter()
        for rows in (before, checks):
            for snapshot in rows.values_list("snapshot", flat=True).iterator(chunk_size=500):
                self.add(snapshot)
        for case in cases:
            self.add(case.snapshot)

    def add(self, snapshot: dict[str, Any]) -> None:
        """One more item with this snapshot."""
        self.times.update(set(_reasons(snapshot)))

    def would_tell(self, snapshot: dict[str, Any]) -> bool:
        """Whether a reason of it would be met a second time; one that many share tells nothing."""
        return any(self.times[reason] == 1 for reason in _reasons(snapshot))


def _reasons(snapshot: dict[str, Any]) -> Iterator[str]:
    for each in snapshot.get("positions") or []:
        if isinstance(each, dict) and (reason := " ".join(str(each.get("reason") or "").split())):
            yield reason


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
    stock = list(known.order_by("pk"))
    met = Met(access.user, cases)
    chosen: list[AttentionCheck] = []
    of_aspects = [case for case in cases if case.aspect_id]
    for _ in range(count):
        # About an aspect as often as the cases are: nothing tells a check apart.
        alike: Sequence[EscalationCase] = cases
        if of_aspects:
            about = rng.choice(cases).aspect_id is not None
            alike = [case for case in cases if (case.aspect_id is not None) == about]
        expected = rng.randrange(2)
        usable = [
            each
            for each in stock
            if each.expected == expected
            and _asks_aspect(each.snapshot) == _asks_aspect(alike[0].snapshot)
            and each not in chosen
            and not met.would_tell(each.snapshot)
        ]
        # Fresh ones are preferred until there are some of each: few checks get known.
        found = None
        if len(usable) < 5 * count:
            found = _make(access, alike, domains, expected, rng, met)
        if found is None and usable:
            found = rng.choice(usable)
        found = found or _make(access, alike, domains, 1 - expected, rng, met)
        if found is None:
            raise Refused(NONE_LEFT)
        met.add(found.snapshot)
        chosen.append(found)
    return chosen


def _make(
    access: Access,
    cases: Sequence[EscalationCase],
    domains: set[int],
    expected: int,
    rng: Random,
    met: Met,
) -> AttentionCheck | None:
    """`cases` are the batch's that a check is to be like: all about aspects, or none."""
    is_of_aspect = _asks_aspect(cases[0].snapshot)
    found = _pair(access, domains, expected, rng, is_of_aspect=is_of_aspect)
    if found is None:
        return None
    query, passage, aspect = found
    source = _source(access, query, cases, rng, met)
    snapshot = _snapshot(query, passage, source, rng, aspect)
    bare = next((each for each in cases if not each.snapshot.get("positions")), None)
    if met.would_tell(snapshot) and bare is not None:
        # Nothing unmet is there to borrow: it is like what is judged from the passage alone.
        snapshot = _snapshot(query, passage, bare.snapshot, rng, aspect)
    elif met.would_tell(snapshot):
        asked = "aspect" if is_of_aspect else "answer"
        snapshot["positions"] = [_written(each, asked) for each in snapshot["positions"]]
    return AttentionCheck.objects.create(
        query=query, passage=passage, expected=expected, snapshot=snapshot
    )


def _asks_aspect(snapshot: dict[str, Any]) -> bool:
    return bool(snapshot.get("aspect"))


def _pair(
    access: Access, domains: set[int], expected: int, rng: Random, *, is_of_aspect: bool
) -> tuple[Query, Passage, str] | None:
    """A query and passage with a known answer, and the text of the aspect that is asked about."""
    gold = _gold(access, domains, rng)
    rng.shuffle(gold)
    # By query its aspects with gold; by query and passage the one that the gold supports.
    known: dict[Any, list[str]] = {}
    if is_of_aspect:
        rows = GoldPassage.objects.standing().filter(aspect__removed_at=None)
        rows = rows.filter(query__in={each.query_id for each in gold}).order_by("pk")
        for of, passage, text in rows.values_list("query", "passage", "aspect__content"):
            known.setdefault(of, []).append(text)
            known[of, passage] = [text]
        gold = [each for each in gold if (each.query_id, each.passage_id) in known]
    if expected:
        for each in gold:
            asked = known[each.query_id, each.passage_id][0] if is_of_aspect else ""
            return each.query, each.passage, asked
        return None
    for each in gold:
        others = [other for other in gold if _is_unrelated(other.query, each.query)]
        if others:
            query = rng.choice(others).query
            if not _is_known_pair(query, each.passage):
                asked = rng.choice(known[query.pk]) if is_of_aspect else ""
                return query, each.passage, asked
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


def _source(
    access: Access, query: Query, cases: Sequence[EscalationCase], rng: Random, met: Met
) -> dict[str, Any]:
    """The snapshot whose reasons a check wears: as many positions as some case of the batch has,
    said of a case that the person did not meet, best of one that they will not. Where there is
    none it is that of the batch."""
    like = rng.choice([each for each in cases if each.query_id != query.pk] or list(cases)).snapshot
    sides = len(like.get("positions") or [])
    if not sides:
        return like
    others = EscalationCase.objects.in_benchmark(access.benchmark).of_voters().exclude(query=query)
    others = others.filter(aspect__isnull=not _asks_aspect(like))
    own = Q(status=CaseStatus.OPEN, query__domain__in=access.domain_ids)
    for rows in (others.exclude(own), others.filter(own)):
        pks = list(rows.order_by("pk").values_list("pk", flat=True)[:10_000])
        some = EscalationCase.objects.in_bulk(rng.sample(pks, min(len(pks), _SOURCES)))
        for each in some.values():
            is_alike = len(each.snapshot.get("positions") or []) == sides
            if is_alike and not met.would_tell(each.snapshot):
                return each.snapshot
    return like


def _snapshot(
    query: Query, passage: Passage, source: dict[str, Any], rng: Random, aspect: str
) -> dict[str, Any]:
    """A snapshot like those of cases: an unrelated case's reasons, quoting this passage."""
    return {
        "question": query.text,
        **({"answers": [], "aspect": aspect} if aspect else {"answers": list(query.answers)}),
        "practice": bool(source.get("practice")),
        "rounds": source.get("rounds") or 0,
        "positions": [
            {**each, "references": _quotes(passage.text or "", each, rng)}
            for each in source.get("positions") or []
            if isinstance(each, dict)
        ],
    }


def _written(position: dict[str, Any], asked: str) -> dict[str, Any]:
    """The position with a reason about its own quotes, where nothing unmet is there to borrow."""
    said = " ".join(f"“{each['text']}”" for each in position["references"])
    verdict = "supports" if position.get("response") == "yes" else "does not support"
    return {**position, "reason": f"What the passage says {verdict} the {asked}. {said}".strip()}


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
