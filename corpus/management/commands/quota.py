"""What a benchmark uses and may use, from the shell."""

import json
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.management.named import benchmark_named
from corpus.quotas.services import LIMITS, quota_of, set_quota, used_by

_MONEY = ("usd", "usd_month")


class Command(BaseCommand):
    help = "Print what a benchmark uses and may use; with limits, set them (`none` lifts one)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="the benchmark's slug")
        parser.add_argument("--bytes", help="of pages and imported files")
        parser.add_argument("--calls", help="to models; each attempt is one")
        parser.add_argument("--usd", help="for models")
        parser.add_argument("--usd-month", help="for models, in a month of UTC")
        parser.add_argument("--in-flight", help="calls to models at once")
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        quota, used = quota_of(benchmark), used_by(benchmark)
        given = {name: options[name] for name in LIMITS if options[name] is not None}
        if given:
            limits = {name: getattr(quota, name) for name in LIMITS}
            limits |= {name: _read(name, text) for name, text in given.items()}
            limits["priority"] = quota.priority
            quota = set_quota(benchmark=benchmark, actor=None, **limits)
        rows = {name: (used[name], getattr(quota, name)) for name in LIMITS}
        if options["json"]:
            numbers = {
                name: {"used": float(has), "most": None if most is None else float(most)}
                for name, (has, most) in rows.items()
            }
            self.stdout.write(json.dumps(numbers))
            return
        for name, (has, most) in rows.items():
            self.stdout.write(f"{name}\t{has:,}\t{'no limit' if most is None else f'{most:,}'}")


def _read(name: str, text: str) -> Any:
    try:
        value = None if text == "none" else round(Decimal(text), 2)
        whole = value if value is None or name in _MONEY else int(text)
    except (ArithmeticError, ValueError):
        raise CommandError(f"--{name} is {text!r}: give a number, or none.") from None
    least = 1 if name == "in_flight" else 0
    most = 10**9 if name in _MONEY else 10_000 if name == "in_flight" else 2**62
    if whole is not None and not least <= whole <= most:
        raise CommandError(f"--{name.replace('_', '-')} is {text!r}: give {least} or more.")
    return whole
