"""Clean a corpus from the shell, with the code that the screens and workers use."""

import json
import sys
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.cleaning.forecast import forecast
from corpus.cleaning.services import (
    DEFAULTS,
    advise,
    by_role,
    following,
    read_option,
    start_cleaning,
)
from corpus.cleaning.tasks import drive_claimed
from corpus.management.named import benchmark_named
from corpus.models import Benchmark, CleaningPreset, CleaningRun, CorpusVersion, ViolationPolicy
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus
from llm import endpoints


class Command(VerbCommand):
    help = (
        "Make a new corpus version by cleaning another one. Without a configured endpoint the "
        "practice model is started for the length of the command."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", metavar="SLUG")
        parser.add_argument("--preset", choices=CleaningPreset.values, default="marcus")
        parser.add_argument(
            "--also",
            choices=CleaningPreset.values,
            action="append",
            default=[],
            help="make this one too, of the same job: no call is made twice, the budget is one",
        )
        parser.add_argument("--policy", choices=ViolationPolicy.values, default="repair")
        parser.add_argument(
            "--source", metavar="NAME", help="the version to clean (default: the current)"
        )
        parser.add_argument("--name", default="", help="what the new version is called")
        parser.add_argument(
            "--model", default="", help="another model of the endpoint; dchunk: an embedding model"
        )
        parser.add_argument("--budget", metavar="USD", help="the most that may be spent")
        parser.add_argument(
            "--option",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help=f"one of {', '.join(DEFAULTS)}; may be given several times",
        )
        parser.add_argument(
            "--resume", metavar="RUN", type=int, help="go on with a run that stopped"
        )
        parser.add_argument("--forecast", action="store_true", help="print a forecast, and stop")
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        with endpoints.practice_if_unconfigured("cleaner") as first:
            # The models of the roles, unless one is named: that is asked at the first endpoint.
            endpoint = None if by_role() and not options["model"] else first
            if options["forecast"]:
                self._forecast(benchmark, endpoint, options)
                return
            run = _claimed(benchmark, endpoint, options)
            runs = [run, *following(run)]
            for each in runs:
                if each is run or each.claim():
                    drive_claimed(each)
        done = [self._report(each, as_json=options["json"]) for each in runs]
        if not all(done):
            sys.exit(1)

    def _forecast(self, benchmark: Benchmark, endpoint: Any, options: dict[str, Any]) -> None:
        source = _source(benchmark, options["source"])
        found = forecast(
            source,
            options["preset"],
            endpoint,
            options["model"],
            also=options["also"],
            options=dict(map(_option, options["option"])),
        )
        for name, value in found.items():
            self.stdout.write(
                f"  {name.replace('_', ' '):14} {'unknown' if value is None else value}"
            )
        advice = advise(benchmark)
        self.stdout.write(f"Advised: {advice.preset or 'nothing'}. {advice.why}")

    def _report(self, run: CleaningRun, *, as_json: bool) -> bool:
        run.refresh_from_db()
        if as_json:
            summary = {"run": run.pk, "version": run.version_id, "name": run.name}
            summary |= {"status": run.status, "preset": run.preset, "practice": run.practice}
            self.stdout.write(json.dumps(summary | {"figures": run.figures}))
        else:
            self.stdout.write(f"Run {run.pk}, “{run.name}”: {run.status}")
            # Sorted: PostgreSQL gives the keys back in an order of its own.
            for name, value in sorted(run.figures.items()):
                self.stdout.write(f"  {name:14} {value}")
        if run.status != RunStatus.DONE:
            self.stderr.write(run.error or run.pause_reason or f"The run is {run.status}.")
        return run.status == RunStatus.DONE


def _claimed(benchmark: Benchmark, endpoint: Any, options: dict[str, Any]) -> CleaningRun:
    if options["resume"] is not None:
        runs = CleaningRun.objects.select_related("benchmark", "source", "version", "created_by")
        run = runs.filter(pk=options["resume"], benchmark=benchmark).first()
        if run is None or run.version is None:
            raise CommandError(f"{benchmark.slug} has no cleaning run {options['resume']}.")
        run.move(RunStatus.QUEUED, sources=[RunStatus.PAUSED, RunStatus.FAILED])
        if not run.claim():
            raise CommandError(f"Run {run.pk} is {run.status}; nothing to go on with.")
        return run
    return start_cleaning(
        benchmark=benchmark,
        source=_source(benchmark, options["source"]),
        preset=options["preset"],
        policy=options["policy"],
        name=options["name"],
        endpoint=endpoint,
        model=options["model"],
        budget_usd=_usd(options["budget"]),
        also=options["also"],
        options=dict(map(_option, options["option"])),
        actor=None,
        claimed=True,
    )


def _source(benchmark: Benchmark, name: str | None) -> CorpusVersion:
    ready = CorpusVersion.objects.ready().filter(benchmark=benchmark)
    found = ready.filter(name=name).first() if name else CorpusVersion.objects.current(benchmark)
    if found is None:
        named = f" named {name!r}" if name else ""
        raise CommandError(f"{benchmark.slug} has no corpus version{named} that is ready.")
    return found


def _usd(given: str | None) -> Decimal | None:
    try:
        return None if given is None else Decimal(given)
    except InvalidOperation:
        raise CommandError(f"--budget: {given!r} is no amount in dollars.") from None


def _option(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not equals or name not in DEFAULTS:
        raise CommandError(
            f"--option: {given!r} is not NAME=VALUE with one of {', '.join(DEFAULTS)}."
        )
    try:
        return read_option(name, value)
    except Refused as refusal:
        raise CommandError(f"--option: {refusal}") from None
