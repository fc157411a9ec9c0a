"""`manage.py agent_board SLUG`: retriever by agent, as the screen shows it."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.management.named import benchmark_named
from evaluation.agents import board
from evaluation.agents.protocol.measures import GAMMA
from evaluation.agents.reading import judges
from evaluation.agents.trust import calibration
from kit.lists.report_tables import as_data
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = "Print the tables of search agents under one judge, as CSV with a title line each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--judge", type=int, help="a judge run by number; the newest judge")
        parser.add_argument("--gamma", type=float, default=GAMMA, help="price of a round in AER")
        parser.add_argument(
            "--calibration", type=int, metavar="BINS", help="stated confidence in so many bins"
        )
        parser.add_argument("--json", action="store_true", help="print the tables as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark, asked = benchmark_named(options["slug"]), options["judge"]
        known = judges(benchmark)
        judge = next((each for each in known if asked in (None, each.pk)), None)
        if asked is not None and judge is None:
            raise CommandError(f"There is no judge by judge run {asked}.")
        found = board.board_of(benchmark, judge, gamma=options["gamma"])
        sheets = board.tables(found, judge, gamma=options["gamma"])
        if (bins := options["calibration"]) is not None:
            if not 1 <= bins <= calibration.MOST_BINS:
                raise CommandError(f"Bins are 1 to {calibration.MOST_BINS}.")
            sheets = calibration.tables(calibration.stated(benchmark, judge), bins)
        if not sheets:
            raise CommandError("No agent has searched here yet; run_agent lets one.")
        if options["json"]:
            self.stdout.write(json.dumps(as_data(sheets)))
            return
        self.print_tables(sheets)
