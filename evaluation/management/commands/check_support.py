"""`manage.py check_support SLUG SOURCE`: let a model judge citations, in this process."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.lists import is_key
from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from evaluation.support import report
from evaluation.support.models import SupportSet
from evaluation.support.reading import read
from evaluation.support.services import start_support, unsaved_set
from evaluation.tasks import SUPPORT
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand
from llm import endpoints
from llm.management.asking import asking_arguments, asking_options, tell


class Command(VerbCommand):
    help = (
        "Let a model say of every citation whether its passage supports the sentence: fully, "
        "partly, not. SOURCE is references, agent:N or rag:N (a run that is done), or set:N, for "
        "another judge of answers that were judged or imported. --report prints the tables of a "
        "set and asks nobody."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("source", help="references, agent:N, rag:N or set:N")
        parser.add_argument(
            "--per-sentence", type=int, help="only the first so many citations of a sentence"
        )
        parser.add_argument("--report", action="store_true", help="print what a set came to")
        parser.add_argument(
            "--replicate", type=int, default=0, help="another number asks again, and pays again"
        )
        parser.add_argument(
            "--swapped",
            action="store_true",
            help="show the passage before the sentence, for the judge's card alone",
        )
        asking_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark, source = benchmark_named(options["slug"]), options["source"]
        if options["report"] and not source.startswith("set:"):
            raise CommandError("Name a set to report on: set:N.")
        of = set_named(benchmark, source, options["per_sentence"])
        if options["report"]:
            self.stdout.write(json.dumps(as_data(report.tables(read(of)))))
            return
        with endpoints.practice_if_unconfigured("grader") as first:
            asked = asking_options(options, first)
            asked |= {name: options[name] for name in ("replicate", "swapped")}
            run = start_support(of=of, **asked)
            SUPPORT.drive(run)
        tell(self, run, run.verdicts.all(), "Support run", as_json=options["json"], set=of.pk)


def set_named(benchmark: Benchmark, source: str, per_sentence: int | None = None) -> SupportSet:
    """The answers that SOURCE names; those of a run are not stored yet. Raises Refused."""
    kind, _, number = source.partition(":")
    if kind != "set":
        return unsaved_set(benchmark, source, per_sentence)
    found = benchmark.support_sets.filter(pk=int(number) if is_key(number) else 0).first()
    if found is None:
        raise CommandError("There is no such set of answers here.")
    return found
