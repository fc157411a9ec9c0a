"""What seeing the debate does to people's judgment: one row per arm (protocol.md 2.4, D25)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from annotate.models import ARMS, BatchItem, CaseKind, Reveal, Vote
from annotate.services.arms import first_response, order_seed, order_seed_in_batch
from corpus.models import Benchmark, Judgment, Source
from kit.sheets import Cell, Sheet, measured, percent, text
from kit.stats.clusters import Clustered, clustered_mean, clustered_share

NAMES = {
    Reveal.NONE: "No debate shown",
    Reveal.AFTER: "After a first judgment",
    Reveal.START: "From the start",
}


@dataclass(frozen=True)
class Judged:
    """One standing vote: its labels, time, what an expert says of the pair, the first position."""

    arm: str
    label: int | None
    first_label: int | None
    saw_positions: bool
    seconds: float | None
    truth: int | None
    shown_first: str
    item: int
    person: int
    abandoned: bool


def arms_sheet(benchmark: Benchmark) -> Sheet:
    """Accuracy, time and over-reliance per arm, each with its 95 % interval."""
    by_arm: dict[str, list[Judged]] = defaultdict(list)
    for each in _votes(benchmark):
        by_arm[each.arm].append(each)
    return Sheet(
        name="arms",
        title="What seeing the debate does to votes",
        header=(
            *("Arm", "Votes", "Cannot be judged", "With an expert’s label", "Right", "Seconds"),
            *("Followed a wrong agent shown first", "Talked out of it", "Talked into it"),
        ),
        rows=tuple(_row(arm, by_arm[arm]) for arm in ARMS if by_arm[arm]),
        notes=(
            "Right: of the votes on pairs that an expert labelled too, those that agree. Followed "
            "a wrong agent: where the position that stood first was wrong, votes that agree with "
            "it; where no debate was shown, the order it would have had, as a base rate. Talked "
            "out of it: of first judgments that were right, those changed to a wrong one after "
            "the positions; talked into it: of wrong ones, those changed to the right one. Whoever "
            "left after the first judgment decided nothing there and is left out of both.",
            "Votes of one case hang together, and so do those of one person: the intervals draw "
            "whole cases and whole people again (cluster bootstrap). There is none where all votes "
            "are of one case or one person.",
        ),
        empty="No vote was given on a case with positions yet.",
    )


def _row(arm: str, votes: Sequence[Judged]) -> tuple[Cell, ...]:
    judged = [each for each in votes if each.label is not None]
    known = [each for each in judged if each.truth is not None]
    led = [each for each in known if each.shown_first and _is_wrong_lead(each)]
    seen = [each for each in known if each.saw_positions and not each.abandoned]
    changed = [each for each in seen if each.first_label is not None]
    is_after = arm == Reveal.AFTER
    return (
        text(NAMES[Reveal(arm)]),
        Cell(len(votes)),
        Cell(len(votes) - len(judged)),
        Cell(len(known)),
        percent(_share(known, [each.label == each.truth for each in known])),
        measured(_seconds(votes), "seconds"),
        percent(_share(led, [each.label != each.truth for each in led])),
        *(
            percent(_moved(changed, was_right=was_right) if is_after else Clustered(0))
            for was_right in (True, False)
        ),
    )


def _is_wrong_lead(vote: Judged) -> bool:
    return (vote.shown_first == "yes") != bool(vote.truth)


def _moved(votes: Sequence[Judged], *, was_right: bool) -> Clustered:
    begun = [each for each in votes if (each.first_label == each.truth) is was_right]
    return _share(begun, [each.label != each.first_label for each in begun])


def _share(of: Sequence[Judged], hits: Sequence[bool]) -> Clustered:
    return clustered_share(hits, [each.item for each in of], [each.person for each in of])


def _seconds(votes: Sequence[Judged]) -> Clustered:
    timed = [each for each in votes if each.seconds is not None]
    return clustered_mean(
        [each.seconds or 0.0 for each in timed],
        [each.item for each in timed],
        [each.person for each in timed],
    )


def _votes(benchmark: Benchmark) -> list[Judged]:
    expert = Judgment.objects.standing().filter(
        source=Source.EXPERT,
        query=OuterRef("case__query"),
        passage=OuterRef("case__passage"),
    )
    items = BatchItem.objects.filter(batch=OuterRef("batch"), case=OuterRef("case"))
    rows = (
        Vote.objects.standing()
        .filter(case__query__domain__benchmark=benchmark, arm__in=ARMS)
        .exclude(case__kind=CaseKind.REFERENCE)  # it is the expert's label that others are held to
        .annotate(truth=Subquery(expert.values("label")[:1]), place=Subquery(items.values("place")))
        .select_related("case")
        .order_by("pk")
    )
    return [
        Judged(
            arm=vote.arm,
            label=vote.label,
            first_label=vote.first_label,
            saw_positions=vote.saw_positions,
            seconds=None if vote.elapsed_ms is None else vote.elapsed_ms / 1000,
            # Graded labels of experts count as relevant from 1 on.
            truth=None if vote.truth is None else int(vote.truth > 0),  # type: ignore[attr-defined]
            shown_first=first_response(vote.case.snapshot, seed=_seed(vote)),
            item=vote.case_id,
            person=vote.voter_id,
            abandoned=vote.abandoned,
        )
        for vote in rows.iterator(chunk_size=500)
    ]


def _seed(vote: Vote) -> int:
    """The seed of the order in which this voter saw the positions."""
    if vote.batch_id is None:
        return order_seed(vote.voter_id, vote.case_id)
    return order_seed_in_batch(vote.voter_id, vote.batch_id, vote.place)  # type: ignore[attr-defined]
