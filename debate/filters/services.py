"""What a filter run leaves: a new pool of the pairs that were not discarded, and a report.

The report of a filter as tables: who discards, who does so alone, who agrees with whom."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import F

from corpus.models import Pool, PoolEntry
from debate.models import Debate, DebateRun, DebateStatus, RunKind, Turn
from debate.runs.figures import Address, pairs_url
from kit import audit
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.runs.models import RunStatus
from kit.stats.proportions import proportion

_VOTES = {"yes": "T", "no": "F", "": "?"}


class FilterReport(NamedTuple):
    """How the models of a filter voted, named J1, J2, ... in their order.

    `patterns` counts the pairs by these votes: T, F, or ? for none that could be read.
    """

    discarded: int
    kept: int
    failed: int
    skipped: int
    models: dict[str, str]
    patterns: dict[str, int]

    def votes(self, place: int) -> Counter[str]:
        """One model's answers: T, F or ?."""
        found: Counter[str] = Counter()
        for pattern, number in self.patterns.items():
            found[pattern[place]] += number
        return found

    def where(self, condition: Callable[[str], bool]) -> int:
        """Pairs whose votes are so."""
        return sum(number for pattern, number in self.patterns.items() if condition(pattern))


# Pairs that not every model spoke about: nothing may be discarded on the word of the others.
_UNSEEN = (DebateStatus.FAILED, DebateStatus.REFUSED)
_KEPT = (DebateStatus.KEPT, *_UNSEEN)


def filter_report(run: DebateRun) -> FilterReport:
    """The report of a filter run, read from its turns."""
    status = Counter(run.debates.values_list("status", flat=True))
    return FilterReport(
        discarded=status[DebateStatus.JUDGED],
        kept=status[DebateStatus.KEPT],
        failed=sum(status[each] for each in _UNSEEN),
        skipped=status[DebateStatus.SKIPPED_NO_ANSWER],
        models={f"J{n}": choice["model"] for n, choice in enumerate(run.model_choices, start=1)},
        patterns=dict(_patterns(run).most_common()),
    )


def keep_pairs(*, run: DebateRun, name: str = "", actor: User | None) -> Pool:
    """A pool of every pair that the filter did not discard, with ranks and links to duplicates.

    A pair whose calls failed or were refused was not seen by all and is kept; pairs of queries
    without answers are set aside. Raises Refused for a run that is no filter or not done, a name
    that is taken, and a filter that kept nothing.
    """
    if run.kind != RunKind.FILTER:
        raise Refused("Only a filter run leaves a pool of kept pairs.")
    if run.status != RunStatus.DONE:
        raise Refused("The filter is not done yet.")
    name = (name.strip() or f"{run.pool.name[:80]}, filtered by run {run.pk}")[:120]
    if Pool.objects.filter(benchmark=run.benchmark, name=name).exists():
        raise Refused(f"There is a pool named {name!r} already.", field="name")
    kept = run.debates.filter(status__in=_KEPT)
    if not kept.exists():
        raise Refused("The filter kept nothing.")
    report = filter_report(run)
    with transaction.atomic():
        pool = Pool.objects.create(
            benchmark=run.benchmark,
            name=name,
            corpus_version_id=run.pool.corpus_version_id,
            provenance=_provenance(run, report),
        )
        _copy_entries(run, pool)
        data = {"run": run.pk, "pairs": pool.entries.count()}
        scope = run.benchmark.slug
        audit.record(actor=actor, verb="build pool", target=pool, scope=scope, data=data)
    return pool


def _provenance(run: DebateRun, report: FilterReport) -> dict[str, Any]:
    return {
        "kind": RunKind.FILTER.value,
        "pool": run.pool_id,
        "run": run.pk,
        "models": [choice["model"] for choice in run.model_choices],
        "pairs": report.kept + report.failed,
        "discarded": report.discarded,
        "failed": report.failed,
        "skipped_no_answer": report.skipped,
        "patterns": report.patterns,
        "practice": run.practice,
    }


def _copy_entries(run: DebateRun, pool: Pool) -> None:
    """The kept pairs' entries, in the old pool's order, by one statement."""
    entries, debates = PoolEntry._meta.db_table, Debate._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {entries} (pool_id, query_id, passage_id, systems) "  # noqa: S608
            f"SELECT %s, e.query_id, e.passage_id, e.systems FROM {entries} e JOIN {debates} d "
            "ON d.query_id = e.query_id AND d.passage_id = e.passage_id AND d.run_id = %s "
            "WHERE e.pool_id = %s AND d.status IN (%s, %s, %s) ORDER BY e.id",
            [pool.pk, run.pk, run.pool_id, *(each.value for each in _KEPT)],
        )
    _copy_duplicates(run.pool, pool)


