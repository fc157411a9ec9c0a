"""What a filter run leaves: a new pool of the pairs that were not discarded, and a report.

The report of a filter as tables: who discards, who does so alone, who agrees with whom."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import F, QuerySet

from corpus.models import Pool, PoolEntry
from debate.models import Debate, DebateRun, DebateStatus, RunKind, Turn
from debate.results.report import Address, pairs_url
from kit import audit
from kit.errors import Refused
from kit.runs import RunStatus
from kit.sheets import Cell, Sheet, percent, text
from kit.stats.proportions import proportion

KIND = "filter"
_VOTES = {"yes": "T", "no": "F", "": "?"}


@dataclass(frozen=True)
class ModelVotes:
    """One model's answers: supported, not supported, unreadable or failed.

    `overruled`: pairs that it alone would have discarded or, with others, was outvoted on: its
    false did not lead to a discard.
    """

    judge: str
    model: str
    true: int
    false: int
    unread: int
    overruled: int


@dataclass(frozen=True)
class FilterReport:
    """How the models of a filter voted.

    `patterns` counts the pairs by their votes in the order of the models: T, F, or ? for none.
    `agreements` is the share of pairs on which two models gave the same readable answer.
    """

    discarded: int
    kept: int
    failed: int
    skipped: int
    models: list[ModelVotes]
    patterns: dict[str, int]
    agreements: list[tuple[str, str, float | None]]


# Pairs that not every model spoke about: nothing may be discarded on the word of the others.
_UNSEEN = (DebateStatus.FAILED, DebateStatus.REFUSED)
_KEPT = (DebateStatus.KEPT, *_UNSEEN)


def discarded_pairs(run: DebateRun) -> QuerySet[Debate]:
    """What the filter took out: every model called it irrelevant."""
    return run.debates.filter(status=DebateStatus.JUDGED, label=0)


def filter_report(run: DebateRun) -> FilterReport:
    """The report of a filter run, read from its turns."""
    patterns = _patterns(run)
    status = Counter(run.debates.values_list("status", flat=True))
    judges = [f"J{number}" for number in range(1, 1 + len(run.seats))]
    return FilterReport(
        discarded=status[DebateStatus.JUDGED],
        kept=status[DebateStatus.KEPT],
        failed=sum(status[each] for each in _UNSEEN),
        skipped=status[DebateStatus.SKIPPED_NO_ANSWER],
        models=[_votes(place, judge, run, patterns) for place, judge in enumerate(judges)],
        patterns=dict(patterns.most_common()),
        agreements=[
            (judges[a], judges[b], _agreement(a, b, patterns))
            for a, b in combinations(range(len(judges)), 2)
        ],
    )


def keep_pairs(*, run: DebateRun, name: str = "", actor: User | None) -> Pool:
    """A pool of every pair that the filter did not discard, places and twins carried over.

    A pair whose calls failed or were refused was not seen by all and is kept; pairs of queries
    without answers are set aside. Raises Refused for a run that is no filter or not done, a name
    that is taken, and a filter that kept nothing.
    """
    _check(run)
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


def _check(run: DebateRun) -> None:
    if run.kind != RunKind.FILTER:
        raise Refused("Only a filter run leaves a pool of kept pairs.")
    if run.status != RunStatus.DONE:
        raise Refused("The filter is not done yet.")


def _provenance(run: DebateRun, report: FilterReport) -> dict[str, Any]:
    return {
        "kind": KIND,
        "pool": run.pool_id,
        "run": run.pk,
        "models": [seat["model"] for seat in run.seats],
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
    _carry_twins(run.pool, pool)


def _carry_twins(old: Pool, new: Pool) -> None:
    links = old.entries.exclude(same_text_as=None).annotate(first=F("same_text_as__passage_id"))
    pairs = list(links.values_list("query_id", "passage_id", "first"))
    if not pairs:
        return
    wanted = new.entries.filter(query__in={query for query, *_ in pairs})
    rows = {(row.query_id, row.passage_id): row for row in wanted}
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


def _votes(place: int, judge: str, run: DebateRun, patterns: Counter[str]) -> ModelVotes:
    counts: Counter[str] = Counter()
    overruled = 0
    for pattern, number in patterns.items():
        counts[pattern[place]] += number
        if pattern[place] == "F" and set(pattern) != {"F"}:
            overruled += number
    model = run.seats[place]["model"]
    return ModelVotes(judge, model, counts["T"], counts["F"], counts["?"], overruled)


def _agreement(a: int, b: int, patterns: Counter[str]) -> float | None:
    read = {p: n for p, n in patterns.items() if "?" not in (p[a], p[b])}
    same = sum(number for pattern, number in read.items() if pattern[a] == pattern[b])
    return same / sum(read.values()) if read else None


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
    return [_models(found, to), _overlaps(found, to), _filter_report_patterns(found, to)]


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


def _filter_report_patterns(found: FilterReport, to: Address) -> Sheet:
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
