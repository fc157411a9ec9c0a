"""A benchmark from the terminal: archived, unarchived, deleted."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.benchmarks import archive as verbs
from corpus.management.named import benchmark_named
from kit.errors import Refused


class Command(BaseCommand):
    help = (
        "Archive a benchmark (it can be read, not changed), unarchive it, or delete one that is "
        "archived for good; a backup is made before, and its path printed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("verb", choices=("archive", "unarchive", "delete"))
        parser.add_argument("slug")
        parser.add_argument(
            "--confirm", metavar="SLUG", default="", help="the slug again, to delete"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        try:
            if options["verb"] == "delete":
                typed = options["confirm"]
                path = verbs.delete(benchmark=benchmark, typed=typed, actor=None)
                self.stdout.write(f"{benchmark.slug} is deleted. The backup before it: {path}")
            else:
                getattr(verbs, options["verb"])(benchmark=benchmark, actor=None)
                self.stdout.write(f"{benchmark.slug} is {options['verb']}d.")
        except (Refused, OSError) as error:
            raise CommandError(str(error)) from error
