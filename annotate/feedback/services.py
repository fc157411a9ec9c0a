"""What a voter learns of their votes once they count: reads only.

Shown are votes that count, on cases that are decided for good: closed by votes, or by an expert
after the last vote that a case may have. A case that an expert closed before may open again, and
the voter could then vote once more. Nothing is read of open cases, of open batches, or of who the
others are.

Which items of a batch were checks must not follow from what is missing here, or the bank would be
known soon: of each batch twice as many cases as checks are kept back, chosen by chance when the
batch was made and for good. Answers to checks are counted over whole months, never named.

Which sections of the guidelines a voter should read again. Reads only.

What admins tell voters about a batch, a decision, or their work: kept, with an event."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from annotate.models import (
    AttemptState,
    Batch,
    BatchItem,
    BatchStatus,
    CaseStatus,
    EscalationCase,
    ExamAttempt,
    Guideline,
    Vote,
    VoterMessage,
)
from annotate.voting.majority import CAP
from annotate.voting.queue import draw
from corpus.access import Access
from corpus.models import Benchmark, Judgment, Membership, Role, Source
from kit import audit
from kit.errors import Refused
from kit.sheets import Cell, Sheet, percent, text
from kit.stats.clusters import Clustered, clustered_share
from kit.stats.proportions import proportion

KEPT_BACK = 2  # cases of a batch that are not shown, for each check in it
MOST_REASONS = 5
ALL = "all"


def decided_votes(person_id: int, benchmark: Benchmark) -> QuerySet[Vote]:
    """The person's standing votes on cases that are decided for good, the newest first.

    `final` is the case's label; `expert` what an expert says of the pair now, if any.
    """
    by_people = Q(case__judgment__source=Source.HUMAN)
    pair = {"query": OuterRef("case__query"), "passage": OuterRef("case__passage")}
    expert = Judgment.objects.standing().filter(source=Source.EXPERT, **pair)
    rows = Vote.objects.standing().filter(
        by_people | Q(case__votes_in__gte=CAP),
        voter=person_id,
        case__query__domain__benchmark=benchmark,
        case__status=CaseStatus.CLOSED,
    )
    return rows.annotate(final=F("case__label"), expert=Subquery(expert.values("label")[:1]))


def shown_votes(person_id: int, benchmark: Benchmark) -> QuerySet[Vote]:
    """Those of them that are listed one by one."""
    back = kept_back(person_id, benchmark)
    rows = decided_votes(person_id, benchmark).exclude(case__in=back)
    return rows.select_related("case__query__domain", "case__passage")


def kept_back(person_id: int, benchmark: Benchmark) -> set[int]:
    """Keys of the cases of the person's accepted batches that are never listed."""
    items = BatchItem.objects.filter(
        batch__voter=person_id,
        batch__plan__benchmark=benchmark,
        batch__status=BatchStatus.ACCEPTED,
    ).values_list("batch", "case")
    cases: defaultdict[int, list[int]] = defaultdict(list)
    checks: Counter[int] = Counter()
    for batch, case in items:
        if case is None:
            checks[batch] += 1
        else:
            cases[batch].append(case)
    return {
        case
        for batch, held in cases.items()
        for case in sorted(held, key=lambda each: draw("kept back", batch, each))[
            : KEPT_BACK * checks[batch]
        ]
    }


def reasons_of_majority(vote: Vote) -> list[str]:
    """What others who gave the case's label said, in an order by chance; no names."""
    others = Vote.objects.standing().filter(case=vote.case_id, label=F("case__label"))
    rows = others.exclude(pk=vote.pk).exclude(reason="").order_by("pk")
    ordered = sorted(rows, key=lambda each: draw("order of reasons", each.pk))
    return [each.reason for each in ordered[:MOST_REASONS]]


@dataclass(frozen=True)
class Past:
    """How a voter did in one month, or in all."""

    month: str
    agreement: Clustered
    abstained: int
    checks: tuple[int, int]  # right, of so many
    practice: tuple[int, int]


