"""Adopt a run from the shell, or take the pool that a filter leaves."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from debate.models import DebateRun
from debate.services.adoption import adopt_run
from debate.services.filtering import keep_pairs
from kit.errors import Refused


class Command(BaseCommand):
    help = (
        "Let the trial labels of a finished run count, and bring its open pairs before people. "
        "With --keep, make a pool of the pairs that a filter run did not discard instead."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, help="the run's number, as run_debates prints it")
        parser.add_argument("--keep", action="store_true", help="make the filter's pool")
        parser.add_argument("--name", default="", help="the new pool's name")

    def handle(self, *args: Any, **options: Any) -> None:
        run = DebateRun.objects.filter(pk=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['run']}.")
        if options["name"] and not options["keep"]:
            raise CommandError("--name names the pool that --keep makes.")
        try:
            if options["keep"]:
                pool = keep_pairs(run=run, name=options["name"], actor=None)
                pairs = pool.provenance["pairs"]
                self.stdout.write(f"Pool {pool.pk} ({pool.name}): {pairs} pairs kept")
                return
            counts = adopt_run(run=run, actor=None)
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(
            f"Run {run.pk}: {counts.standing} labels stand now, {counts.weaker} gave way to "
            f"weightier ones, {counts.cases} cases were opened"
        )
