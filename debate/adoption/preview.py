"""What adopting a run would change: the rules of corpus/judgments/services.py as one query."""

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
    STANDS: "will count where there is no label",
    REPLACES: "will take the place of a label",
    WEAKER: "will be history current a weightier label",
    CASES: "will come before people",
}
# More than any source weighs: what is real weighs more than all of the practice model's.
_REAL: Final = 100


def preview_adoption(run: DebateRun) -> dict[str, Any]:
    """What becomes of the trial labels, as `adopt_run` would find them now.

    `stands`, `replaces` and `weaker` count labels that say `relevant`, `irrelevant` and in
    `total`. Of the pairs that come before people, the `cases`, `joined` have one already, which
    an earlier run opened: it is not opened again.
    """
    counted = _weighed(run.debates.all()).order_by().values_list("effect", "label")
    found: dict[str, Any] = {
        name: {"relevant": 0, "irrelevant": 0, "total": 0} for name in (STANDS, REPLACES, WEAKER)
    }
    for effect, label, count in counted.annotate(count=Count("pk")):
        found[effect]["relevant" if label == 1 else "irrelevant"] += count
        found[effect]["total"] += count
    waiting = caseless(run)
    cases = EscalationCase.objects.about_pairs()
    known = cases.filter(query=OuterRef("query"), passage=OuterRef("passage"))
    return found | {CASES: waiting.count(), "joined": waiting.filter(Exists(known)).count()}


def with_effect(run: DebateRun, debates: QuerySet[Debate], effect: str) -> QuerySet[Debate]:
    """The pairs that one of the preview's numbers counts."""
    if effect == CASES:
        return debates.filter(pk__in=caseless(run).values("pk"))
    trial = debates.filter(judgment__status=Status.TRIAL)
    standing = _current_label()
    if effect == STANDS:
        return trial.exclude(Exists(standing))
    own = OuterRef("own")
    wins = Q(weight__lte=own) if effect == REPLACES else Q(weight__gt=own)
    current = standing.annotate(weight=_weight("")).filter(wins)
    return trial.annotate(own=_weight("judgment__")).filter(Exists(current))


def _current_label() -> QuerySet[Judgment]:
    """The label that stands on an outer pair."""
    rows = Judgment.objects.standing().filter(query=OuterRef("query"), passage=OuterRef("passage"))
    return rows.order_by()


def _weighed(debates: QuerySet[Debate]) -> QuerySet[Any]:
    """Pairs with a trial label, and its `effect`."""
    current = _current_label().annotate(weight=_weight("")).values("weight")[:1]
    return (
        debates.filter(judgment__status=Status.TRIAL)
        .annotate(own=_weight("judgment__"), current=Subquery(current, output_field=IntegerField()))
        .annotate(
            effect=Case(
                When(current=None, then=Value(STANDS)),
                When(own__gte=F("current"), then=Value(REPLACES)),
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
