"""`manage.py import_benchmark FILE`: a benchmark that was exported with --everything."""

import json
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from evaluation.transfer.services import import_file, open_file
from kit.errors import Refused
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Make a benchmark of a file that `export_benchmark --everything` wrote, here or elsewhere, "
        "on whatever database: whole and equal by digest, or not at all. People are accounts that "
        "nobody signs in to."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--slug", default="", help="its name here (default: that of the file)")
        parser.add_argument("--admin", default="", help="user name of who becomes its admin")
        parser.add_argument(
            "--check", action="store_true", help="only read the file through: nothing is changed"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            if options["check"]:
                self._describe(open_file(path).manifest)
                return
            benchmark = import_file(
                path=path,
                slug=options["slug"],
                admin=_named(options["admin"]),
                say=(lambda _: None) if options["json"] else self.stdout.write,
            )
        except OSError as error:
            raise CommandError(f"{path} could not be read: {error.strerror}.") from None
        digest = benchmark.transfers.latest("pk").digest
        if options["json"]:
            self.stdout.write(json.dumps({"benchmark": benchmark.slug, "digest": digest}))
            return
        self.stdout.write(f"Imported {benchmark.slug}. Digest {digest}, as in the file.")

    def _describe(self, manifest: dict[str, Any]) -> None:
        rows = sum(each["rows"] for each in manifest["tables"])
        self.stdout.write(
            f"Whole: {manifest['slug']}, {rows:,} rows, written by Assay {manifest['version']}. "
            f"Digest {manifest['digest']}"
        )


def _named(username: str) -> User:
    if not username:
        raise Refused(
            "Name who becomes its admin here: --admin USERNAME. Nobody else would see it."
        )
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise Refused(f"Nobody here is called {username}.")
    return user
