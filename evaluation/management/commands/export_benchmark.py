"""`manage.py export_benchmark SLUG --format beir --out DIR`: what was imported, written again."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.versions.services import called
from evaluation.releases.exporting import FORMATS, export_benchmark
from kit.errors import Refused


class Command(BaseCommand):
    help = "Write a benchmark's texts, current gold and retrieval runs into a folder."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--format", required=True, choices=sorted(FORMATS))
        parser.add_argument(
            "--out", required=True, type=Path, help="a folder that is not there yet"
        )
        parser.add_argument(
            "--corpus-version", default="", help="by its name (default: the texts as loaded)"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = options["out"].resolve()
        benchmark = benchmark_named(options["slug"])
        try:
            name = options["corpus_version"]
            counts = export_benchmark(
                benchmark=benchmark,
                folder=folder,
                format=options["format"],
                version=called(benchmark, name) if name else None,
            )
        except Refused as refusal:
            raise CommandError(refusal.message) from None
        except OSError as error:
            raise CommandError(f"{folder} could not be written: {error.strerror}.") from None
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        words = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
        self.stdout.write(f"Wrote {folder}: {words or 'nothing'}.")
