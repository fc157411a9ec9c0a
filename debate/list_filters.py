"""What links of the control room and of reports narrow the list of pairs by, as conditions."""

from collections.abc import Callable
from typing import Final

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, Concat

from annotate.models import CaseStatus
from corpus.models import Status
from debate.dream.lineup import ADJUDICATOR
from debate.escalation import ORIGIN
from debate.models import Debate, DebateRun, DebateStatus, RunKind, Turn
from debate.services.adoption_preview import EFFECTS, with_effect
from kit.table_pages import Choices

ALIKE: Final = (("same", "the same answer"), ("different", "different answers"))
CASES: Final = (
    ("any", "before people"),
    ("opened", "that the run brought before people"),
    ("open", "that people judge now"),
    ("closed", "that people decided"),
)
HEARD: Final = (("yes", "with answers of models"), ("no", "without any"))
WEIGHTS: Final = (
    (Status.STANDING.value, "stands"),
    (Status.TRIAL.value, "is on trial"),
    (Status.SUPERSEDED.value, "is history"),
)
VOTES: Final = {"T": "yes", "F": "no", "?": ""}
_LASTING: Final = {"played": "played", "agreed": "in agreement", "same": "agreed as in round 1"}


def alike_of(run: DebateRun) -> Callable[[QuerySet[Debate], str], QuerySet[Debate]]:
    """Pairs whose agents gave the same answer in the round that decided, or did not.

    A debate's outcome tells it, and an index leads there; of other kinds the turns are read.
    """
    if run.kind != RunKind.DEBATE:
        return _alike
    same, different = [DebateStatus.AGREED], [DebateStatus.ESCALATED, DebateStatus.ADJUDICATED]
    return lambda rows, value: rows.filter(status__in=same if value == "same" else different)


def _alike(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    last = Subquery(_spoken().order_by("-round").values("round")[:1])
    rows = rows.annotate(decisive=Coalesce("round", last)).exclude(decisive=None)
    return rows.filter(_agreeing("decisive") if value == "same" else _differing("decisive"))


def with_case(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs that have a case, by how it came and how it stands."""
    if value == "opened":
        own = Concat(Value(ORIGIN), Cast("pk", CharField()), output_field=CharField())
        return rows.filter(case__origin=own)
    if value == "open":
        return rows.exclude(case=None).exclude(case__status=CaseStatus.CLOSED)
    rows = rows.exclude(case=None)
    return rows.filter(case__status=CaseStatus.CLOSED) if value == "closed" else rows


def with_weight(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs whose label stands, waits on trial, or is history."""
    return rows.filter(judgment__status=value)


def open_after(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs without agreement after that round: agreed later, disputed, or ruled on."""
    lasting = Q(status__in=(DebateStatus.ESCALATED, DebateStatus.ADJUDICATED))
    return rows.filter(lasting | Q(status=DebateStatus.AGREED, round__gt=int(value)))


def heard(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs about which somebody was asked, or nobody."""
    turns = Exists(Turn.objects.filter(debate=OuterRef("pk")))
    return rows.filter(turns if value == "yes" else ~turns)


def lasting(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs that agreed in round 1 and were played in a later round: "3", "3:agreed", "3:same"."""
    number, _, how = value.partition(":")
    rows = rows.filter(Exists(_said(int(number)))).filter(_agreeing(1))
    if how == "agreed":
        return rows.filter(_agreeing(int(number)))
    if how == "same":
        same = [_all_say(label, 1) & _all_say(label, int(number)) for label in (0, 1)]
        return rows.filter(same[0] | same[1])
    return rows


def lasting_choices(asked: str) -> Choices:
    """What a number of the table of persistence counts, where a link names it."""
    number, _, how = asked.partition(":")
    how = how or "played"
    if number not in {"1", "2", "3", "4", "5"} or how not in _LASTING:
        return []
    return [(asked, f"agreed in round 1, {_LASTING[how]} in round {number}")]


def with_votes(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs of a filter by its models' votes: "FFT", "J2:F", "J2:alone", "J1+J2"."""
    judge, colon, how = value.partition(":")
    if colon:
        said = "F" if how in ("alone", "overruled") else how
        rows = rows.filter(_voted(judge, said))
        others = Turn.objects.filter(debate=OuterRef("pk")).exclude(agent=judge)
        if how == "alone":
            return rows.exclude(Exists(others.filter(response="no")))
        return rows.filter(Exists(others.exclude(response="no"))) if how == "overruled" else rows
    if "+" in value:
        for each in value.split("+"):
            rows = rows.filter(_voted(each, "F"))
        return rows
    for place, vote in enumerate(value, start=1):
        rows = rows.filter(_voted(f"J{place}", vote))
    return rows


def vote_choices(run: DebateRun, asked: str) -> Choices:
    """What a number of the filter's report counts, where a link names it."""
    judges = [f"J{number}" for number in range(1, 1 + len(run.seats))]
    judge, colon, how = asked.partition(":")
    words = {"T": "said true", "F": "said false", "?": "was not read"}
    words |= {"alone": "alone said false", "overruled": "said false and was outvoted"}
    if colon:
        return [(asked, f"{judge} {words[how]}")] if judge in judges and how in words else []
    if "+" in asked:
        return [(asked, f"{asked} said false")] if set(asked.split("+")) <= set(judges) else []
    if len(asked) == len(judges) and set(asked) <= set(VOTES):
        return [(asked, f"votes {asked}")]
    return []


def effect_of(run: DebateRun) -> Callable[[QuerySet[Debate], str], QuerySet[Debate]]:
    """The filter by what adoption would do to a pair."""
    return lambda rows, value: with_effect(run, rows, value)


def effect_choices(asked: str) -> Choices:
    """What a number of an adoption's preview counts, where a link names it."""
    return [(asked, EFFECTS[asked])] if asked in EFFECTS else []


def _voted(judge: str, vote: str) -> Exists:
    return Exists(Turn.objects.filter(debate=OuterRef("pk"), agent=judge, response=VOTES[vote]))


def _spoken() -> QuerySet[Turn]:
    return Turn.objects.filter(debate=OuterRef("pk")).exclude(agent=ADJUDICATOR)


def _said(round: int | str) -> QuerySet[Turn]:
    """What the agents said in a round: its number, or the name of what holds it."""
    number = OuterRef(round) if isinstance(round, str) else round
    return _spoken().filter(round=number)


def _all_say(label: int, round: int | str) -> Q:
    said = _said(round)
    other = Q(label=None) | ~Q(label=label)
    return Q(Exists(said.filter(label=label))) & ~Q(Exists(said.filter(other)))


def _agreeing(round: int | str) -> Q:
    return _all_say(0, round) | _all_say(1, round)


def _differing(round: int | str) -> Q:
    said = _said(round)
    return Q(Exists(said.filter(label=1))) & Q(Exists(said.filter(label=0)))
