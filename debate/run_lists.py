"""The list of a benchmark's debate runs: its search and filters, for the screen and the API."""

from collections.abc import Mapping

from django.db.models import QuerySet

from corpus.models import Benchmark
from debate.models import DebateRun, RunKind
from kit.runs import RunStatus
from kit.table_pages import Choices
from kit.tables import Column, Filter, Table

COUNTS = (("standing", "count"), ("trial", "are on trial"), ("adopted", "were adopted"))


def _by_counting(runs: QuerySet[DebateRun], value: str) -> QuerySet[DebateRun]:
    if value == "adopted":
        return runs.exclude(adopted_at=None)
    return runs.filter(is_trial=value == "trial", adopted_at=None)


RUNS = Table(
    search=("name",),
    filters=(
        Filter("status", "Status", choices=RunStatus.choices),
        Filter("kind", "Kind", choices=RunKind.choices),
        Filter("labels", "Labels that", choices=COUNTS, apply=_by_counting),
        Filter("preset", "Preset"),
        Filter("model", "Model"),
        Filter("pool", "Pairs of"),
    ),
    columns=(
        Column("name", "Run", order=("name", "pk")),
        Column("status", "Status"),
        Column("kind", "Kind"),
        Column("model", "Model"),
        Column("pairs", "Pairs", order=("total", "pk"), numeric=True),
        Column("done", "Done", numeric=True),
        Column("budget", "Budget", numeric=True),
    ),
    order=("-pk",),
)
FILTERS = [each.name for each in RUNS.filters]


def run_choices(benchmark: Benchmark) -> Mapping[str, Choices]:
    """Drop-downs that are known only now: what the benchmark's runs were made from."""
    runs = benchmark.debate_runs.order_by()
    presets = runs.exclude(preset="").values_list("preset", flat=True).distinct()
    models = runs.exclude(model="").values_list("model", flat=True).distinct()
    pools = runs.values_list("pool_id", "pool__name").distinct()
    return {
        "preset": [(each, each) for each in sorted(presets)],
        "model": [(each, each) for each in sorted(models)],
        "pool": [(str(pk), name) for pk, name in sorted(pools, key=lambda each: each[1])],
    }
