"""Feedback: what a voter learns of their votes once they count, and messages from admins.

Shown are votes that count, on cases that are decided for good: closed by votes, or by an expert
after the last vote that a case may have. A case that an expert closed before may open again, and
the voter could then vote once more. Nothing is read of open cases, of open batches, or of who the
others are.

Which items of a batch were checks must not follow from what is missing here, or the checks would
be known soon: of each batch twice as many cases as checks are kept back, the same ones always,
chosen at random. Answers to checks are counted over whole months, never named.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotate.keyed import draw
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
from corpus.access import Access
from corpus.models import Benchmark, Membership, Role, Source
from kit import audit
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.stats.clusters import clustered_share
from kit.stats.proportions import proportion

KEPT_BACK = 2  # cases of a batch that are not shown, for each check in it
MAX_REASONS = 5
ALL = "all"
_Row = TypeVar("_Row")


def decided_votes(person_id: int, benchmark: Benchmark) -> QuerySet[Vote]:
    """The person's standing votes on cases that are decided for good, the newest first.

    `final` is the case's label; `expert` what an expert says of the pair now, if any.
    """
    by_people = Q(case__judgment__source=Source.HUMAN) | Q(case__support__source=Source.HUMAN)
    rows = Vote.objects.standing().filter(
        by_people | Q(case__votes_in__gte=CAP),
        voter=person_id,
        case__query__domain__benchmark=benchmark,
        case__status=CaseStatus.CLOSED,
    )
    return rows.with_expert().annotate(final=F("case__label"))


def shown_votes(person_id: int, benchmark: Benchmark) -> QuerySet[Vote]:
    """Those of them that are listed one by one."""
    rows = decided_votes(person_id, benchmark).exclude(case__in=kept_back(person_id, benchmark))
    return rows.select_related("case__query__domain", "case__passage")


def kept_back(person_id: int, benchmark: Benchmark) -> set[int]:
    """Keys of the cases of the person's accepted batches that are never listed."""
    items = BatchItem.objects.filter(
        batch__voter=person_id,
        batch__plan__benchmark=benchmark,
        batch__status=BatchStatus.ACCEPTED,
    ).values_list("batch", "case")
    cases: defaultdict[int, list[int | None]] = defaultdict(list)
    for batch, case in items:
        cases[batch].append(case)
    back: set[int] = set()
    for batch, own in cases.items():
        drawn = sorted((draw("kept back", batch, case), case) for case in own if case)
        back |= {case for _, case in drawn[: KEPT_BACK * own.count(None)]}
    return back


def reasons_of_majority(vote: Vote) -> list[str]:
    """The reasons of others who gave the case's label, in random order; no names."""
    same_label = Vote.objects.standing().filter(case=vote.case_id, label=F("case__label"))
    rows = same_label.exclude(pk=vote.pk).exclude(reason="").order_by("pk")
    ordered = sorted(rows, key=lambda each: draw("order of reasons", each.pk))
    return [each.reason for each in ordered[:MAX_REASONS]]


