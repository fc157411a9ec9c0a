"""`manage.py chain SLUG PLAN.toml`: from noisy pages to a release, in this process."""

import json
import time
from pathlib import Path
from typing import Any

from celery import current_app
from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from evaluation.chain.effects import NAMES, RUNS
from evaluation.chain.here import work_in_words
from evaluation.chain.models import Chain, StepState
from evaluation.chain.plan import DEFAULT, SPECS
from evaluation.chain.records import record_of
from evaluation.chain.services import (
    advance,
    begin_again,
    cancel_chain,
    change_plan,
    forecast_plan,
    set_chain_budget,
    start_chain,
)
from evaluation.chain.steps import problem_of
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus
from kit.templatetags.figures import duration
from llm import endpoints
from llm.ledger.accounts import budget_of


class Command(VerbCommand):
    help = (
        f"Take a benchmark through the steps of a plan: {', '.join(SPECS)}. Where people have to "
        "decide it says so and ends; --resume goes on where it stands."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument(
            "plan",
            nargs="?",
            type=Path,
            help="a TOML file; without one an example is printed",
        )
        parser.add_argument("--name", default="")
        parser.add_argument("--budget", help="in dollars, of all steps together")
        parser.add_argument("--forecast", action="store_true", help="what the steps would take")
        parser.add_argument(
            "--resume",
            action="store_true",
            help="go on with the newest chain that is not over; a "
            "plan beside it is that of the steps that have not begun",
        )
        parser.add_argument(
            "--chain", type=int, metavar="N", help="this one; else the newest that is not over"
        )
        parser.add_argument(
            "--again", action="store_true", help="begin its present step anew, and go on"
        )
        parser.add_argument("--cancel", action="store_true", help="begin no further step")
        parser.add_argument(
            "--set-budget",
            metavar="USD",
            help="what its steps may spend together from the next one on, or none for no limit",
        )
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        verbs = ("resume", "again", "cancel", "set_budget", "chain")
        of_one = any(options[name] is not None and options[name] is not False for name in verbs)
        if options["plan"] is None and not of_one:
            self.stdout.write(DEFAULT)
            return
        if options["plan"] is not None and of_one and not options["resume"]:
            raise Refused("Of a chain that is there a plan is changed with --resume.")
        with endpoints.practice_if_unconfigured("agents"):
            if options["forecast"]:
                self._tell_forecast(benchmark, options)
                return
            chain = _told(benchmark, options) if of_one else _begun(benchmark, options)
            if options["resume"] or options["again"] or not of_one:
                _drive(chain)
        self._report(chain, as_json=options["json"])

    def _tell_forecast(self, benchmark: Benchmark, options: dict[str, Any]) -> None:
        steps = forecast_plan(benchmark, _read(options["plan"]))
        if options["json"]:
            self.stdout.write(json.dumps([{"do": each.do, **told} for each, told in steps]))
            return
        for number, (each, told) in enumerate(steps, start=1):
            found = [f"{told['calls']:,.0f} calls"] if "calls" in told else []
            if told.get("usd") is not None:
                found.append(f"{float(told['usd']):.4f} USD")
            if told.get("seconds") is not None:
                found.append(duration(told["seconds"]))
            if words := work_in_words(told):
                found.append(f"people: {words}")
            self.stdout.write(f"{number}. {each.do}: {', '.join(found) or 'not known yet'}")

    def _report(self, chain: Chain, *, as_json: bool) -> None:
        chain.refresh_from_db()
        records = [record_of(step) for step in chain.steps.exclude(state=StepState.WAITING)]
        if as_json:
            told = {"chain": chain.pk, "name": chain.name, "status": chain.status}
            self.stdout.write(json.dumps({**told, "waits_for": chain.waits_for, "steps": records}))
        else:
            for record in records:
                told = record["figures"]
                figures = ", ".join(f"{n} {told[n]:.4f}" for n in NAMES if n in told)
                if runs := told.get(RUNS):
                    figures += f" ({', '.join(runs)})"
                took = "" if record["seconds"] is None else f" in {record['seconds']} s"
                self.stdout.write(
                    f"{record['step']}. {record['do']}{took}, {record['spent_usd']} USD: {figures}"
                )
            is_over = chain.status in (RunStatus.DONE, RunStatus.CANCELLED)
            words = f"is {chain.status}" if is_over else f"waits for {chain.waits_for}"
            self.stdout.write(f"{chain.name} {words}")
        if chain.status == RunStatus.FAILED:
            raise CommandError(chain.error)


def _begun(benchmark: Benchmark, options: dict[str, Any]) -> Chain:
    return start_chain(
        benchmark=benchmark,
        plan=_read(options["plan"]),
        actor=None,
        name=options["name"],
        budget_usd=budget_of(options["budget"]),
    )


def _told(benchmark: Benchmark, options: dict[str, Any]) -> Chain:
    """A chain that is there, with what is asked of it done but for going on."""
    if (key := options["chain"]) is not None:
        chain, words = benchmark.chains.filter(pk=key).first(), f"chain {key} here"
    else:
        over = (RunStatus.DONE, RunStatus.CANCELLED)
        chain = benchmark.chains.exclude(status__in=over).order_by("-pk").first()
        words = "chain that is not over"
    if chain is None:
        raise Refused(f"There is no {words}. Start one with a plan.")
    if options["set_budget"]:
        usd = None if options["set_budget"] == "none" else budget_of(options["set_budget"])
        set_chain_budget(run=chain, usd=usd, actor=None)
    if options["cancel"]:
        cancel_chain(run=chain, actor=None)
    elif options["again"]:
        begin_again(run=chain, actor=None)
    elif options["resume"]:
        if options["plan"] is not None and (plan := _read(options["plan"])) != chain.plan:
            change_plan(run=chain, plan=plan, actor=None)
        chain.move(RunStatus.QUEUED, sources=(RunStatus.FAILED, RunStatus.PAUSED))
    return chain


def _read(plan: Path) -> str:
    try:
        return plan.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{plan}: {error}") from None


def _drive(chain: Chain) -> None:
    """Take the chain and its runs as far as they go without people.

    Workers may take the runs as well: whoever claims one works on it.
    """
    current_app.loader.import_default_modules()  # the tasks of every room
    while True:
        Chain.objects.filter(pk=chain.pk).update(look_at=None)
        if chain.claim():
            advance(chain)
        chain.refresh_from_db()
        if chain.is_over or chain.status == RunStatus.PAUSED:
            return
        if chain.status == RunStatus.RUNNING:  # a worker has the chain itself
            time.sleep(0.5)
            continue
        step = chain.steps.exclude(state=StepState.DONE).select_related("sheet").first()
        if step is None:
            continue
        runs: list[Any] = step.runs() if step.state == StepState.RUNNING else []
        if step.state == StepState.MEASURING and step.sheet is not None:
            runs = [step.sheet]
        going = [run for run in runs if run.status != RunStatus.DONE]
        if problem_of(runs) or (step.state == StepState.RUNNING and not going):
            return
        for run in going:
            current_app.tasks[run.task_name](run.pk)
            run.refresh_from_db()
            if run.status == RunStatus.RUNNING:  # a worker has it
                time.sleep(0.5)
