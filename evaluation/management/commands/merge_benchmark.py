"""`manage.py merge_benchmark SLUG FILE [--dry-run]`: what was said of it elsewhere is added."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from evaluation.transfer.services import merge_file
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Add the labels, votes, aspects, gold and reviews of a file that `export_benchmark "
        "--everything` wrote to a benchmark of the same texts. Labels stand by their precedence; "
        "what weighs the same and differs is listed, and stays as here until an admin chooses."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="say what would come of it")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = merge_file(
                benchmark=benchmark_named(options["slug"]),
                path=options["file"],
                actor=None,
                is_trial=options["dry_run"],
            )
        except OSError as error:
            raise CommandError(f"{options['file']} could not be read: {error.strerror}.") from None
        if options["json"]:
            self.stdout.write(json.dumps(report))
            return
        for words, found in (("Added", report["added"]), ("There already", report["present"])):
            counts = ", ".join(f"{count:,} × {kind}" for kind, count in found.items())
            self.stdout.write(f"{words}: {counts or 'nothing'}.")
        self.stdout.write(f"Left out: {report['left_out_count']:,}.")
        for each in report["left_out"]:
            self.stdout.write(f"  {each['what']}: {each['why']}")
        self.stdout.write(f"Conflicts: {report['conflict_count']:,}.")
        for each in report["conflicts"]:
            about = f"{each['query']} {each['passage']}".strip()
            self.stdout.write(
                f"  {each['kind']} of {about}: here {each['ours']}, there {each['theirs']}"
            )
        if options["dry_run"]:
            self.stdout.write("Nothing was changed.")
