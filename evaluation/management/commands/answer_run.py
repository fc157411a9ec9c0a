"""`manage.py answer_run SLUG`: let a model answer from what systems retrieved, in this process."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from corpus.management import benchmark_named
from corpus.models import Benchmark, CorpusVersion, RetrievalRun
from evaluation.rag.models import RagRun
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.services import start_answers
from evaluation.tasks import RAG
from kit.errors import Refused
from kit.runs.models import RunStatus
from llm import endpoints
from llm.ledger.accounts import budget_of
from llm.requests import EFFORTS


class Command(BaseCommand):
    help = (
        "Let a model answer a benchmark's queries from the first passages of its retrieval runs, "
        "without any, and from the gold. Without a configured endpoint the practice model answers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument(
            "--run",
            action="append",
            default=[],
            help="retrieval run by name, in each corpus version that it ranks; may be repeated; "
            "all of the current version where none is given",
        )
        parser.add_argument("--harness", choices=list(Harness), default=Harness.SHORT.value)
        parser.add_argument("--k", type=int, default=10, help="passages of an answer")
        parser.add_argument("--no-baselines", action="store_true", help="the runs alone")
        parser.add_argument("--domain", default="", help="its queries only")
        parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
        parser.add_argument(
            "--max-tokens", type=int, help="of an answer; 1,024, of long ones 4,096"
        )
        parser.add_argument("--temperature", type=float, default=0.0)
        parser.add_argument(
            "--reasoning-effort", choices=EFFORTS, default="", help="default: the model's own"
        )
        parser.add_argument("--name", default="")
        parser.add_argument("--budget", help="in dollars; no limit where none is given")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        with endpoints.practice_if_unconfigured("answerer") as first:
            try:
                run = _start(benchmark, options, first)
            except Refused as error:
                raise CommandError(str(error)) from None
            RAG.drive(run)
        run.refresh_from_db()
        states = dict(run.answers.order_by("state").values_list("state").annotate(n=Count("pk")))
        found: dict[str, Any] = {
            "run": run.pk,
            "name": run.name,
            "status": run.status,
            "sources": list(run.sources.values_list("name", flat=True)),
            "states": states,
            "spent_usd": f"{run.spent_usd:f}",
        }
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            words = ", ".join(f"{count} {state}" for state, count in states.items())
            self.stdout.write(f"RAG run {run.pk} is {run.status}: {words}")
        if run.status != RunStatus.DONE:
            raise CommandError(run.pause_reason or run.error or "The run is not finished.")


def _start(benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint) -> RagRun:
    kept = ("harness", "k", "domain", "name", "max_tokens", "temperature", "reasoning_effort")
    return start_answers(
        benchmark=benchmark,
        runs=_runs(benchmark, options["run"]),
        endpoint=endpoints.get(options["endpoint"]) if options["endpoint"] else first,
        actor=None,
        baselines=not options["no_baselines"],
        budget_usd=budget_of(options["budget"]),
        claimed=True,
        **{name: options[name] for name in kept},
    )


def _runs(benchmark: Benchmark, names: list[str]) -> list[RetrievalRun]:
    known = benchmark.retrieval_runs.order_by("name", "pk")
    if not names:
        version = CorpusVersion.objects.current(benchmark)
        return list(known.filter(corpus_version=version.key if version else None))
    found = list(known.filter(name__in=names))
    if missing := set(names) - {run.name for run in found}:
        here = ", ".join(dict.fromkeys(known.values_list("name", flat=True))) or "none is here"
        raise Refused(f"There is no run {', '.join(sorted(missing))}: {here}.")
    return found
