"""`manage.py export_answers SLUG SOURCE`: answers with their citations, one JSON record a line."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.lists import is_key
from corpus.management.named import benchmark_named
from evaluation.support.exchange import check_limits, export_answers
from evaluation.support.protocol.shapes import SHAPES
from evaluation.support.services import unsaved_set
from kit.errors import Refused


class Command(BaseCommand):
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
        benchmark, source = benchmark_named(options["slug"]), options["source"]
        kind, _, number = source.partition(":")
        try:
            if kind == "set":
                key = int(number) if is_key(number) else 0
                of = benchmark.support_sets.filter(pk=key).first()
                if of is None:
                    raise CommandError("There is no such set of answers here.")
            else:
                of = unsaved_set(benchmark, source)
            for words in check_limits(of, shape=options["shape"], anyway=options["anyway"]):
                self.stderr.write(words)
            for record in export_answers(of, shape=options["shape"]):
                self.stdout.write(json.dumps(record, ensure_ascii=False))
        except Refused as refusal:
            raise CommandError(refusal.message) from None
