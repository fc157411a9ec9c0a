"""`manage.py check_support SLUG SOURCE`: let a model judge citations, in this process."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.lists import is_key
from corpus.management.named import benchmark_named
from evaluation.support import report
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
        asking_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark, source = benchmark_named(options["slug"]), options["source"]
        kind, _, number = source.partition(":")
        of = None
        if kind == "set":
            key = int(number) if is_key(number) else 0
            of = benchmark.support_sets.filter(pk=key).first()
            if of is None:
                raise CommandError("There is no such set of answers here.")
        if options["report"]:
            if of is None:
                raise CommandError("Name a set to report on: set:N.")
            self.stdout.write(json.dumps(as_data(report.tables(report.read(of)))))
            return
        with endpoints.practice_if_unconfigured("grader") as first:
            of = of or unsaved_set(benchmark, source, options["per_sentence"])
            run = start_support(of=of, **asking_options(options, first))
            SUPPORT.drive(run)
        tell(self, run, run.verdicts.all(), "Support run", as_json=options["json"], set=of.pk)
