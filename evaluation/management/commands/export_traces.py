"""`manage.py export_traces SLUG`: the traces of an agent run, one JSON record a line."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from corpus.management.named import benchmark_named, numbered
from evaluation.agents.exchange import export_traces
from evaluation.agents.protocol.records import SHAPES


class Command(BaseCommand):
    help = "Print the traces of an agent run as JSON lines, in the shape of Bright-Pro's records."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--run", type=int, help="agent run by number; the newest")
        parser.add_argument("--shape", choices=SHAPES, default=SHAPES[0])

    def handle(self, *args: Any, **options: Any) -> None:
        runs = benchmark_named(options["slug"]).agent_runs.order_by("-pk")
        missing = "There is no such agent run; run_agent makes one."
        run = numbered(runs, options["run"], missing)
        for record in export_traces(run, shape=options["shape"]):
            self.stdout.write(json.dumps(record, ensure_ascii=False))
