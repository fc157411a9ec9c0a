"""`manage.py judge_answers SLUG`: let a model judge what agents answered, in this process."""

from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named, numbered
from corpus.models import Benchmark
from evaluation.agents.judging import start_judging, trial_of
from evaluation.agents.models import AgentRun, JudgeRun
from evaluation.agents.protocol.judging import JudgeMode
from evaluation.agents.trust.bridges import SEED, SIZE, start_bridge
from evaluation.agents.trust.noise import tables_of
from evaluation.tasks import JUDGES
from kit.errors import Refused
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand
from llm import endpoints
from llm.management.asking import asking_arguments, asking_options, tell


class Command(VerbCommand):
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
        parser.add_argument(
            "--swapped",
            action="store_true",
            help="show the judge of a bridge the aspects the other way round",
        )
        parser.add_argument("--mode", choices=list(JudgeMode), default=JudgeMode.RUBRIC.value)
        parser.add_argument("--repetitions", type=int, default=1)
        asking_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        with endpoints.practice_if_unconfigured("grader") as first:
            run = _start(benchmark, options, first)
            JUDGES.drive(run)
        sheets = tables_of(run)
        more: dict[str, Any] = {"agent_run": run.agent_run_id, "tables": as_data(sheets)}
        if options["trial"]:
            more["tiers"] = trial_of(run)
        if not options["json"]:
            self.print_tables(sheets)
        tell(self, run, run.verdicts.all(), "Judge run", as_json=options["json"], **more)


def _start(benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint) -> JudgeRun:
    given = asking_options(options, first)
    given |= {"mode": options["mode"], "repetitions": options["repetitions"]}
    if options["bridge_from"] is not None:
        judge = benchmark.judge_runs.filter(pk=options["bridge_from"]).first()
        if judge is None:
            raise Refused(f"There is no judge run {options['bridge_from']} here.")
        given["swapped"] = options["swapped"]
        return start_bridge(judge=judge, size=options["n"], seed=options["seed"], **given)
    agent_run: AgentRun | None = None
    if not options["trial"]:
        missing = "There is no such agent run; run_agent makes one."
        agent_run = numbered(benchmark.agent_runs.order_by("-pk"), options["run"], missing)
    return start_judging(benchmark=benchmark, agent_run=agent_run, **given)
