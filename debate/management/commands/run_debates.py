"""Hold debates from the shell, with the code that the screens and workers use."""

import json
import os
import sys
from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from corpus.models import Benchmark
from debate.lara.services import awaited
from debate.models import DebateRun, DebateStatus, RunKind
from debate.results.figures import figures
from debate.runs import from_pairs
from debate.runs.configuration import LARA_MODES, Seat, role_of
from debate.runs.configuration import as_json as frozen
from debate.runs.forecast import forecast_plan
from debate.runs.planning import Plan, plan_run, start_planned
from debate.runs.presets import PRESETS, preset_kind
from debate.runs.tasks import drive_claimed
from kit.errors import Refused
from kit.runs.models import RunStatus
from llm import endpoints
from llm.ledger.reading import in_a_line, spending
from llm.requests import EFFORTS
from llm.serializers import SpendingSerializer


class Command(BaseCommand):
    help = (
        "Debate the pairs of a benchmark's pool, or of a JSONL file with rows "
        "{id, query, answers, passage}. Without a configured endpoint the practice model is "
        "started for the length of the command."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--benchmark", metavar="SLUG", help="debate a pool of this benchmark")
        parser.add_argument("--pool", metavar="NAME", help="the pool (default: the newest)")
        parser.add_argument("--pairs", metavar="FILE.jsonl", type=Path, help="pairs to debate")
        parser.add_argument("--out", metavar="FILE.jsonl", type=Path, help="where outcomes go")
        parser.add_argument("--rounds", type=int, help="rounds at most (1 to 5; default: 2)")
        parser.add_argument("--temperature", type=float, help="of every agent (default: 0)")
        parser.add_argument(
            "--reasoning-effort", choices=EFFORTS, help="of every agent (default: the model's own)"
        )
        parser.add_argument(
            "--agents",
            metavar="MODEL@ENDPOINT,...",
            help="who debates, stances alternating from relevant; with a preset, its models, the "
            "main one first. Without @ENDPOINT the default endpoint is asked",
        )
        parser.add_argument(
            "--preset",
            metavar="NAME",
            help=f"an experiment, its labels on trial until adopted: {', '.join(PRESETS)}",
        )
        parser.add_argument(
            "--people",
            choices=LARA_MODES[1:],
            help="with a preset of LARA: people label its picks, batch by batch or all at once",
        )
        parser.add_argument("--batch", type=int, help="picks before people at a time (20)")
        for name, what in (
            ("audit", "agreed pairs that people judge blindly when the run ends"),
            ("decoys", "disputes shown from the passage alone, so that audits are not known"),
            ("canaries", "baited passages to debate when the run ends"),
        ):
            parser.add_argument(f"--{name}", type=int, metavar="N", help=what)
        parser.add_argument(
            "--config",
            metavar="FILE.json",
            type=Path,
            help='any other settings, as the API names them: {"kind": ..., "adjudicator": ...}',
        )
        parser.add_argument("--name", default="", help="the run's name (default: made up)")
        parser.add_argument("--budget", metavar="USD", type=_usd, help="never spend more")
        parser.add_argument("--prompt-version", type=int, help="of the debate prompt")
        parser.add_argument(
            "--forecast", action="store_true", help="tell what it would take, and start nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        try:
            with endpoints.practice_if_unconfigured(_role(options["preset"])) as endpoint:
                plan = _plan(endpoint, options)
                if options["forecast"]:
                    self._forecast(plan, as_json=options["json"])
                    return
                run = start_planned(plan=plan, actor=None, claimed=True)
                drive_claimed(run)
        except (Refused, from_pairs.BadPairs) as refusal:
            raise CommandError(str(refusal)) from None
        run.refresh_from_db()
        # A run that stopped on the way has pairs without an outcome: nothing is written for it.
        if options["pairs"] and run.status == RunStatus.DONE:
            from_pairs.write_outcomes(run, options["pairs"], options["out"])
        self._report(run, as_json=options["json"])

    def _forecast(self, plan: Plan, *, as_json: bool) -> None:
        found = forecast_plan(plan)
        if as_json:
            budget = None if plan.budget_usd is None else str(plan.budget_usd)
            told = found | {"config": frozen(plan.config), "budget_usd": budget}
            self.stdout.write(json.dumps(told))
            return
        self.stdout.write(f"{found['pairs']} pairs, told from {found['sample']} of them")
        for name in ("calls", "input_tokens", "output_tokens", "usd", "seconds"):
            value = found[name]
            words = "unknown"
            if value:
                words = f"{value['likely']:,.2f} ({value['low']:,.2f} to {value['high']:,.2f})"
            self.stdout.write(f"  {name.replace('_', ' '):14} {words}")

    def _report(self, run: DebateRun, *, as_json: bool) -> None:
        counts = figures(run) | _judged(run)
        if as_json:
            summary = {"run": run.pk, "benchmark": run.benchmark.slug, "status": run.status}
            summary |= {"kind": run.kind, "preset": run.preset, "trial": run.is_provisional}
            summary |= {**counts, "practice": run.practice}
            spent = SpendingSerializer(spending(run.calls)).data
            self.stdout.write(json.dumps(summary | {"spending": spent}))
        else:
            self.stdout.write(f"Run {run.pk} ({run.benchmark.slug}): {run.status}")
            for name, value in counts.items():
                self.stdout.write(f"  {name.replace('_', ' '):14} {value}")
            self.stdout.write(f"  {'spent':14} {in_a_line(spending(run.calls))}")
        if run.status == RunStatus.QUEUED and (waits := awaited(run)):
            words = f"{waits.labelled} of {waits.budget} pairs labelled, {waits.open} before them"
            self.stderr.write(f"The run waits for people ({words}); a worker goes on after them.")
        elif run.status != RunStatus.DONE:
            self.stderr.write(run.error or f"The run is {run.status}.")
            sys.exit(1)
        failed = run.debates.filter(status=DebateStatus.FAILED)
        reasons = failed.values_list("error").annotate(pairs=Count("pk")).order_by("-pairs")
        for words, pairs in reasons[:3]:
            self.stderr.write(f"{pairs} of {run.total} pairs failed: {words}")
        if run.total and failed.count() == run.total:
            sys.exit(1)


def _judged(run: DebateRun) -> dict[str, int]:
    """Pairs that ended in a way that no plain debate does, where there are any."""
    others = (DebateStatus.ADJUDICATED, DebateStatus.JUDGED, DebateStatus.KEPT)
    rows = run.debates.filter(status__in=others).values_list("status").annotate(Count("pk"))
    return {str(status): count for status, count in rows.order_by("status")}


def _check(options: dict[str, Any]) -> None:
    """Refuse what cannot end well before anything is loaded or paid for."""
    pairs, out = options["pairs"], options["out"]
    if bool(options["benchmark"]) == bool(pairs):
        raise CommandError("Give either --benchmark SLUG or --pairs FILE.jsonl.")
    if pairs and not out:
        raise CommandError("--pairs needs --out FILE.jsonl for the outcomes.")
    if not (options["preset"] or "").startswith("lara") and (options["people"] or options["batch"]):
        raise CommandError("--people and --batch go with a preset of LARA, such as lara@12.5.")
    if pairs and options["people"]:
        raise CommandError("--people needs a benchmark, whose annotators vote.")
    if pairs and options["pool"]:
        raise CommandError("--pool names a pool of a benchmark; it does not go with --pairs.")
    if out and not pairs:
        raise CommandError("--out goes with --pairs; a benchmark keeps its outcomes itself.")
    if out:
        _check_out(out, pairs)


def _plan(endpoint: endpoints.Endpoint, options: dict[str, Any]) -> Plan:
    if options["pairs"]:
        pool = from_pairs.load_pairs(options["pairs"])
        benchmark = pool.benchmark
    else:
        benchmark = _benchmark(options["benchmark"])
        pool = _pool(benchmark, options["pool"])
    names = ("rounds", "temperature", "reasoning_effort", "audit", "decoys", "canaries")
    changes = {name: options[name] for name in names if options[name] is not None}
    lara = {"mode": options["people"], "batch": options["batch"]}
    if lara := {name: value for name, value in lara.items() if value is not None}:
        changes["lara"] = lara
    return plan_run(
        benchmark=benchmark,
        pool=pool,
        endpoint=endpoint,
        preset=options["preset"] or "",
        models=_seats(options["agents"], endpoint),
        settings=_settings(options["config"]) | changes,
        prompt_version=options["prompt_version"],
        name=options["name"],
        budget_usd=options["budget"],
    )


def _role(preset: str | None) -> str:
    """Whose endpoint is the default one: an unknown preset is refused by the plan."""
    return role_of(preset_kind(preset) if preset in PRESETS else RunKind.DEBATE)


def _settings(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"--config {file}: {error}") from None
    if not isinstance(found, dict):
        raise CommandError(f"--config {file} has to hold an object.")
    return found


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is no amount") from None


def _seats(agents: str | None, endpoint: endpoints.Endpoint) -> tuple[Seat, ...]:
    """The models that were named, each at its endpoint; a model's name may hold an @ itself."""
    seats = []
    for each in (agents or "").split(",") if agents else ():
        model, at, name = each.strip().rpartition("@")
        model, name = (model, name) if at else (name, endpoint.name)
        if not model or not name:
            raise CommandError(f"--agents: {each.strip()!r} is not MODEL or MODEL@ENDPOINT.")
        seats.append(Seat(model, name))
    return tuple(seats)


def _check_out(out: Path, pairs: Path) -> None:
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise CommandError(f"{out} cannot be written. Name a file in a folder that exists.")
    if out.resolve() == pairs.resolve():
        raise CommandError("--out would overwrite the pairs. Name another file.")


def _benchmark(slug: str) -> Benchmark:
    found = Benchmark.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"There is no benchmark {slug!r}. Load one with load_benchmark.")
    return found


def _pool(benchmark: Benchmark, name: str | None) -> Any:
    pools = benchmark.pools.filter(name=name) if name else benchmark.pools.all()
    found = pools.first()
    if found is None:
        named = f" named {name!r}" if name else ""
        raise CommandError(f"{benchmark.slug} has no pool of pairs{named}.")
    return found
