"""`manage.py import_answers SLUG FILE`: answers of other programs, to judge their citations."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from evaluation.support.exchange import import_answers
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Import answers, one JSON record a line, in the shape of TREC RAG 2024 or 2025, RAGTIME or "
        "NeuCLIR. All of them or none; each fault is named by line and field."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("file", type=Path)
        parser.add_argument("--name", default="", help="of the set; the file's")
        parser.add_argument("--domain", default="", help="of topics that several domains have")
        parser.add_argument(
            "--per-sentence", type=int, help="judge only the first so many citations of a sentence"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        try:
            with file.open(encoding="utf-8", errors="surrogateescape") as lines:
                of = import_answers(
                    benchmark=benchmark_named(options["slug"]),
                    lines=lines,
                    name=options["name"] or file.stem,
                    actor=None,
                    domain=options["domain"],
                    per_sentence=options["per_sentence"],
                )
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        count = of.answers.count()
        odd = f", {of.blank} blank sentences left out" if of.blank else ""
        self.stdout.write(f"Set {of.pk}, {of.name}: {count} answers{odd}")
