"""`manage.py export_training SLUG --format diver --out DIR`: training data as files."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named, numbered
from corpus.texts.tokens import CHARACTERS
from evaluation.exporters.training import FORMATS
from evaluation.training.exporting import export_training
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus


class Command(VerbCommand):
    help = "Write a run's training data into a folder, with a mixture report and a card."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--run", type=int, help="its number; the newest that is done")
        parser.add_argument("--format", required=True, choices=sorted(FORMATS))
        parser.add_argument(
            "--out", required=True, type=Path, help="a folder that is not there yet, or empty"
        )
        parser.add_argument(
            "--tokenizer", default=CHARACTERS, help="that lengths are told in (docs/settings.md)"
        )
        parser.add_argument("--json", action="store_true", help="print the mixture report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = benchmark_named(options["slug"]).training_runs.select_related("benchmark")
        rows = rows.filter(status=RunStatus.DONE).order_by("-pk")
        missing = "There is no such run that is done (`make_training_data`)."
        run = numbered(rows, options["run"], missing)
        folder = options["out"].resolve()
        try:
            given = {name: options[name] for name in ("format", "tokenizer")}
            report = export_training(run=run, folder=folder, **given)
        except OSError as error:
            raise CommandError(f"{folder} could not be written: {error.strerror}.") from None
        if options["json"]:
            self.stdout.write(json.dumps(report))
            return
        queries = sum(report["queries"].values())
        self.stdout.write(f"Wrote {folder}: {report['lines']:,} lines of {queries:,} queries.")
        for reason, count in report["left_out"].items():
            if count:
                self.stdout.write(f"Left out, {reason}: {count:,}.")
