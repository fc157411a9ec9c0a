"""After the run: what its labels are worth, as tables (docs/protocol.md 1.4, 6.9, 6.10)."""

from collections.abc import Sequence

from django.core.cache import cache

from debate.measures import Comparison, compare, flips, persistence, timing
from debate.models import DebateRun, DebateStatus
from debate.references import Reference, judged
from debate.runs.figures import Address, pairs_url
from debate.runs.trajectories import Trajectory, trajectories
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.proportions import Proportion
from kit.stats.results import p_words


def report(
    run: DebateRun, *, reference: Reference | None = None, other: DebateRun | None = None
) -> list[ReportTable]:
    """The tables of a run; those against a reference or another run where these are given."""
    compared = dict(judged(run, reference.truths(run.pool))) if reference else {}
    sheets = _of_turns(run, {pk: item.truth for pk, item in compared.items()})
    if reference:
        sheets.insert(0, _accuracy(run, reference, compare(compared.values())))
    if other:
        sheets.append(_flips(run, other))
    return sheets


def _of_turns(run: DebateRun, truths: dict[int, int]) -> list[ReportTable]:
    """What the turns alone tell: seconds to read for a long run, so kept while nothing changes."""
    key = f"debate-turns:{run.pk}:{run.created_at.timestamp()}:{run.fence}:{run.done}"
    known: list[ReportTable] | None = cache.get(key) if run.is_over and not truths else None
    if known is not None:
        return list(known)
    pairs = list(trajectories(run))
    sheets = [_timing(run, pairs), _persistence(run, pairs, truths)]
    if run.is_over and not truths:
        cache.set(key, sheets, timeout=24 * 3600)
    return sheets


def _accuracy(run: DebateRun, reference: Reference, found: Comparison) -> ReportTable:
    to, key = pairs_url(run), reference.key
    escalated = to(truth=f"{key}:any", status="escalated")
    own, all_pairs = found.labelled, found.overall
    rows = (
        (
            text("Pairs the agents labelled"),
            percent(own.relevant, to(truth=f"{key}:1", label=1)),
            percent(own.irrelevant, to(truth=f"{key}:0", label=0)),
            percent(own.balanced, to(truth=f"{key}:any", label="any")),
            percent(found.escalation, escalated),
        ),
        (
            text("All pairs, disputed ones as people settled them"),
            percent(all_pairs.relevant),
            percent(all_pairs.irrelevant),
            percent(all_pairs.balanced),
            Cell(None, "percent"),
        ),
    )
    counts = (
        f"{found.items:,} pairs have a label in this reference; {found.escalation.hits:,} of "
        f"them were disputed and {found.invalid:,} got neither a label nor a dispute."
    )
    return ReportTable(
        name="accuracy",
        title=f"Labels compared with {reference.name}",
        header=("Over", "Relevant found", "Irrelevant found", "Balanced accuracy", "Disputed"),
        rows=rows if found.items else (),
        notes=(
            counts,
            "Recall of each class and their mean; a class without pairs is a dash. Intervals are "
            "Wilson's at 95 %, for the mean of two recalls by square-and-add.",
        ),
        empty="No pair of this run has a label in this reference.",
    )


def _timing(run: DebateRun, pairs: list[Trajectory]) -> ReportTable:
    found = timing([pair.spent() for pair in pairs])
    row = (
        text("A pair, on average"),
        Cell(found.sequential_s.n, url=pairs_url(run)(heard="yes")),
        measured(found.sequential_s, "seconds"),
        measured(found.parallel_s, "seconds"),
        measured(found.usd, "usd"),
    )
    return ReportTable(
        name="cost",
        title="Time and cost of a pair",
        header=("Over", "Pairs", "One agent after the other", "Agents of a round at once", "Cost"),
        rows=(row,) if pairs else (),
        notes=(
            "One after the other: the seconds of all answers. At once: a round lasts as long as "
            "its slowest agent. Behind a turn stand all its calls, also answers that could not be "
            "read, whichever run paid for them; intervals are Student's at 95 %.",
        ),
        empty="No turn of this run is stored yet.",
    )


def _persistence(run: DebateRun, pairs: list[Trajectory], truths: dict[int, int]) -> ReportTable:
    to = pairs_url(run)
    rows = persistence((pair.agreed, truths.get(pair.debate)) for pair in pairs)
    return ReportTable(
        name="persistence",
        title="Does an agreement last?",
        header=(
            "Round",
            "Pairs played",
            "Still agreed",
            "On the same label",
            "Wrong, of the agreements",
            "Wrong, of all that agreed first",
        ),
        rows=tuple(_persistence_row(number, row, to) for number, row in rows.items()),
        notes=(
            "Of the pairs that agreed in round 1, those that were debated on regardless. A run "
            "that stops at an agreement has round 1 alone. Wrong means: other than the reference "
            "that is chosen above.",
        ),
        empty="No pair agreed in round 1.",
    )


def _persistence_row(number: int, row: Sequence[Proportion], to: Address) -> tuple[Cell, ...]:
    played, agreed, same = (to(lasting=f"{number}{what}") for what in ("", ":agreed", ":same"))
    urls = (agreed, same, agreed, played)
    return (text(f"Round {number}"), Cell(row[0].n, url=played), *map(percent, row, urls))


def _flips(run: DebateRun, other: DebateRun) -> ReportTable:
    columns = ("query_id", "passage_id", "aspect_id", "label")
    ended = run.debates.exclude(status=DebateStatus.WAITING).order_by().values_list(*columns)
    theirs = other.debates.exclude(status=DebateStatus.WAITING).order_by().values_list(*columns)
    first = {tuple(pair): label for *pair, label in ended.iterator()}
    found = flips(
        (first[tuple(pair)], label) for *pair, label in theirs.iterator() if tuple(pair) in first
    )
    to = pairs_url(run)

    def cell(one: int | None, two: int | None) -> Cell:
        name = {1: "1", 0: "0", None: "none"}
        narrowed = to(other=f"{other.pk}:{name[one]}:{name[two]}")
        return Cell(found.cells[one, two], url=narrowed if found.cells[one, two] else "")

    names: list[tuple[str, int | None]]
    names = [("relevant", 1), ("not relevant", 0), ("no label", None)]
    p_value = "no label changed"
    if found.p_value is not None:
        p_value = f"McNemar's exact test: {p_words(found.p_value)}"
    share = found.flipped
    words = f"{share.hits:,} of {share.n:,} labels that both runs gave differ"
    if share.value is not None and share.low is not None and share.high is not None:
        words += f" ({share.value:.1%}, {share.low:.1%} to {share.high:.1%})"
    return ReportTable(
        name="flips",
        title=f"Labels here and in {other.name}",
        header=("Here", *(f"There {name}" for name, _ in names)),
        rows=tuple(
            (text(f"Here {name}"), *(cell(one, two) for _, two in names)) for name, one in names
        )
        if found.cells
        else (),
        notes=(f"{words}; {p_value}.",),
        empty="The two runs have no pair in common.",
    )