def history_sheet(person_id: int, benchmark: Benchmark) -> ReportTable:
    """How a voter did: a row of all, then month by month, the latest first."""
    votes: defaultdict[str, list[tuple[int | None, int, int]]] = defaultdict(list)
    for vote in decided_votes(person_id, benchmark).select_related("case"):
        given = (vote.label, vote.final, vote.case.query_id)  # type: ignore[attr-defined]
        votes[f"{vote.created_at:%Y-%m}"].append(given)
    checks = _checks(person_id, benchmark)
    practice = _practice(person_id, benchmark)
    months = sorted(votes.keys() | checks.keys() | practice.keys(), reverse=True)

    def row(month: str) -> tuple[Cell, ...]:
        mine, known, practised = (_of(month, each) for each in (votes, checks, practice))
        labelled = [vote for vote in mine if vote[0] is not None]
        hits = [label == final for label, final, _ in labelled]
        return (
            text(month),
            Cell(len(mine)),
            percent(clustered_share(hits, [query for *_, query in labelled])),
            Cell(len(mine) - len(labelled)),
            percent(proportion(sum(known), len(known))),
            percent(proportion(sum(practised), len(practised))),
        )

    has_any = any(label is not None for each in votes.values() for label, *_ in each)
    return ReportTable(
        name="history",
        title="Over time",
        header=(
            *("Month", "Decided", "As the final label", "Cannot be judged"),
            *("Known answers right", "Practice right"),
        ),
        rows=tuple(map(row, (ALL, *months))) if has_any or checks or practice else (),
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


def _checks(person_id: int, benchmark: Benchmark) -> dict[str, list[bool]]:
    """By month: whether each check of submitted batches was answered rightly."""
    ended = (BatchStatus.ACCEPTED, BatchStatus.REJECTED)
    rows = BatchItem.objects.filter(
        batch__voter=person_id,
        batch__plan__benchmark=benchmark,
        batch__status__in=ended,
        check_item__isnull=False,
    ).values_list("batch__ended_at", "label", "check_item__expected")
    return _by_month((at, label == expected) for at, label, expected in rows)


def _practice(person_id: int, benchmark: Benchmark) -> dict[str, list[bool]]:
    rows = ExamAttempt.objects.filter(
        person=person_id, domain__benchmark=benchmark, is_practice=True, status=AttemptState.DONE
    )
    return _by_month(
        (each.ended_at, place < each.right) for each in rows for place in range(len(each.items))
    )


def _by_month(answers: Iterable[tuple[datetime | None, bool]]) -> dict[str, list[bool]]:
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for at, is_right in answers:
        found[f"{at:%Y-%m}" if at else ""].append(is_right)
    return found


def _of(month: str, rows: Mapping[str, list[_Row]]) -> list[_Row]:
    """The rows of a month, or all."""
    return [each for at, given in rows.items() if month in (ALL, at) for each in given]


def to_reread(person_id: int, benchmark: Benchmark) -> list[dict[str, str]]:
    """Sections of the current guidelines about what this person's votes differ in.

    Each with its `title` and `text`, and `why` to read it again.
    """
    rows = decided_votes(person_id, benchmark)
    wrong = rows.exclude(label=None).exclude(label=F("case__label"))
    reasons = (
        ("relevant", wrong.filter(label=1), "“relevant” where it was not"),
        ("relevant", wrong.filter(label=0), "“not relevant” where it was"),
        ("cannot be judged", rows.filter(label=None), "“cannot be judged” where others could"),
    )
    found: dict[str, dict[str, str]] = {}
    sections = split_sections(Guideline.objects.current(benchmark).text)
    for phrase, votes, what in reasons:
        count, match = votes.count(), _section_about(sections, phrase)
        if count and match:
            title, body = match
            why = f"you said {what}, " + ("once" if count == 1 else f"{count} times")
            if title in found:
                why = f"{found[title]['why']}; {why}"
            found[title] = {"title": title, "text": body, "why": why}
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


def _section_about(sections: Sequence[tuple[str, str]], phrase: str) -> tuple[str, str] | None:
    """The first section whose heading has the phrase, else the one that has it most often."""
    for title, body in sections:
        if phrase in title.lower():
            return title, body
    most = max(sections, key=lambda each: each[1].lower().count(phrase), default=("", ""))
    return most if phrase in most[1].lower() else None


def send_message(
    *,
    access: Access,
    person: User,
    text: str,
    batch: int | None = None,
    case: UUID | None = None,
) -> VoterMessage:
    """Write to an annotator; `batch` and `case` are the ids of what it is about.

    Raises PermissionDenied for everybody but admins, and Refused without a text, for somebody who
    is no annotator here, for a batch of theirs that was not submitted, and for a case on which
    their vote does not count or which is not decided.
    """
    if not access.is_admin:
        raise PermissionDenied("Admins write to voters.")
    if not text.strip():
        raise Refused("Write the message first.", field="text")
    member = Membership.objects.filter(user=person, benchmark=access.benchmark).first()
    if member is None or Role.ANNOTATOR not in member.roles:
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
        _note(message, access.user, "write to voter", batch=batch, case=message.case_id)
    return message


def new_messages(access: Access) -> int:
    """How many messages the person has not read."""
    return VoterMessage.objects.to(access.user.pk, access.benchmark).filter(seen_at=None).count()


def mark_seen(*, access: Access) -> int:
    """The person has read their messages; how many were new."""
    with transaction.atomic():
        new = VoterMessage.objects.to(access.user.pk, access.benchmark).filter(seen_at=None)
        rows = list(new.select_for_update())
        read = VoterMessage.objects.filter(pk__in=[each.pk for each in rows])
        read.update(seen_at=timezone.now())
        for each in rows:
            _note(each, access.user, "read message")
    return len(rows)


def _batch(access: Access, person: User, number: int | None) -> Batch | None:
    if number is None:
        return None
    mine = Batch.objects.of(person.pk, access.benchmark).exclude(status=BatchStatus.OPEN)
    found = mine.filter(pk=number).first()
    if found is None:
        raise Refused(f"{person} has submitted no batch {number}.", field="batch")
    return found


def _case(access: Access, person: User, public_id: UUID | None) -> EscalationCase | None:
    if public_id is None:
        return None
    vote = decided_votes(person.pk, access.benchmark).filter(case__public_id=public_id).first()
    if vote is None:
        why = f"No decided case {public_id} has a vote of {person}. Nothing is told of open ones."
        raise Refused(why, field="case")
    return vote.case


def _note(message: VoterMessage, actor: User, verb: str, **data: int | None) -> None:
    # In the scope of votes: a benchmark's events are read by other voters too.
    scope = f"{message.benchmark.slug}#votes"
    kept = {"person": message.person_id, **{name: key for name, key in data.items() if key}}
    audit.record(actor=actor, verb=verb, target=message, scope=scope, data=kept)
