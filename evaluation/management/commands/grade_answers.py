"""`manage.py grade_answers SLUG`: let a model grade generated answers, in this process."""

from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named, numbered
from evaluation.rag.grading import start_grading
from evaluation.rag.protocol.grading import PROFILES, STRICT
from evaluation.tasks import GRADES
from kit.management.verbs import VerbCommand
from llm import endpoints
from llm.management.asking import asking_arguments, asking_options, tell


class Command(VerbCommand):
    help = (
        "Let a model grade generated answers: True or False for short ones, 0 to 100 for long "
        "ones. Several models are several gradings, whose majority and agreement rag_align prints."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--run", type=int, help="RAG run by number; the newest")
        parser.add_argument(
            "--profile", choices=PROFILES, default=STRICT, help="how replies are read"
        )
        parser.add_argument(
            "--replicate", type=int, default=0, help="another number asks again, and pays again"
        )
        parser.add_argument(
            "--swapped",
            action="store_true",
            help="show several true answers the other way round, for the grader's card alone",
        )
        asking_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        runs = benchmark_named(options["slug"]).rag_runs.order_by("-pk")
        missing = "There is no such RAG run; answer_run makes one."
        rag_run = numbered(runs, options["run"], missing)
        with endpoints.practice_if_unconfigured("grader") as first:
            asked = asking_options(options, first)
            asked |= {name: options[name] for name in ("profile", "replicate", "swapped")}
            run = start_grading(rag_run=rag_run, **asked)
            GRADES.drive(run)
        tell(self, run, run.grades.all(), "Grading", as_json=options["json"], rag_run=rag_run.pk)
