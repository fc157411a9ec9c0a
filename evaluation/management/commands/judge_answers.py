"""`manage.py judge_answers SLUG`: let a model judge what agents answered, in this process."""

import csv
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from corpus.models import Benchmark
from evaluation.agents.judging import start_judging, trial_of
from evaluation.agents.models import AgentRun, JudgeRun
from evaluation.agents.protocol.judging import JudgeMode
from evaluation.agents.trust.bridges import SEED, SIZE, start_bridge
from evaluation.agents.trust.report import tables_of
from evaluation.management.commands.run_agent import benchmark_of
from evaluation.tasks import JUDGES
from kit.errors import Refused
from kit.lists.report_tables import as_data, csv_header, csv_rows
from kit.runs.models import RunStatus
from llm import endpoints
from llm.ledger.accounts import budget_of
from llm.requests import EFFORTS


class Command(BaseCommand):
    help = (
        "Let a model judge the answers of an agent run by the aspects of each query; with --trial "
        "try the judge itself on reference answers, their openings and a platitude; with "
        "--bridge-from let it judge again what another judge has judged."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--run", type=int, help="agent run by number; the newest")
        parser.add_argument("--trial", action="store_true", help="try the judge, judge no agent")
        parser.add_argument(
            "--bridge-from",
            type=int,
            metavar="JUDGE",
            help="judge again what this judge run judged",
        )
        parser.add_argument("--n", type=int, default=SIZE, help="answers of a bridge")
        parser.add_argument("--seed", type=int, default=SEED, help="draws the answers of a bridge")
        parser.add_argument("--mode", choices=list(JudgeMode), default=JudgeMode.RUBRIC.value)
        parser.add_argument("--repetitions", type=int, default=1)
        parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
        parser.add_argument("--temperature", type=float, default=0.0)
        parser.add_argument(
            "--reasoning-effort", choices=EFFORTS, default="", help="default: the model's own"
        )
        parser.add_argument("--budget", help="in dollars; no limit where none is given")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_of(options["slug"])
        with endpoints.practice_if_unconfigured("grader") as first:
            try:
                run = _start(benchmark, options, first)
            except Refused as error:
                raise CommandError(str(error)) from None
            JUDGES.drive(run)
        run.refresh_from_db()
        states = dict(run.verdicts.order_by("state").values_list("state").annotate(n=Count("pk")))
        found: dict[str, Any] = {
            "run": run.pk,
            "agent_run": run.agent_run_id,
            "status": run.status,
            "states": states,
            "spent_usd": f"{run.spent_usd:f}",
        }
        if options["trial"]:
            found["tiers"] = trial_of(run)
        sheets = tables_of(run)
        found["tables"] = as_data(sheets)
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            words = ", ".join(f"{count} {state}" for state, count in states.items())
            self.stdout.write(f"Judge run {run.pk} is {run.status}: {words}")
            writer = csv.writer(self.stdout, lineterminator="\n")
            for sheet in sheets:
                self.stdout.write(f"# {sheet.title}")
                writer.writerow(csv_header(sheet))
                writer.writerows(csv_rows(sheet))
        if run.status != RunStatus.DONE:
            raise CommandError(run.pause_reason or run.error or "The run is not finished.")


def _start(benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint) -> JudgeRun:
    endpoint = endpoints.get(options["endpoint"]) if options["endpoint"] else first
    given: dict[str, Any] = {
        "endpoint": endpoint,
        "actor": None,
        "mode": options["mode"],
        "repetitions": options["repetitions"],
        "temperature": options["temperature"],
        "reasoning_effort": options["reasoning_effort"],
        "budget_usd": budget_of(options["budget"]),
        "claimed": True,
    }
    if options["bridge_from"] is not None:
        judge = benchmark.judge_runs.filter(pk=options["bridge_from"]).first()
        if judge is None:
            raise Refused(f"There is no judge run {options['bridge_from']} here.")
        return start_bridge(judge=judge, size=options["n"], seed=options["seed"], **given)
    runs = benchmark.agent_runs.order_by("-pk")
    agent_run: AgentRun | None = None
    if not options["trial"]:
        agent_run = runs.filter(pk=options["run"]).first() if options["run"] else runs.first()
        if agent_run is None:
            raise Refused("There is no such agent run; run_agent makes one.")
    return start_judging(benchmark=benchmark, agent_run=agent_run, **given)
