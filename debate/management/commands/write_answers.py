"""`manage.py write_answers SLUG`: have a model write reference answers, in this process."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Count

from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from debate.answers.services import candidates, start_answers
from debate.models import AnswerRun
from debate.tasks import ANSWERS
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus
from llm import endpoints
from llm.ledger.accounts import budget_of
from llm.requests import EFFORTS


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
        parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
        parser.add_argument("--temperature", type=float, default=0.0)
        parser.add_argument(
            "--reasoning-effort", choices=EFFORTS, default="", help="default: the model's own"
        )
        parser.add_argument("--without-weights", action="store_true", help="do not tell weights")
        parser.add_argument("--budget", help="in dollars; no limit where none is given")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        if options["domain"] and not benchmark.domains.filter(name=options["domain"]).exists():
            raise CommandError(f"There is no domain {options['domain']!r}.")
        with endpoints.practice_if_unconfigured("answerer") as first:
            run = _start(benchmark, options, first)
            ANSWERS.drive(run)
        run.refresh_from_db()
        states = run.items.order_by("state").values_list("state").annotate(count=Count("pk"))
        found: dict[str, Any] = {
            "run": run.pk,
            "status": run.status,
            "states": dict(states),
            "spent_usd": f"{run.spent_usd:f}",
            "faults": dict(run.items.exclude(error="").values_list("query__qid", "error")),
        }
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            words = ", ".join(f"{count} {state}" for state, count in found["states"].items())
            self.stdout.write(f"Answer run {run.pk} is {run.status}: {words}")
        if run.status != RunStatus.DONE:
            raise CommandError(run.pause_reason or run.error or "The run is not finished.")


def _start(benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint) -> AnswerRun:
    named = options["endpoint"]
    return start_answers(
        benchmark=benchmark,
        queries=candidates(benchmark, domain=options["domain"], again=options["again"]),
        endpoint=endpoints.get(named) if named else first,
        actor=None,
        budget_usd=budget_of(options["budget"]),
        temperature=options["temperature"],
        with_weights=not options["without_weights"],
        reasoning_effort=options["reasoning_effort"],
        claimed=True,
    )