def history(person_id: int, benchmark: Benchmark) -> list[Past]:
    """Month by month, the latest first, after a row of all."""
    votes = [
        (f"{vote.created_at:%Y-%m}", vote.label, vote.final, vote.case.query_id)  # type: ignore[attr-defined]
        for vote in decided_votes(person_id, benchmark).select_related("case")
    ]
    checks = _checks(person_id, benchmark)
    practice = _practice(person_id, benchmark)
    months = sorted({vote[0] for vote in votes} | checks.keys() | practice.keys(), reverse=True)
    return [
        Past(
            month,
            _agreement(vote for vote in votes if month in (ALL, vote[0])),
            sum(vote[1] is None for vote in votes if month in (ALL, vote[0])),
            _sum(checks, month),
            _sum(practice, month),
        )
        for month in (ALL, *months)
    ]


def history_sheet(rows: Sequence[Past]) -> Sheet:
    """The same as a table."""
    has_any = any(row.agreement.n or row.checks[1] or row.practice[1] for row in rows)
    return Sheet(
        name="history",
        title="Over time",
        header=(
            *("Month", "Decided", "As the final label", "Cannot be judged"),
            *("Known answers right", "Practice right"),
        ),
        rows=tuple(_row(row) for row in rows) if has_any else (),
        notes=(
            "As the final label: of your votes with a label, those that agree with the label of "
            "their case; your own vote is one of those that made it. The interval draws whole "
            "queries again, for cases of one query hang together; there is none for one query. To "
            "stand alone is no error by itself.",
            "Known answers: items of your batches whose answer is known, over the whole month; "
            "which they were is told to nobody.",
        ),
        empty="Nothing is decided yet. Your votes appear here once their cases are closed.",
    )


def _agreement(votes: Iterable[tuple[str, int | None, int, int]]) -> Clustered:
    given = [vote for vote in votes if vote[1] is not None]
    return clustered_share([vote[1] == vote[2] for vote in given], [vote[3] for vote in given])


def _checks(person_id: int, benchmark: Benchmark) -> dict[str, tuple[int, int]]:
    """By month: checks answered rightly, and all, of batches that were handed in."""
    ended = (BatchStatus.ACCEPTED, BatchStatus.REJECTED)
    rows = BatchItem.objects.filter(
        batch__voter=person_id,
        batch__plan__benchmark=benchmark,
        batch__status__in=ended,
        check_item__isnull=False,
    ).values_list("batch__ended_at", "label", "check_item__expected")
    return _by_month((at, label == expected) for at, label, expected in rows)


def _practice(person_id: int, benchmark: Benchmark) -> dict[str, tuple[int, int]]:
    rows = ExamAttempt.objects.filter(
        person=person_id, domain__benchmark=benchmark, is_practice=True, status=AttemptState.DONE
    )
    return _by_month(
        (each.ended_at, place < each.right) for each in rows for place in range(len(each.items))
    )


def _by_month(answers: Iterable[tuple[datetime | None, bool]]) -> dict[str, tuple[int, int]]:
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for at, is_right in answers:
        found[f"{at:%Y-%m}" if at else ""].append(is_right)
    return {month: (sum(each), len(each)) for month, each in found.items()}


def _sum(counts: Mapping[str, tuple[int, int]], month: str) -> tuple[int, int]:
    if month != ALL:
        return counts.get(month, (0, 0))
    return sum(right for right, _ in counts.values()), sum(n for _, n in counts.values())


def _row(row: Past) -> tuple[Cell, ...]:
    return (
        text(row.month),
        Cell(row.agreement.n + row.abstained),
        percent(row.agreement),
        Cell(row.abstained),
        percent(proportion(*row.checks)),
        percent(proportion(*row.practice)),
    )


@dataclass(frozen=True)
class Section:
    """A section of the guidelines and why to read it again."""

    title: str
    text: str
    why: str


