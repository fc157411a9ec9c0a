"""What a trial found: alterations that misled, or another prompt compared with the run's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Q
from django.urls import reverse

from debate.measures import Comparison, Judged, Spent, Timing, compare, flips, timing
from debate.models import DebateRun, DebateStatus, Trial, TrialItem, TrialKind
from debate.references import Reference
from debate.runs.trajectories import CallCost, Trajectory, trajectories, unread_calls
from debate.trials.adversarial import NAMES
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.paired import mcnemar
from kit.stats.proportions import proportion
from kit.stats.results import p_words
from llm.models import Call

_NAMES = ((1, "relevant"), (0, "not relevant"), (None, "no label"))


def adversarial_sheet(run: DebateRun) -> ReportTable:
    """How often each alteration turned pairs that the run had agreed irrelevant, by trial."""
    items = TrialItem.objects.filter(trial__run=run, trial__kind=TrialKind.ADVERSARIAL)
    counted = items.order_by().values("trial", "bait").annotate(**_COUNTS)
    return ReportTable(
        name="canaries",
        title="Adversarial passages",
        header=(
            *("Alteration", "Drawn", "Judged", "Turned relevant"),
            *("Flip rate", "Disputed", "Unreadable"),
        ),
        rows=tuple(_adversarial_row(run, row) for row in counted.order_by("trial", "bait")),
        notes=(
            "Passages that the agents had agreed to be irrelevant, with a text put in that holds "
            "no answer. A pair that turns relevant was misled. Intervals are exact.",
        ),
        empty="No adversarial passage was sent through this run’s agents yet.",
    )


def _adversarial_row(run: DebateRun, row: Mapping[str, Any]) -> tuple[Cell, ...]:
    page = reverse("trial", args=[run.benchmark.slug, row["trial"]])
    to = f"{page}#items-title"
    return (
        text(f"{NAMES.get(row['bait'], row['bait'])} (trial {row['trial']})", page),
        Cell(row["drawn"], url=to),
        Cell(row["ended"], url=to),
        Cell(row["flipped"], url=to),
        percent(proportion(row["flipped"], row["ended"], exact=True), to),
        Cell(row["disputed"], url=to),
        Cell(row["unreadable"], url=to),
    )


def prompt_sheets(trial: Trial, reference: Reference | None) -> list[ReportTable]:
    """The new prompt compared with the run's own, over the pairs that are tried so far."""
    items = list(trial.items.filter(status__in=_TRIED).select_related("debate"))
    # (of the run, of the trial) over the same pairs.
    present = trajectories(trial.run, {item.debate_id for item in items})
    times = timing([pair.spent() for pair in present]), timing(_spent(items))
    sheets = [_costs(times), _label_flips(items)]
    if reference:
        sheets.insert(0, _accuracies(items, reference))
    return sheets


_ENDED = (DebateStatus.AGREED, DebateStatus.ESCALATED)
_TRIED = (*_ENDED, DebateStatus.UNREADABLE, DebateStatus.REFUSED)
_COUNTS = {
    "drawn": Count("pk"),
    "ended": Count("pk", filter=Q(status__in=_ENDED)),
    "flipped": Count("pk", filter=Q(label=1)),
    "disputed": Count("pk", filter=Q(status=DebateStatus.ESCALATED)),
    "unreadable": Count("pk", filter=Q(status=DebateStatus.UNREADABLE)),
}


def _spent(items: Sequence[TrialItem]) -> list[Spent]:
    pairs = {item.pk: Trajectory(item.debate_id) for item in items}
    asked = {call: (item.pk, n, agent) for item in items for n, agent, call in item.calls}
    names = ("account_id", "subject", "status", "elapsed_s", "usd", "input_tokens", "output_tokens")
    places = []
    for pk, account, subject, *took in Call.objects.filter(pk__in=asked).values_list("pk", *names):
        item, number, agent = asked[pk]
        pairs[item].add(number, agent, CallCost(*took))
        places.append((pk, account, subject, asked[pk]))
    for (item, number, agent), call in unread_calls(places):
        pairs[item].add(number, agent, call)
    return [pair.spent() for pair in pairs.values()]


def _accuracies(items: Sequence[TrialItem], reference: Reference) -> ReportTable:
    truths = reference.truths(items[0].debate.run.pool if items else None)
    judged = [
        (truth, item)
        for item in items
        if (truth := truths.get((item.debate.query_id, item.debate.passage_id))) is not None
    ]
    old = compare(Judged(t, i.debate.label, i.debate.status == _DISPUTED) for t, i in judged)
    new = compare(Judged(t, i.label, i.status == _DISPUTED) for t, i in judged)
    both = [(t, i) for t, i in judged if i.label is not None and i.debate.label is not None]
    better = sum(i.label == t != i.debate.label for t, i in both)
    worse = sum(i.debate.label == t != i.label for t, i in both)
    p_value = mcnemar(worse, better)
    return ReportTable(
        name="accuracy",
        title=f"Both compared with {reference.name}",
        header=("Prompt", "Pairs", "Relevant found", "Irrelevant found", "Balanced", "Disputed"),
        rows=(_accuracy_row("present", old), _accuracy_row("new", new)) if judged else (),
        notes=(
            f"Of {len(both):,} pairs that both labelled, the new prompt alone is right in "
            f"{better:,} and the present one alone in {worse:,}"
            + ("." if p_value is None else f"; McNemar’s exact test: {p_words(p_value)}."),
        ),
        empty="None of these pairs has a label in this reference.",
    )


def _accuracy_row(name: str, found: Comparison) -> tuple[Cell, ...]:
    return (
        text(name),
        Cell(found.items, url=_ITEMS),
        percent(found.labelled.relevant, _ITEMS),
        percent(found.labelled.irrelevant, _ITEMS),
        percent(found.labelled.balanced, _ITEMS),
        percent(found.escalation, _ITEMS),
    )


def _label_flips(items: Sequence[TrialItem]) -> ReportTable:
    found = flips((item.debate.label, item.label) for item in items)
    rows = tuple(
        (
            text(f"Present: {name}"),
            *(Cell(found.cells[one, two], url=_ITEMS) for two, _ in _NAMES),
        )
        for one, name in _NAMES
    )
    p_value = found.p_value
    words = "No label changed."
    if p_value is not None:
        words = (
            f"{found.flipped.hits:,} of {found.flipped.n:,} labels changed; McNemar’s exact "
            f"test that both directions are equally likely: {p_words(p_value)}."
        )
    return ReportTable(
        name="labels",
        title="Labels of the present and the new prompt",
        header=("", *(f"New: {name}" for _, name in _NAMES)),
        rows=rows if items else (),
        notes=(words,),
        empty="No pair is tried yet.",
    )


def _costs(times: tuple[Timing, Timing]) -> ReportTable:
    rows = tuple(
        (
            text(name),
            Cell(found.sequential_s.n, url=_ITEMS),
            measured(found.sequential_s, "seconds"),
            measured(found.parallel_s, "seconds"),
            measured(found.usd, "usd"),
        )
        for name, found in zip(("present", "new"), times, strict=True)
    )
    return ReportTable(
        name="cost",
        title="Time and cost of a pair",
        header=("Prompt", "Pairs", "In sequence", "In parallel", "Cost"),
        rows=rows if times[1].sequential_s.n else (),
        empty="No pair is tried yet.",
    )


_DISPUTED = DebateStatus.ESCALATED
# The list of pairs on the trial's page.
_ITEMS = "#items-title"
