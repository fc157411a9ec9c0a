"""`manage.py next_labels SLUG`: which labels of support would help most per dollar."""

import json
from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named
from evaluation.holes.next_labels import as_table, next_labels, pool_next
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Print which passages to judge next for which aspects, by what they gain per dollar, or "
        "make a pool of them. Build a pool with build_pool --aspects first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--count", type=int, default=100, help="how many (default: 100)")
        parser.add_argument("--pool", metavar="NAME", help="make a pool of them under this name")
        parser.add_argument("--json", action="store_true", help="print the table as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        chosen = next_labels(benchmark, options["count"])
        made = None
        if options["pool"]:
            made = pool_next(
                benchmark=benchmark, count=options["count"], name=options["pool"], actor=None
            )
        if options["json"]:
            found = as_data([as_table(chosen)])[0]
            self.stdout.write(json.dumps(found | {"pool": made.pk if made else None}))
            return
        for each in chosen:
            cost = "?" if each.usd is None else f"{each.usd:.6f}"
            where = f"{each.aspect.aspect_id:24} {each.entry.passage.pid}"
            self.stdout.write(f"{each.gain:.4f} {cost:>10} USD  {where}")
        if made:
            self.stdout.write(f"Pool {made.pk}: {made.name}")
