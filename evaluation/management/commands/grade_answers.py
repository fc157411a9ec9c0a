"""`manage.py grade_answers SLUG`: let a model grade generated answers, in this process."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from corpus.management import benchmark_named
from evaluation.rag.grading import start_grading
from evaluation.rag.protocol.grading import PROFILES, STRICT
from evaluation.tasks import GRADES
from kit.errors import Refused
from kit.runs.models import RunStatus
from llm import endpoints
from llm.ledger.accounts import budget_of
from llm.requests import EFFORTS


class Command(BaseCommand):
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
        parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
        parser.add_argument("--temperature", type=float, default=0.0)
        parser.add_argument(
            "--reasoning-effort", choices=EFFORTS, default="", help="default: the model's own"
        )
        parser.add_argument("--budget", help="in dollars; no limit where none is given")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        runs = benchmark_named(options["slug"]).rag_runs.order_by("-pk")
        rag_run = runs.filter(pk=options["run"]).first() if options["run"] else runs.first()
        if rag_run is None:
            raise CommandError("There is no such RAG run; answer_run makes one.")
        with endpoints.practice_if_unconfigured("grader") as first:
            try:
                run = start_grading(
                    rag_run=rag_run,
                    endpoint=endpoints.get(options["endpoint"]) if options["endpoint"] else first,
                    actor=None,
                    profile=options["profile"],
                    temperature=options["temperature"],
                    reasoning_effort=options["reasoning_effort"],
                    budget_usd=budget_of(options["budget"]),
                    claimed=True,
                )
            except Refused as error:
                raise CommandError(str(error)) from None
            GRADES.drive(run)
        run.refresh_from_db()
        states = dict(run.grades.order_by("state").values_list("state").annotate(n=Count("pk")))
        found: dict[str, Any] = {
            "run": run.pk,
            "rag_run": rag_run.pk,
            "status": run.status,
            "states": states,
            "spent_usd": f"{run.spent_usd:f}",
        }
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            words = ", ".join(f"{count} {state}" for state, count in states.items())
            self.stdout.write(f"Grading {run.pk} is {run.status}: {words}")
        if run.status != RunStatus.DONE:
            raise CommandError(run.pause_reason or run.error or "The run is not finished.")
