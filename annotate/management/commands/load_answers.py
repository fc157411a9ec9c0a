"""Short answers for queries that are here already, so that debates can judge them."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.answers.short import take_reference_answers
from corpus.imports.answers import load_answers
from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Write short answers of a benchmark's queries, by which debates judge: those of a file "
        "(JSON lines of id and answers, or lines of id, tab, answer), or the reference answers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, nargs="?", metavar="FILE")
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument(
            "--from-reference",
            action="store_true",
            help="give each query without answers its reference answer as its only one",
        )
        parser.add_argument("--domain", default="", help="the domain of ids that come without one")
        parser.add_argument(
            "--replace", action="store_true", help="also where a query has other answers already"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path, slug = options["path"], options["benchmark"]
        if (path is None) != options["from_reference"]:
            raise CommandError("Give either a FILE or --from-reference.")
        if options["from_reference"] and options["replace"]:
            raise CommandError("--replace goes with a FILE; --from-reference replaces nothing.")
        benchmark = benchmark_named(slug)
        domain = options["domain"]
        if path is None:
            counts = take_reference_answers(benchmark=benchmark, domain=domain, actor=None)
        else:
            counts = self._load(benchmark, path, domain, replace=options["replace"])
        if options["json"]:
            self.stdout.write(json.dumps(counts))
            return
        words = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in counts.items())
        self.stdout.write(f"{slug}: {words}.")

    def _load(
        self, benchmark: Benchmark, path: Path, domain: str, *, replace: bool
    ) -> dict[str, int]:
        if not path.is_file():
            raise CommandError(f"{path}: there is no such file.")
        counts, problems = load_answers(
            benchmark=benchmark, path=path, domain=domain, replace=replace, actor=None
        )
        for problem in problems:
            self.stderr.write(str(problem))
        if problems:
            raise SystemExit(1)
        return counts
