"""Whom a run goes before, from the shell."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.quotas.services import asking_run, sharing_runs
from kit.management.verbs import VerbCommand
from kit.runs.turns import Priority
from llm.ledger.accounts import set_priority


class Command(VerbCommand):
    help = "Print a benchmark's open runs with their priority; with a run and a word, set it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="the benchmark's slug")
        parser.add_argument("run", nargs="?", help="as it is listed, such as debate.run/12")
        parser.add_argument("priority", nargs="?", choices=[*Priority.labels, "by-size"])

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        if options["run"] and options["priority"]:
            kind, _, pk = options["run"].partition("/")
            run = asking_run(benchmark, kind, int(pk)) if pk.isdecimal() else None
            if run is None:
                raise CommandError(f"There is no run {options['run']!r}: give it as it is listed.")
            label = options["priority"]
            priority = None if label == "by-size" else Priority[label.upper()]
            set_priority(run=run, priority=priority, actor=None)
        for each in sharing_runs(benchmark):
            self.stdout.write(f"{each.task_name}/{each.pk}\t{each.level}\t{each}")
