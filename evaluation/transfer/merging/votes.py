"""Cases and their votes: a case goes on with the votes of both."""

from collections.abc import Callable
from typing import Any, Final

from django.db.models import Q
from django.utils import timezone

from annotate.models import (
    Aspect,
    CaseStatus,
    EscalationCase,
    SupportLabel,
    Vote,
    VoteSlot,
    VoteStatus,
)
from annotate.support.services import experts_support
from annotate.voting.cases import close_by_verdict, note, settle
from annotate.voting.models import CaseKind
from corpus.models import Judgment, Passage, Source
from evaluation.transfer import references
from evaluation.transfer.merging.rows import Rows
from evaluation.transfer.writing import ALTERED

ELSEWHERE: Final = "its passage is not here, or has another text"
_BY_VOTES = Q(judgment__source=Source.HUMAN) | Q(support__source=Source.HUMAN)


def merge_votes(rows: Rows) -> None:
    """Every case with its votes; where an expert has decided, nobody is asked any more."""
    for row in EscalationCase.objects.of_voters().filter(query=rows.theirs).order_by("pk"):
        passage = rows.passage(row.passage_id)
        if passage is None:
            rows.leave(row, ELSEWHERE)
        else:
            _merge_case(rows, row, passage)
    undecided = EscalationCase.objects.of_voters().filter(query=rows.ours)
    for case in undecided.exclude(status=CaseStatus.CLOSED).select_related("aspect", "passage"):
        if verdict := _experts(case):
            close_by_verdict(verdict=verdict, actor=None)


def _experts(case: EscalationCase) -> Judgment | SupportLabel | None:
    if case.aspect is not None:
        return experts_support(case.aspect, case.passage)
    labels = Judgment.objects.standing().filter(query=case.query_id, passage=case.passage_id)
    return labels.filter(source=Source.EXPERT).first()


def _merge_case(rows: Rows, row: EscalationCase, passage: Passage) -> None:
    about = {"query": rows.ours, "passage": passage, "aspect": rows.led(Aspect, row.aspect_id)}
    case = EscalationCase.objects.of_voters().filter(**about).first()
    if case is None:
        case = add_case(rows, row, about)
    else:
        rows.match(row, case)
    add_votes(rows, row, case, close=settle)


def add_case(rows: Rows, row: EscalationCase, about: dict[str, Any]) -> EscalationCase:
    """A case that is not here; one that is over needs no slots."""
    made: EscalationCase = rows.add(
        row,
        **about,
        origin=f"{references.GONE}:there:{row.pk}",
        judgment=rows.led(Judgment, row.judgment_id),
        support=rows.led(SupportLabel, row.support_id),
    )
    made.origin = f"{references.GONE}:{made.pk}"
    made.save(update_fields=["origin"])
    if made.status != CaseStatus.OPEN:
        made.slots.all().delete()
    rows.told.note(made, "merge case", query=rows.ours.pk)
    return made


def add_votes(
    rows: Rows,
    row: EscalationCase,
    case: EscalationCase,
    *,
    close: Callable[[EscalationCase], None],
) -> None:
    """Add the votes of there; `close` says what becomes of an open case by the votes of both."""
    added = _add_votes(rows, row, case)
    standing = Vote.objects.standing().filter(case=case)
    EscalationCase.objects.filter(pk=case.pk).update(votes_in=standing.count())
    if case.status == CaseStatus.OPEN and added:
        _go_on(rows, row, case, added, close)


