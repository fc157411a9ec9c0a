"""What adopting a run would change, told before: the rules of label_rules.py as one query."""

from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)

from annotate.models import EscalationCase
from corpus.judgments.models import PRECEDENCE
from corpus.models import Judgment, Status
from debate.adoption.services import caseless
from debate.models import Debate, DebateRun

# What becomes of a trial label; of a pair without one, whether it comes before people.
STANDS, REPLACES, WEAKER, CASES = "stands", "replaces", "weaker", "cases"
EFFECTS: Final = {
    STANDS: "will stand where no label stands",
    REPLACES: "will take the place of a label",
    WEAKER: "will be history beside a weightier label",
    CASES: "will come before people",
}
# More than any source weighs: what is real weighs more than all of the practice model's.
_REAL: Final = 100


@dataclass(frozen=True)
class Effect:
    """Labels, by whether they say relevant."""

    relevant: int = 0
    irrelevant: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.relevant + self.irrelevant


@dataclass(frozen=True)
class Preview:
    """Trial labels by what becomes of them; pairs that come before people.

    `joined` of these pairs have a case already, which an earlier run opened: it is not opened
    again.
    """

    stands: Effect = field(default_factory=Effect)
    replaces: Effect = field(default_factory=Effect)
    weaker: Effect = field(default_factory=Effect)
    cases: int = 0
    joined: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether adopting changes nothing."""
        return not (self.stands.total or self.replaces.total or self.weaker.total or self.cases)


def preview_adoption(run: DebateRun) -> Preview:
    """The counts, as `adopt_run` would find them now."""
    counted = _weighed(run.debates.all()).order_by().values_list("effect", "label")
    found: dict[str, dict[int, int]] = {}
    for effect, label, count in counted.annotate(count=Count("pk")):
        found.setdefault(effect, {})[label or 0] = count
    effects = {name: Effect(counts.get(1, 0), counts.get(0, 0)) for name, counts in found.items()}
    waiting = caseless(run)
    known = EscalationCase.objects.filter(query=OuterRef("query"), passage=OuterRef("passage"))
    joined = waiting.annotate(known=Subquery(known.values("pk")[:1])).exclude(known=None)
    return Preview(**effects, cases=waiting.count(), joined=joined.count())


def with_effect(run: DebateRun, debates: QuerySet[Debate], effect: str) -> QuerySet[Debate]:
    """The pairs that one of the preview's numbers counts."""
    if effect == CASES:
        return debates.filter(pk__in=caseless(run).values("pk"))
    trial = debates.filter(judgment__status=Status.TRIAL)
    standing = _beside()
    if effect == STANDS:
        return trial.exclude(Exists(standing))
    own = OuterRef("own")
    wins = Q(weight__lte=own) if effect == REPLACES else Q(weight__gt=own)
    beside = standing.annotate(weight=_weight("")).filter(wins)
    return trial.annotate(own=_weight("judgment__")).filter(Exists(beside))


def _beside() -> QuerySet[Judgment]:
    """The label that stands on an outer pair."""
    rows = Judgment.objects.standing().filter(query=OuterRef("query"), passage=OuterRef("passage"))
    return rows.order_by()


def _weighed(debates: QuerySet[Debate]) -> QuerySet[Any]:
    """Pairs with a trial label, and its `effect`."""
    beside = _beside().annotate(weight=_weight("")).values("weight")[:1]
    return (
        debates.filter(judgment__status=Status.TRIAL)
        .annotate(own=_weight("judgment__"), beside=Subquery(beside, output_field=IntegerField()))
        .annotate(
            effect=Case(
                When(beside=None, then=Value(STANDS)),
                When(own__gte=F("beside"), then=Value(REPLACES)),
                default=Value(WEAKER),
            )
        )
    )


def _weight(prefix: str) -> Case:
    """`corpus.judgments.services.weigh` as a number that orders in the same way."""
    sources = [
        When(**{f"{prefix}source": source, f"{prefix}practice": practice}, then=Value(weight))
        for source, rank in PRECEDENCE.items()
        for practice, weight in ((True, rank), (False, rank + _REAL))
    ]
    return Case(*sources, default=Value(-1), output_field=IntegerField())
