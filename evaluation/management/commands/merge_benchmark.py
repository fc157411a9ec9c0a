"""`manage.py merge_benchmark SLUG FILE [--dry-run]`: what was said of it elsewhere is added;
`merge_benchmark SLUG --claim PSEUDONYM USERNAME`: who somebody of a file is."""

import json
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from evaluation.transfer.claims import claim
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
        parser.add_argument("file", type=Path, nargs="?")
        parser.add_argument(
            "--claim",
            nargs=2,
            action="append",
            default=[],
            metavar=("PSEUDONYM", "USERNAME"),
            help="first let what stands under a pseudonym become a member's; nothing undoes it",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would come of it")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        if options["file"] is None and not options["claim"]:
            raise CommandError("Name a file, or give --claim.")
        if options["dry_run"] and options["claim"]:
            raise CommandError("A claim cannot be tried: leave out --dry-run.")
        for pseudonym, username in options["claim"]:
            person = User.objects.filter(username=username).first()
            rows = claim(benchmark=benchmark, pseudonym=pseudonym, person=person, actor=None)
            self.stderr.write(f"{pseudonym} is {username}: {rows:,} rows.")
        if options["file"] is None:
            return
        try:
            report = merge_file(
                benchmark=benchmark,
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
