"""`manage.py pipeline SLUG`: run a version of DIVER on a retriever, in this process."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark, RetrievalRun
from corpus.reranking.services import role_of
from corpus.versions.services import called
from corpus.wordings import asking
from corpus.wordings.services import ROLE, retrievers_of
from evaluation.pipelines import plan
from evaluation.pipelines.running import carry_on
from evaluation.pipelines.services import spent, start_pipeline
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus
from llm import endpoints
from llm.ledger.accounts import budget_of


class Command(VerbCommand):
    help = (
        "Expand queries, search, merge and rerank as a version of DIVER does, each step a run of "
        "its own. Without a configured endpoint the practice model writes and reranks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--preset", choices=plan.PRESETS, default=plan.V1)
        parser.add_argument("--retriever", default="", help="a run computed here; the first")
        parser.add_argument("--corpus-version", default="", help="that it ranks; the current one")
        parser.add_argument("--expander", default="", help="endpoint by name; the first")
        parser.add_argument("--reranker", default="", help="endpoint by name; the first")
        parser.add_argument("--profile", choices=asking.PROFILES, default=asking.STRICT)
        parser.add_argument("--depth", type=int, default=100, help="passages reranked a query")
        parser.add_argument("--repeats", type=int, help="of v3 in groups; as the profile has it")
        parser.add_argument("--name", default="")
        parser.add_argument("--budget", help="in dollars, for all steps; no limit where none is")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        with endpoints.practice_if_unconfigured(ROLE):
            run = start_pipeline(
                benchmark=benchmark,
                preset=options["preset"],
                retriever=_retriever(benchmark, options),
                expander=endpoints.chosen_endpoint(options["expander"], ROLE),
                reranker=endpoints.chosen_endpoint(options["reranker"], role_of(plan.POINTWISE)),
                profile=options["profile"],
                depth=options["depth"],
                repeats=options["repeats"],
                name=options["name"],
                budget_usd=budget_of(options["budget"]),
                actor=None,
                claimed=True,
            )
            carry_on(run)
        run.refresh_from_db()
        names = dict(
            RetrievalRun.objects.filter(pk__in=[each["run"] or 0 for each in run.steps])
            .order_by()
            .values_list("pk", "name")
        )
        steps = {each["name"]: names.get(each["run"]) for each in run.steps}
        if options["json"]:
            told = {"pipeline": run.pk, "status": run.status, "steps": steps,
                    "spent_usd": f"{spent(run):f}"}  # fmt: skip
            self.stdout.write(json.dumps(told))
        else:
            for step, name in steps.items():
                self.stdout.write(f"{step}: {name or 'not done'}")
        if run.status != RunStatus.DONE:
            raise CommandError(run.error or "The pipeline is not finished.")


def _retriever(benchmark: Benchmark, options: dict[str, Any]) -> RetrievalRun:
    version = called(benchmark, options["corpus_version"])
    rows = retrievers_of(benchmark).filter(corpus_version=version.key if version else None)
    name = options["retriever"]
    found: RetrievalRun | None = rows.filter(name=name).first() if name else rows.first()
    if found is None:
        names = ", ".join(rows.values_list("name", flat=True))
        raise Refused(f"No run {name!r} was computed here; there are: {names or 'none'}.")
    return found
