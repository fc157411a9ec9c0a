"""Hold debates from the shell, with the code that the screens and workers use."""

import json
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.models import Count

from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from debate.lara.services import budget_progress
from debate.measures import Comparison
from debate.models import DebateRun, DebateStatus, RunKind
from debate.references import against_known_labels
from debate.rehearings.services import rehear
from debate.runs import from_pairs
from debate.runs.configuration import LARA_MODES, ModelChoice, role_of
from debate.runs.configuration import as_json as frozen
from debate.runs.figures import figures
from debate.runs.forecast import forecast_plan
from debate.runs.offers import PER, offers
from debate.runs.planning import Plan, default_pool, pairs_left, plan_run, start_planned
from debate.runs.presets import PRESETS, preset_kind
from debate.tasks import DEBATES
from kit.errors import Refused
from kit.runs.models import RunStatus
from kit.stats.means import Mean
from kit.stats.proportions import Proportion, proportion
from llm import endpoints
from llm.ledger.reading import in_a_line, spending
from llm.ledger.serializers import SpendingSerializer
from llm.requests import EFFORTS


class Command(BaseCommand):
    help = (
        "Debate the pairs of a benchmark's pool, or of a JSONL file with rows "
        "{id, query, answers, passage} and, where it is known, label. Without a configured "
        "endpoint the practice model is started for the length of the command."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--benchmark", metavar="SLUG", help="debate a pool of this benchmark")
        parser.add_argument(
            "--pool", metavar="NAME", help="the pool (default: the newest with pairs left to judge)"
        )
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
        parser.add_argument(
            "--again",
            metavar="RUN",
            type=int,
            help="debate the disputes of this run again, with what voters said of them",
        )
        parser.add_argument(
            "--vote",
            metavar="CASE/N",
            action="append",
            default=[],
            help="with --again: hear voter N of this case, and nobody else (repeatable)",
        )
        parser.add_argument("--name", default="", help="the run's name (default: made up)")
        parser.add_argument("--budget", metavar="USD", type=_usd, help="never spend more")
        parser.add_argument("--prompt-version", type=int, help="of the debate prompt")
        parser.add_argument(
            "--forecast", action="store_true", help="print a forecast, and start nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        try:
            with endpoints.practice_if_unconfigured(_role(options["preset"])) as endpoint:
                if options["again"]:
                    run = _again(options)
                else:
                    plan = _plan(endpoint, options)
                    if options["forecast"]:
                        self._forecast(plan, as_json=options["json"])
                        return
                    run = start_planned(plan=plan, actor=None, claimed=True)
                DEBATES.drive(run)
        except (Refused, from_pairs.BadPairs) as refusal:
            raise CommandError(str(refusal)) from None
        run.refresh_from_db()
        # A run that stopped on the way has pairs without an outcome: nothing is written for it.
        if options["pairs"] and run.status == RunStatus.DONE:
            from_pairs.write_outcomes(run, options["pairs"], options["out"])
        self._report(run, as_json=options["json"])

    def _forecast(self, plan: Plan, *, as_json: bool) -> None:
        found, models = forecast_plan(plan), offers(plan)
        if as_json:
            budget = None if plan.budget_usd is None else str(plan.budget_usd)
            data = found | {"config": frozen(plan.config), "budget_usd": budget, "models": models}
            self.stdout.write(json.dumps(data))
            return
        self.stdout.write(f"{found['pairs']} pairs, told from {found['sample']} of them")
        for name in ("calls", "input_tokens", "output_tokens", "usd", "seconds"):
            self.stdout.write(f"  {name.replace('_', ' '):14} {_span(found[name])}")
        self.stdout.write("\n".join([*_work_lines(found["people"]), *map(_model_line, models)]))

    def _report(self, run: DebateRun, *, as_json: bool) -> None:
        counts, known = figures(run) | _judged(run), against_known_labels(run)
        if as_json:
            summary = {"run": run.pk, "benchmark": run.benchmark.slug, "status": run.status}
            summary |= {"kind": run.kind, "preset": run.preset, "trial": run.is_provisional}
            summary |= {**counts, "practice": run.practice}
            spent = SpendingSerializer(spending(run.calls)).data
            measured = {"accuracy": _as_data(known)} if known.items else {}
            self.stdout.write(json.dumps(summary | measured | {"spending": spent}))
        else:
            self.stdout.write(f"Run {run.pk} ({run.benchmark.slug}): {run.status}")
            for name, value in counts.items():
                self.stdout.write(f"  {name.replace('_', ' '):14} {value}")
            self.stdout.write(f"  {'spent':14} {in_a_line(spending(run.calls))}")
            if known.items:
                self.stdout.write("\n".join(_as_lines(known)))
        if run.status == RunStatus.QUEUED and (waits := budget_progress(run)):
            words = "{labelled} of {budget} pairs labelled, {open} before them".format(**waits)
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


def _span(found: dict[str, float] | None) -> str:
    if not found:
        return "unknown"
    return f"{found['likely']:,.2f} ({found['low']:,.2f} to {found['high']:,.2f})"


_BASIS = {
    "measured": "from {} pairs decided in the same way",
    "published": "assumed: what was published for DREAM, 2.6 to 13 % of pairs",
    "settings": "by the settings, unreadable answers apart",
    "": "no pair was decided in this way yet",
}


def _work_lines(work: dict[str, Any]) -> Iterator[str]:
    """What people will have to do."""
    yield "For people" + (", once the run is adopted" if work["after_adoption"] else "")
    yield f"  {'cases':14} {_span(work['cases'])}, {_BASIS[work['basis']].format(work['sample'])}"
    yield f"  {'audited pairs':14} {work['audit']}"
    yield f"  {'votes':14} {_span(work['votes'])}, {work['votes_a_case']} a case"
    hours = work["seconds"] and {end: each / 3600 for end, each in work["seconds"].items()}
    timed = work["votes_timed"]
    pace = f"mean of {timed} votes" if timed else "assumed: the voting plan's"
    yield f"  {'hours':14} {_span(hours)}, {work['seconds_a_vote']:.0f} s a vote ({pace})"


def _model_line(each: dict[str, Any]) -> str:
    """One of several models that could be asked."""
    right = each["accuracy"]
    known = f", balanced accuracy {right['value']:.4f} on {each['known']}" if right else ""
    return f"{each['model']} at {each['endpoint']}: USD a {PER:,} pairs {_span(each['usd'])}{known}"


def _shares(known: Comparison) -> dict[str, Proportion | Mean]:
    own = known.labelled
    hits = own.relevant.hits + own.irrelevant.hits
    return {
        "accuracy": proportion(hits, own.relevant.n + own.irrelevant.n),
        "recall_relevant": own.relevant,
        "recall_irrelevant": own.irrelevant,
        "balanced_accuracy": own.balanced,
        "escalation": known.escalation,
    }


def _as_data(known: Comparison) -> dict[str, Any]:
    shares = {
        name: {"value": each.value, "low": each.low, "high": each.high}
        for name, each in _shares(known).items()
    }
    return {"known_labels": known.items, "invalid": known.invalid, **shares}


def _as_lines(known: Comparison) -> Iterator[str]:
    yield f"Of {known.items} pairs whose label is known, {known.invalid} got none:"
    for name, each in _shares(known).items():
        words = "-"
        if each.value is not None:
            words = f"{each.value:.4f} [{each.low:.4f}, {each.high:.4f}]"
            if isinstance(each, Proportion):
                words += f"  {each.hits} of {each.n}"
        yield f"  {name.replace('_', ' '):18} {words}"


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
        if out.is_dir() or not os.access(out.parent, os.W_OK):
            raise CommandError(f"{out} cannot be written. Name a file in a folder that exists.")
        if out.resolve() == pairs.resolve():
            raise CommandError("--out would overwrite the pairs. Name another file.")


def _plan(endpoint: endpoints.Endpoint, options: dict[str, Any]) -> Plan:
    if options["pairs"]:
        if "corpus_benchmark" not in connection.introspection.table_names():
            call_command("migrate", verbosity=0, interactive=False)
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
        models=_choices(options["agents"], endpoint),
        settings=_settings(options["config"]) | changes,
        prompt_version=options["prompt_version"],
        name=options["name"],
        budget_usd=options["budget"],
    )


def _again(options: dict[str, Any]) -> DebateRun:
    if not options["benchmark"]:
        raise CommandError("--again names a run of a benchmark.")
    found = _benchmark(options["benchmark"]).debate_runs.filter(pk=options["again"]).first()
    if found is None:
        raise CommandError(f"{options['benchmark']} has no debate run {options['again']}.")
    return rehear(
        run=found, votes=options["vote"], budget_usd=options["budget"], actor=None, claimed=True
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


def _choices(agents: str | None, endpoint: endpoints.Endpoint) -> tuple[ModelChoice, ...]:
    """The models that were named, each at its endpoint; a model's name may hold an @ itself."""
    choices = []
    for each in (agents or "").split(",") if agents else ():
        model, at, name = each.strip().rpartition("@")
        model, name = (model, name) if at else (name, endpoint.name)
        if not model or not name:
            raise CommandError(f"--agents: {each.strip()!r} is not MODEL or MODEL@ENDPOINT.")
        choices.append(ModelChoice(model, name))
    return tuple(choices)


def _benchmark(slug: str) -> Benchmark:
    return benchmark_named(slug)


def _pool(benchmark: Benchmark, name: str | None) -> Any:
    if name:
        found = benchmark.pools.filter(name=name).first()
    else:
        found = default_pool(benchmark, pairs_left(benchmark))
    if found is None:
        named = f" named {name!r}" if name else ""
        raise CommandError(f"{benchmark.slug} has no pool of pairs{named}.")
    return found
