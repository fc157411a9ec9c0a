"""Whom a run goes before, from the shell."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from corpus.quotas.services import asking_run, set_common_priority, sharing_runs
from kit.management.verbs import VerbCommand
from kit.runs.turns import Priority, named
from llm.ledger.accounts import AskingRun, set_priority


class Command(VerbCommand):
    help = "Print a benchmark's open runs with their priority; with a run and a word, set it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="the benchmark's slug")
        parser.add_argument(
            "run",
            nargs="?",
            help="as it is listed, such as debate.run/12; `benchmark`: all that have none",
        )
        parser.add_argument("priority", nargs="?", choices=[*Priority.labels, "by-size"])

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        if options["run"] and options["priority"]:
            priority = named(options["priority"])
            if options["run"] == "benchmark":
                set_common_priority(benchmark=benchmark, priority=priority, actor=None)
            else:
                run = _run_named(benchmark, options["run"])
                set_priority(run=run, priority=priority, actor=None)
        for each in sharing_runs(benchmark):
            self.stdout.write(f"{each.task_name}/{each.pk}\t{each.level}\t{each}")


def _run_named(benchmark: Benchmark, given: str) -> AskingRun:
    kind, _, pk = given.partition("/")
    run = asking_run(benchmark, kind, int(pk)) if pk.isdecimal() else None
    if run is None:
        raise CommandError(
            f"There is no run {given!r} with a priority of its own: give one that asks a model "
            "as it is listed, or `benchmark`."
        )
    return run