def _copy_duplicates(old: Pool, new: Pool) -> None:
    links = old.entries.exclude(same_text_as=None).annotate(first=F("same_text_as__passage_id"))
    pairs = list(links.values_list("query_id", "passage_id", "first"))
    if not pairs:
        return
    entries = new.entries.filter(query__in={query for query, *_ in pairs})
    rows = {(row.query_id, row.passage_id): row for row in entries}
    changed = []
    for query, passage, first in pairs:
        if (query, passage) in rows and (query, first) in rows:
            rows[query, passage].same_text_as = rows[query, first]
            changed.append(rows[query, passage])
    PoolEntry.objects.bulk_update(changed, ["same_text_as"], batch_size=500)


def _patterns(run: DebateRun) -> Counter[str]:
    turns = Turn.objects.filter(debate__run=run).order_by("debate_id", "agent")
    rows = turns.values_list("debate_id", "response").iterator()
    by_pair = groupby(rows, key=lambda row: row[0])
    return Counter("".join(_VOTES[response] for _, response in group) for _, group in by_pair)


_PER_PATTERN = {"T": "true", "F": "false", "?": "not read"}


def filter_sheets(run: DebateRun) -> list[ReportTable]:
    """The tables of a filter run, in the order of the page; kept once the run is over."""
    key = f"filter-report:{run.pk}:{run.created_at.timestamp()}:{run.fence}:{run.done}"
    found: FilterReport | None = cache.get(key) if run.is_over else None
    if found is None:
        found = filter_report(run)
        if run.is_over:
            cache.set(key, found, timeout=24 * 3600)
    to = pairs_url(run)
    return [_models(found, to), _overlaps(found, to), _filter_report_patterns(found, to)]


def _models(found: FilterReport, to: Address) -> ReportTable:
    return ReportTable(
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
        empty="No pair was total yet.",
    )


def _model_row(place: int, judge: str, found: FilterReport, to: Address) -> tuple[Cell, ...]:
    votes = found.votes(place)
    alone = found.where(lambda votes: votes[place] == "F" and votes.count("F") == 1)
    # Pairs that it alone would have discarded or, with others, was outvoted on.
    overruled = found.where(lambda votes: votes[place] == "F" and set(votes) != {"F"})
    return (
        text(f"{judge}: {found.models[judge]}"),
        Cell(votes["T"], url=to(votes=f"{judge}:T")),
        Cell(votes["F"], url=to(votes=f"{judge}:F")),
        Cell(votes["?"], url=to(votes=f"{judge}:%3F")),
        percent(proportion(votes["F"], votes["T"] + votes["F"]), to(votes=f"{judge}:F")),
        Cell(alone, url=to(votes=f"{judge}:alone")),
        Cell(overruled, url=to(votes=f"{judge}:overruled")),
    )


def _overlap_row(a: int, b: int, found: FilterReport, to: Address) -> tuple[Cell, ...]:
    one, two = (list(found.models)[place] for place in (a, b))
    pair, url = itemgetter(a, b), to(votes=f"{one}%2B{two}")
    both = found.where(lambda votes: pair(votes) == ("F", "F"))
    either = found.where(lambda votes: "F" in pair(votes))
    read = found.where(lambda votes: "?" not in pair(votes))
    same = found.where(lambda votes: pair(votes) in (("T", "T"), ("F", "F")))
    return (
        text(f"{one} and {two}"),
        Cell(both, url=url),
        percent(proportion(both, either), url),
        Cell(same / read if read else None, "percent"),
    )


def _overlaps(found: FilterReport, to: Address) -> ReportTable:
    places = combinations(range(len(found.models)), 2)
    return ReportTable(
        name="filter-overlap",
        title="What two models discard together",
        header=("Models", "Both false", "Of what either calls false", "Same answer"),
        rows=tuple(_overlap_row(a, b, found, to) for a, b in places),
        notes=("Same answer: of the pairs on which both could be read.",),
        empty="Overlap needs two models.",
    )


def _filter_report_patterns(found: FilterReport, to: Address) -> ReportTable:
    total = sum(found.patterns.values())
    return ReportTable(
        name="filter-votes",
        title="How the models voted together",
        header=("Votes", "Pairs", "Share"),
        rows=tuple(
            (
                text(f"{pattern}: {', '.join(_PER_PATTERN[vote] for vote in pattern)}"),
                Cell(count, url=to(votes=pattern.replace("?", "%3F"))),
                percent(proportion(count, total), to(votes=pattern.replace("?", "%3F"))),
            )
            for pattern, count in found.patterns.items()
        ),
        empty="No pair was total yet.",
    )
