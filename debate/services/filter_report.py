"""The report of a filter as tables: who discards, who does so alone, who agrees with whom."""

from itertools import combinations

from django.core.cache import cache

from debate.models import DebateRun
from debate.services.filtering import FilterReport, ModelVotes, filter_report
from debate.services.report import Address, pairs_url
from kit.sheets import Cell, Sheet, percent, text
from kit.stats.proportions import proportion

_PER_PATTERN = {"T": "true", "F": "false", "?": "not read"}


def filter_sheets(run: DebateRun) -> list[Sheet]:
    """The tables of a filter run, in the order of the page; kept once the run is over."""
    key = f"filter-report:{run.pk}:{run.created_at.timestamp()}:{run.fence}:{run.done}"
    found: FilterReport | None = cache.get(key) if run.is_over else None
    if found is None:
        found = filter_report(run)
        if run.is_over:
            cache.set(key, found, timeout=24 * 3600)
    to = pairs_url(run)
    return [_models(found, to), _overlaps(found, to), _patterns(found, to)]


def _models(found: FilterReport, to: Address) -> Sheet:
    return Sheet(
        name="filter-models",
        title="What each model would discard",
        header=(
            *("Model", "True", "False", "Not read", "Share false"),
            *("False alone", "False, and outvoted"),
        ),
        rows=tuple(_model_row(place, each, found, to) for place, each in enumerate(found.models)),
        notes=(
            f"{found.discarded:,} pairs were discarded, since every model said false; "
            f"{found.kept:,} were kept, {found.failed:,} failed and are kept with them, "
            f"{found.skipped:,} have no answers.",
            "False alone: no other model said false. A model that often stands alone discards "
            "nothing by it; one that hardly says false keeps the filter from discarding.",
        ),
        empty="No pair was heard yet.",
    )


def _model_row(place: int, each: ModelVotes, found: FilterReport, to: Address) -> tuple[Cell, ...]:
    alone = sum(
        count
        for pattern, count in found.patterns.items()
        if pattern[place : place + 1] == "F" and pattern.count("F") == 1
    )
    judge = each.judge
    return (
        text(f"{judge}: {each.model}"),
        Cell(each.true, url=to(votes=f"{judge}:T")),
        Cell(each.false, url=to(votes=f"{judge}:F")),
        Cell(each.unread, url=to(votes=f"{judge}:%3F")),
        percent(proportion(each.false, each.true + each.false), to(votes=f"{judge}:F")),
        Cell(alone, url=to(votes=f"{judge}:alone")),
        Cell(each.overruled, url=to(votes=f"{judge}:overruled")),
    )


def _overlaps(found: FilterReport, to: Address) -> Sheet:
    shares = {(one, two): share for one, two, share in found.agreements}
    rows = []
    for (a, one), (b, two) in combinations(enumerate(found.models), 2):
        both = sum(n for pattern, n in found.patterns.items() if pattern[a] == pattern[b] == "F")
        either = sum(n for pattern, n in found.patterns.items() if "F" in (pattern[a], pattern[b]))
        rows.append(
            (
                text(f"{one.judge} and {two.judge}"),
                Cell(both, url=to(votes=f"{one.judge}%2B{two.judge}")),
                percent(proportion(both, either), to(votes=f"{one.judge}%2B{two.judge}")),
                Cell(shares[one.judge, two.judge], "percent"),
            )
        )
    return Sheet(
        name="filter-overlap",
        title="What two models discard together",
        header=("Models", "Both false", "Of what either calls false", "Same answer"),
        rows=tuple(rows),
        notes=("Same answer: of the pairs on which both could be read.",),
        empty="Overlap needs two models.",
    )


def _patterns(found: FilterReport, to: Address) -> Sheet:
    heard = sum(found.patterns.values())
    return Sheet(
        name="filter-votes",
        title="How the models voted together",
        header=("Votes", "Pairs", "Share"),
        rows=tuple(
            (
                text(f"{pattern}: {', '.join(_PER_PATTERN[vote] for vote in pattern)}"),
                Cell(count, url=to(votes=pattern.replace("?", "%3F"))),
                percent(proportion(count, heard), to(votes=pattern.replace("?", "%3F"))),
            )
            for pattern, count in found.patterns.items()
        ),
        empty="No pair was heard yet.",
    )