def _add_votes(rows: Rows, row: EscalationCase, case: EscalationCase) -> int:
    """Add what is not here, in its order, because their links are a chain; how many count more."""
    ours = list(Vote.objects.filter(case=case))
    known = {(rows.told.name(each.voter_id), each.created_at): each for each in ours}
    mine = {each.voter_id: each for each in ours if each.status == VoteStatus.STANDING}
    theirs = list(Vote.objects.filter(case=row).order_by("pk"))
    named = {(rows.told.name(each.voter_id), each.created_at) for each in theirs}
    # Under another name there, where somebody said who its giver is.
    renamed = {_said(known[each]): known[each] for each in known.keys() - named}
    moved = {
        rows.told.name(each.voter_id)
        for each in theirs
        if (rows.told.name(each.voter_id), each.created_at) not in known and _said(each) in renamed
    }
    added = 0
    for vote in theirs:
        giver = rows.told.name(vote.voter_id)
        if found := known.get((giver, vote.created_at)) or renamed.pop(_said(vote), None):
            rows.match(vote, found)
            if vote.status == VoteStatus.WITHDRAWN and found.status == VoteStatus.STANDING:
                rows.leave(vote, "it was taken back there, and counts here")
            continue
        if rows.told.is_forged(vote.voter_id):
            rows.leave(vote, "somebody of this installation gave no such vote here")
            continue
        if vote.link == ALTERED:
            rows.leave(vote, "the votes of its case were altered there")
            continue
        if giver in moved:
            rows.leave(vote, "who gave it has another name here")
            continue
        stands = vote.status == VoteStatus.STANDING
        earlier = mine.get(vote.voter_id) if stands else None
        after = None
        if earlier is not None and earlier.created_at > vote.created_at:
            after, earlier = earlier, None  # its giver corrected it here
        if earlier is not None:  # its giver corrected it there
            Vote.objects.filter(pk=earlier.pk).update(status=VoteStatus.SUPERSEDED)
        status = VoteStatus.SUPERSEDED if after else vote.status
        made = rows.add(vote, case=case, batch=None, status=status, superseded_by=after, link="")
        if earlier is not None:
            Vote.objects.filter(pk=earlier.pk).update(superseded_by=made)
        rows.told.note(made, "merge vote", case=case.pk)
        added += stands and earlier is None and after is None
    for vote in theirs:
        after = rows.led(Vote, vote.superseded_by_id)
        if after is not None and rows.is_new(Vote, vote.pk):
            Vote.objects.filter(pk=rows.led(Vote, vote.pk).pk).update(superseded_by=after)
    return added


def _said(vote: Vote) -> tuple[Any, ...]:
    return vote.created_at, vote.label, vote.reason, vote.elapsed_ms


def _go_on(
    rows: Rows,
    row: EscalationCase,
    case: EscalationCase,
    added: int,
    close: Callable[[EscalationCase], None],
) -> None:
    """Fewer votes are wanted; and the case is over as all of its votes say."""
    free = VoteSlot.objects.free(timezone.now()).filter(case=case).order_by("-place")
    VoteSlot.objects.filter(pk__in=[each.pk for each in free[:added]]).delete()
    by_votes = EscalationCase.objects.filter(pk=row.pk, status=CaseStatus.CLOSED)
    if case.kind != CaseKind.REFERENCE:  # where labels are experts' from the start
        by_votes = by_votes.filter(_BY_VOTES)
    judgment, support = rows.led(Judgment, row.judgment_id), rows.led(SupportLabel, row.support_id)
    if by_votes.exists() and (judgment or support) and _all_voted_there(rows, row, case):
        # The label that these votes made there is here: it is not made a second time.
        EscalationCase.objects.filter(pk=case.pk).update(
            status=CaseStatus.CLOSED,
            label=row.label,
            judgment=judgment,
            support=support,
            closed_at=row.closed_at,
        )
        note("close case", case, None, case, state="closed", label=row.label)
        return
    case.refresh_from_db()
    close(case)


def _all_voted_there(rows: Rows, row: EscalationCase, case: EscalationCase) -> bool:
    """Whether the votes that count here are those that counted there."""
    there = {
        found.pk
        for vote in Vote.objects.standing().filter(case=row)
        if (found := rows.led(Vote, vote.pk))
    }
    return there == set(Vote.objects.standing().filter(case=case).values_list("pk", flat=True))
