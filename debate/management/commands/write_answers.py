"""`manage.py write_answers SLUG`: have a model write reference answers, in this process."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.asking import asking_arguments, asking_options, tell
from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from debate.answers.services import candidates, start_answers
from debate.models import AnswerRun
from debate.tasks import ANSWERS
from kit.management.verbs import VerbCommand
from llm import endpoints


class Command(VerbCommand):
    help = (
        "Have a model write the reference answers of a benchmark's queries that are ready: with "
        "aspects, each with a gold passage. Without a configured endpoint the practice model "
        "writes them. What is written is published only when a person chooses it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--domain", default="", help="its queries only")
        parser.add_argument("--again", action="store_true", help="also what a model has answered")
        parser.add_argument("--without-weights", action="store_true", help="do not tell weights")
        asking_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        if options["domain"] and not benchmark.domains.filter(name=options["domain"]).exists():
            raise CommandError(f"There is no domain {options['domain']!r}.")
        with endpoints.practice_if_unconfigured("answerer") as first:
            run = _start(benchmark, options, first)
            ANSWERS.drive(run)
        faults = dict(run.items.exclude(error="").values_list("query__qid", "error"))
        tell(self, run, run.items.all(), "Answer run", as_json=options["json"], faults=faults)


def _start(benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint) -> AnswerRun:
    return start_answers(
        benchmark=benchmark,
        queries=candidates(benchmark, domain=options["domain"], again=options["again"]),
        with_weights=not options["without_weights"],
        **asking_options(options, first),
    )
