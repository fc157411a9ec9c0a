"""`manage.py export_answers SLUG SOURCE`: answers with their citations, one JSON record a line."""

import json
from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named
from evaluation.management.commands.check_support import set_named
from evaluation.support.exchange import check_limits, export_answers
from evaluation.support.protocol.shapes import SHAPES
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Print answers as JSON lines: references, agent:N or rag:N (a run that is done), or set:N "
        "(answers that were judged or imported). What is beyond limits of the track is named by "
        "line on the error output, and refused where the track refuses it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("source", help="references, agent:N, rag:N or set:N")
        parser.add_argument("--shape", choices=SHAPES, default="rag25")
        parser.add_argument(
            "--anyway", action="store_true", help="print what the track would refuse, too"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        of = set_named(benchmark_named(options["slug"]), options["source"])
        for words in check_limits(of, shape=options["shape"], anyway=options["anyway"]):
            self.stderr.write(words)
        for record in export_answers(of, shape=options["shape"]):
            self.stdout.write(json.dumps(record, ensure_ascii=False))
