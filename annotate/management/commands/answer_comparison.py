"""`manage.py answer_comparison SLUG`: draw, close and read blind comparisons of answers."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.answers.comparing import SEED, SIZE, close_comparison, draw_comparison
from annotate.answers.report import report
from annotate.models import AnswerComparison
from annotate.rights import named_admin
from corpus.management.named import benchmark_named, numbered
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Print the report of a closed blind comparison of people's and a model's reference "
        "answers, the newest where none is named. With --draw, draw one; with --close, end it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--comparison", type=int, help="its number; default: the newest")
        parser.add_argument("--draw", action="store_true", help="draw a new one")
        parser.add_argument("--size", type=int, default=SIZE, help="queries to draw")
        parser.add_argument("--seed", type=int, default=SEED)
        parser.add_argument("--close", action="store_true", help="end it, and show whose is whose")
        parser.add_argument("--as", dest="person", default="", help="the admin who does it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        if options["draw"]:
            access = named_admin(benchmark, options["person"])
            made = draw_comparison(access=access, size=options["size"], seed=options["seed"])
            self.stdout.write(f"Comparison {made.pk} is drawn: {made.pairs.count()} queries")
            return
        rows = AnswerComparison.objects.filter(benchmark=benchmark)
        missing = "There is no such comparison here. --draw one."
        found = numbered(rows, options["comparison"], missing)
        if options["close"]:
            close_comparison(comparison=found, access=named_admin(benchmark, options["person"]))
            found.refresh_from_db()
        if found.closed_at is None:
            raise CommandError(
                f"Comparison {found.pk} is open: nobody sees whose answers were rated. --close it "
                "when the ratings are in."
            )
        self.stdout.write(json.dumps(as_data(report(found))))
