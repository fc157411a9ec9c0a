"""`manage.py export_benchmark SLUG --format beir --out DIR`: what was imported, written again;
`--everything FILE`: the whole benchmark, for `import_benchmark` on another installation."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from corpus.versions.services import called
from evaluation.releases.exporting import FORMATS, export_benchmark
from evaluation.transfer.services import write_file
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Write a benchmark's texts, current gold and retrieval runs into a folder; or all of it "
        "(labels, votes, debates, calls, events, releases; people as pseudonyms) into one file, "
        "which is no release: it holds what is hidden from its annotators."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--format", choices=sorted(FORMATS))
        parser.add_argument("--out", type=Path, help="a folder that is not there yet")
        parser.add_argument(
            "--everything",
            type=Path,
            metavar="FILE",
            help="write the whole benchmark into this new file, instead of a format",
        )
        parser.add_argument(
            "--corpus-version", default="", help="by its name (default: the texts as loaded)"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        path, folder = options["everything"], options["out"]
        if path is None and (folder is None or options["format"] is None):
            raise CommandError("Give --format with --out, or --everything.")
        try:
            if path is not None:
                self._write_everything(benchmark, path, as_json=options["json"])
                return
            name = options["corpus_version"]
            folder = folder.resolve()
            counts = export_benchmark(
                benchmark=benchmark,
                folder=folder,
                format=options["format"],
                version=called(benchmark, name) if name else None,
            )
        except OSError as error:
            place = path or folder
            raise CommandError(f"{place} could not be written: {error.strerror}.") from None
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        words = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
        self.stdout.write(f"Wrote {folder}: {words or 'nothing'}.")

    def _write_everything(self, benchmark: Benchmark, path: Path, *, as_json: bool) -> None:
        manifest = write_file(benchmark=benchmark, path=path, say=self.stderr.write)
        rows = sum(each["rows"] for each in manifest["tables"])
        if as_json:
            self.stdout.write(json.dumps({"rows": rows, "digest": manifest["digest"]}))
            return
        size = path.stat().st_size / 1e6
        self.stdout.write(f"Wrote {path} ({size:,.1f} MB): {rows:,} rows.")
        self.stdout.write(f"Digest {manifest['digest']}")
