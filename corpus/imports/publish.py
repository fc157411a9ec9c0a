"""How a load becomes visible: its rows are written unseen, then one transaction shows them."""

from collections.abc import Sequence

from django.db import transaction

from corpus.imports.context import Broken, Extra, LoadContext, Overtaken, Pace
from corpus.imports.gold import show_gold, stage_gold
from corpus.imports.named import Gathered, resolve_passages
from corpus.imports.pools import show_pool, stage_pool
from corpus.imports.queries import show_queries, stage_queries
from corpus.imports.rankings import RunLoader
from corpus.imports.texts import TextLoader, fill_passages
from corpus.models import Benchmark, CorpusVersion, Domain, VersionState
from corpus.texts.indexing import request_index
from kit import audit


def publish(
    context: LoadContext,
    gathered: Gathered,
    texts: TextLoader,
    runs: RunLoader,
    extras: Sequence[Extra],
) -> None:
    """Add everything but texts, make the load visible, record it and end the run.

    Raises Broken (problems in the tally), Overtaken, or LostLease; nothing is visible then, and
    what was staged is the caller's to sweep.
    """
    _stop_at_problems(context)
    pace = Pace()
    queries = stage_queries(context, gathered, pace)
    resolve_passages(context, gathered, pace)
    gold = stage_gold(context, gathered, pace)
    pool = stage_pool(context, gathered, pace)
    _stop_at_problems(context)
    with transaction.atomic():
        context.hold()
        _lock(context)
        fill_passages(texts.fills)
        show_queries(queries)
        show_gold(context, gold)
        show_pool(context, pool)
        runs.show()
        for extra in extras:
            extra(context, gathered.aspects)
        _stop_at_problems(context)
        _show(context)
        _end(context)


def _stop_at_problems(context: LoadContext) -> None:
    if context.tally.problems:
        raise Broken


def _lock(context: LoadContext) -> None:
    """One load publishes at a time, and only onto the version it was compared with."""
    Benchmark.objects.select_for_update().get(pk=context.benchmark.pk)
    if CorpusVersion.objects.loaded(context.benchmark) != context.parent:
        raise Overtaken


def _show(context: LoadContext) -> None:
    touched = [context.domain(name) for name in context.touched]
    Domain.objects.filter(pk__in=touched, is_ready=False).update(is_ready=True)
    if context.version is not None:
        version = CorpusVersion.objects.filter(pk=context.version.pk, state=VersionState.LOADING)
        version.update(state=VersionState.READY)
        request_index(context.version)


def _end(context: LoadContext) -> None:
    run, summary = context.run, context.tally.summary()
    audit.record(
        actor=run.created_by,
        verb="import",
        target=run,
        scope=context.benchmark.slug,
        data={"format": run.format, "label": run.label, **context.tally.counts},
    )
    context.meter.done = context.meter.total
    context.hold()
    run.finish(summary=summary, problems=[], version=context.version, staged={})
