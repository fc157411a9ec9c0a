"""`manage.py judge_card SLUG`: the card of every judge, and files of TREC AutoJudge."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from evaluation.judges.card import table_of
from evaluation.judges.cards import cards_of
from evaluation.judges.exchange import KINDS, compared_file, written
from evaluation.judges.orders import meta_table, orders_of
from evaluation.judges.protocol.autojudge import SHAPES
from evaluation.judges.related import (
    aligned_twice,
    by_labels,
    by_others,
    families_table,
    judged_twice,
    without_family,
)
from kit.errors import Refused
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Print the card of every judge, how alike judges order systems, and model families that "
        "both decide and are decided on, as CSV with a title line each. With --export print a file "
        "in a shape of TREC AutoJudge instead, with --compare set such a file beside what is here."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--card", default="", help="one card alone, by its name (agents-3)")
        parser.add_argument(
            "--rank", action="store_true", help="rank systems without those of shared families, too"
        )
        parser.add_argument("--export", choices=KINDS, help="print a file")
        parser.add_argument(
            "--judge", default="", help="whose: a judge's or grader's name, a debate run"
        )
        parser.add_argument("--shape", choices=list(SHAPES), default="ir_measures")
        parser.add_argument("--compare", choices=KINDS, help="what the file at --file is")
        parser.add_argument("--file", type=Path)
        parser.add_argument("--json", action="store_true", help="print the tables as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark, shape = benchmark_named(options["slug"]), options["shape"]
        if options["export"]:
            judge = options["judge"]
            for line in written(benchmark, options["export"], judge=judge, shape=shape):
                self.stdout.write(line)
            return
        if options["compare"]:
            path = options["file"]
            if path is None or not path.is_file():
                raise Refused("Name the file with --file.")
            lines = path.read_text("utf-8", errors="replace").splitlines()
            kind, run = options["compare"], path.stem
            sheets = [compared_file(benchmark, kind, lines, shape=shape, run=run)]
        else:
            sheets = [table_of(card) for card in cards_of(benchmark)]
            known = orders_of(benchmark)
            sheets += [meta_table(known), families_table(benchmark)]
            sheets.append(by_others(judged_twice(benchmark, known)))
            if options["rank"]:
                sheets += [without_family(benchmark), by_labels(aligned_twice(benchmark))]
        if options["card"]:
            sheets = [each for each in sheets if each.name == options["card"]]
            if not sheets:
                raise CommandError(f"There is no card {options['card']}.")
        sheets = [each for each in sheets if each.rows]
        if options["json"]:
            self.stdout.write(json.dumps(as_data(sheets)))
            return
        self.print_tables(replace(each, title=f"{each.title} [{each.name}]") for each in sheets)
