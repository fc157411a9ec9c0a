"""`manage.py rag_align SLUG`: generation by system and RAGAlign, as the screen shows them."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from evaluation.rag.board import shown
from evaluation.rag.reading import generators
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = "Print the tables of one generator's answers, as CSV with a title line each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--run", type=int, help="a RAG run of the generator; the newest")
        parser.add_argument(
            "--outcome",
            default="",
            help="what generation is measured by: together (what graders say), grader-N, accuracy, "
            "exact or f1; together, else accuracy",
        )
        parser.add_argument("--json", action="store_true", help="print the tables as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark, asked = benchmark_named(options["slug"]), options["run"]
        runs = {run.pk: run.generator for run in benchmark.rag_runs.all()}
        known = [
            each
            for each in generators(benchmark)
            if asked is None or each.generator == runs.get(asked)
        ]
        if not known:
            raise CommandError("Nothing was answered here yet; answer_run lets a model.")
        found = shown(known[0], options["outcome"])
        if options["outcome"] not in ("", found.outcome):
            outcomes = ", ".join(name for name, _ in found.outcomes)
            raise CommandError(f"The outcomes are {outcomes}.")
        if options["json"]:
            self.stdout.write(json.dumps(as_data(found.tables)))
        else:
            self.print_tables(found.tables)
