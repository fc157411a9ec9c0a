"""`manage.py judge_sample SLUG`: draw answers of agents for people to score, close, count."""

import json
from typing import Any

from django.core.management.base import CommandParser

from annotate.grading.services import PEOPLE, SEED, SIZE, close_sample
from annotate.rights import named_admin
from corpus.management.named import benchmark_named
from evaluation.agents.trust.people import draw_sample, samples
from kit.errors import Refused
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Print how far people have scored samples of agents' answers. With --draw, draw one from "
        "the runs that are named with --run; with --close, ask nobody about the sample any more."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--draw", action="store_true", help="draw a new sample")
        parser.add_argument("--run", type=int, action="append", default=[], help="an agent run")
        parser.add_argument("--size", type=int, default=SIZE, help="answers to draw")
        parser.add_argument("--seed", type=int, default=SEED)
        parser.add_argument("--people", type=int, default=PEOPLE, help="people for each answer")
        parser.add_argument("--close", type=int, metavar="SAMPLE", help="a sample by number")
        parser.add_argument("--as", dest="person", default="", help="the admin who does it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        if options["draw"]:
            runs = list(benchmark.agent_runs.filter(pk__in=options["run"]))
            given = {name: options[name] for name in ("size", "seed", "people")}
            access = named_admin(benchmark, options["person"])
            draw_sample(access=access, runs=runs, **given)
        elif options["close"]:
            found = samples(benchmark).filter(pk=options["close"]).first()
            if found is None:
                raise Refused("There is no such sample here.")
            close_sample(sample=found, access=named_admin(benchmark, options["person"]))
        columns = ("pk", "seed", "people", "drawn", "scored", "given", "closed_at")
        names = ("sample", "seed", "people", "answers", "scored", "grades", "closed")
        rows = [
            dict(zip(names, (*row[:-1], row[-1] is not None), strict=True))
            for row in samples(benchmark).values_list(*columns)
        ]
        self.stdout.write(json.dumps(rows))