def to_reread(person_id: int, benchmark: Benchmark) -> list[Section]:
    """Sections of the current guidelines that speak of what this person's votes differ in."""
    rows = decided_votes(person_id, benchmark)
    wrong = rows.exclude(label=None).exclude(label=F("case__label"))
    reasons = {
        "relevant": (wrong.filter(label=1).count(), "you said “relevant” where it was not, {n}"),
        "fully": (wrong.filter(label=0).count(), "you said “not relevant” where it was, {n}"),
        "cannot be judged": (
            rows.filter(label=None).count(),
            "you said “cannot be judged” where others could, {n}",
        ),
    }
    found: dict[str, Section] = {}
    sections = split_sections(Guideline.objects.current(benchmark).text)
    for words, (count, why) in reasons.items():
        match = _section_about(sections, words if words != "fully" else "relevant")
        if count and match:
            said = why.format(n="once" if count == 1 else f"{count} times")
            before = found.get(match[0])
            both = f"{before.why}; {said}" if before else said
            found[match[0]] = Section(match[0], match[1], both)
    return list(found.values())


def split_sections(guidelines: str) -> list[tuple[str, str]]:
    """(heading, text) of every section of a Markdown text; "" heads what has no heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in guidelines.splitlines():
        if line.startswith("#"):
            found.append((line.lstrip("#").strip(), []))
        else:
            found[-1][1].append(line)
    return [(title, "\n".join(lines).strip()) for title, lines in found if "".join(lines).strip()]


def _section_about(sections: Sequence[tuple[str, str]], words: str) -> tuple[str, str] | None:
    """The section whose heading names the words, else the one that says them most often."""
    named = [each for each in sections if words in each[0].lower()]
    if named:
        return named[0]
    counted = [(each[1].lower().count(words), -place) for place, each in enumerate(sections)]
    most = max(counted, default=(0, 0))
    return sections[-most[1]] if most[0] else None


def send_message(
    *,
    access: Access,
    person: User,
    text: str,
    batch: int | None = None,
    case: int | None = None,
) -> VoterMessage:
    """Tell an annotator something; `batch` and `case` are numbers of what it is about.

    Raises PermissionDenied for everybody but admins, and Refused without a text, for somebody who
    is no annotator here, for a batch of theirs that was not handed in, and for a case on which
    their vote does not count or which is not decided.
    """
    if not access.is_admin:
        raise PermissionDenied("Admins write to voters.")
    if not text.strip():
        raise Refused("Write the message first.", field="text")
    place = Membership.objects.filter(user=person, benchmark=access.benchmark).first()
    if place is None or Role.ANNOTATOR not in place.roles:
        raise Refused(f"{person} is no annotator here.")
    with transaction.atomic():
        message = VoterMessage.objects.create(
            benchmark=access.benchmark,
            person=person,
            author=access.user,
            batch=_batch(access, person, batch),
            case=_case(access, person, case),
            text=text.strip(),
        )
        _note(message, access.user, "write to voter", batch=batch, case=case)
    return message


def new_messages(access: Access) -> int:
    """How many messages the person has not read."""
    return VoterMessage.objects.to(access.user.pk, access.benchmark).filter(seen_at=None).count()


def mark_seen(*, access: Access) -> int:
    """The person has read what they were told; how many messages were new."""
    with transaction.atomic():
        new = VoterMessage.objects.to(access.user.pk, access.benchmark).filter(seen_at=None)
        rows = list(new.select_for_update())
        VoterMessage.objects.filter(pk__in=[each.pk for each in rows]).update(
            seen_at=timezone.now()
        )
        for each in rows:
            _note(each, access.user, "read message")
    return len(rows)


def _batch(access: Access, person: User, number: int | None) -> Batch | None:
    if number is None:
        return None
    mine = Batch.objects.of(person.pk, access.benchmark).exclude(status=BatchStatus.OPEN)
    found = mine.filter(pk=number).first()
    if found is None:
        raise Refused(f"{person} has handed in no batch {number}.", field="batch")
    return found


def _case(access: Access, person: User, number: int | None) -> EscalationCase | None:
    if number is None:
        return None
    vote = decided_votes(person.pk, access.benchmark).filter(case=number).first()
    if vote is None:
        raise Refused(
            f"No decided case {number} has a vote of {person}. Nothing is told of open ones.",
            field="case",
        )
    return vote.case


def _note(message: VoterMessage, actor: User, verb: str, **data: int | None) -> None:
    # In the scope of votes: a benchmark's events are read by other voters too.
    scope = f"{message.benchmark.slug}#votes"
    kept = {"person": message.person_id, **{name: key for name, key in data.items() if key}}
    audit.record(actor=actor, verb=verb, target=message, scope=scope, data=kept)
