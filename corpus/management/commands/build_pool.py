"""Build a pool of pairs out of retrieval runs, from the shell."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark, Pool, RetrievalRun
from corpus.pools.builds import build_pool
from corpus.versions.services import called
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Build a pool: the union of the first passages of retrieval runs, without the gold; or "
        "what may support the aspects of which no run found gold. "
        "Load runs with load_benchmark first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--benchmark", metavar="SLUG", required=True)
        parser.add_argument(
            "--runs", metavar="NAME", nargs="+", help="retrieval runs by name (default: all)"
        )
        parser.add_argument(
            "--corpus-version", default="", help="whose runs (default: those of the current one)"
        )
        parser.add_argument("--depth", type=int, default=10, help="passages a query (default: 10)")
        parser.add_argument(
            "--aspects", action="store_true", help="for the aspects of which no run found gold"
        )
        parser.add_argument("--name", default="", help="the pool's name")
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        pool = build_pool(
            benchmark=benchmark,
            runs=_runs(benchmark, options["corpus_version"], options["runs"]),
            depth=options["depth"],
            name=options["name"],
            of_aspects=options["aspects"],
            actor=None,
        )
        self._report(pool, as_json=options["json"])

    def _report(self, pool: Pool, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"pool": pool.pk, "name": pool.name, **pool.provenance}))
            return
        self.stdout.write(f"Pool {pool.pk}: {pool.name}")
        for name, value in pool.provenance.items():
            if isinstance(value, int):
                self.stdout.write(f"  {name.replace('_', ' '):18} {value}")
        for system in pool.provenance["systems"]:
            self.stdout.write(
                f"  {system['system']}: {system['pairs']} pairs, {system['alone']} by it alone, "
                f"{system['short']} short lists, {system['absent']} queries without one"
            )


def _runs(benchmark: Benchmark, version: str, names: list[str] | None) -> list[RetrievalRun]:
    of = called(benchmark, version)
    rows = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=of.key if of else None)
    runs = {run.name: run for run in rows}
    missing = [name for name in names or () if name not in runs]
    if missing:
        raise CommandError(
            f"{benchmark.slug} has no retrieval run {missing[0]!r}; "
            f"it has {', '.join(runs) or 'none'}."
        )
    return [runs[name] for name in dict.fromkeys(names)] if names else list(runs.values())
