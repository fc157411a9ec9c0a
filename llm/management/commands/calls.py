"""manage.py calls: the ledger of every benchmark, listed, added up, or as a file."""

import csv
import json
from argparse import ArgumentTypeError
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import date, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet

from kit.lists.csvfile import harmless
from kit.lists.report_tables import csv_header, csv_rows
from kit.templatetags.assay import in_words
from llm.ledger.accounts import paying_runs
from llm.ledger.reading import (
    CALLS,
    HEADER,
    STATES,
    TOTALS,
    UNCOSTED,
    begun_between,
    grouped,
    in_a_line,
    lines,
    spending,
    totals,
    totals_sheets,
    without_texts,
)
from llm.models import Account, Call
from llm.serializers import SpendingSerializer, as_totals


class Command(BaseCommand):
    help = (
        "List the calls of models, add them up (--totals), or write them as CSV (--csv), such as "
        "those that may have been paid for: --state possibly_paid --csv lost.csv. The last line "
        "of a list is their sum."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--benchmark", metavar="SLUG", help="of the runs of a benchmark")
        parser.add_argument("--run", metavar="NAME", help='of a run, such as "debate run 12"')
        for name in ("role", "model", "endpoint"):
            parser.add_argument(f"--{name}")
        parser.add_argument(
            "--state", choices=[value for value, _ in STATES], help=f"{UNCOSTED}: of unknown cost"
        )
        parser.add_argument("--about", metavar="SUBJECT", help='such as "debate:12"')
        parser.add_argument("--since", metavar="DAY", type=_day, help="begun on it or later")
        parser.add_argument("--until", metavar="DAY", type=_day, help="begun on it or before")
        parser.add_argument("--totals", choices=list(TOTALS), help="sums instead of calls")
        parser.add_argument("--csv", metavar="FILE", help='every digit, into a file; "-" prints it')
        parser.add_argument("--json", action="store_true", help="print the sums as JSON")
        parser.add_argument("--limit", type=int, default=50, help="calls that are listed (50)")

    def handle(self, *args: Any, **options: Any) -> None:
        calls, name = _asked(options), options["totals"]
        if options["csv"]:
            self._file(calls, options["csv"], name)
        elif options["json"]:
            data: dict[str, Any] = dict(SpendingSerializer(spending(calls)).data)
            if name:
                data["totals"] = as_totals(totals(grouped(calls), name))
            self.stdout.write(json.dumps(data))
        elif name:
            for key, found in totals(grouped(calls), name):
                words = (str(each) for name, each in key.items() if name != "account")
                self.stdout.write(f"{'  '.join(words)}: {in_a_line(found)}")
            self.stdout.write(f"All: {in_a_line(spending(calls))}")
        else:
            for each in without_texts(calls)[: options["limit"]]:
                self.stdout.write(_line(each))
            self.stdout.write(f"All: {in_a_line(spending(calls))}")

    def _file(self, calls: QuerySet[Call], path: str, name: str | None) -> None:
        header: Sequence[str] = HEADER
        rows: Iterable[Sequence[Any]] = lines(calls)
        if name:
            (sheet,) = totals_sheets(grouped(calls), name)
            header, rows = csv_header(sheet), csv_rows(sheet)
        try:
            with ExitStack() as stack:
                file: Any = self.stdout
                if path != "-":
                    file = stack.enter_context(open(path, "w", encoding="utf-8", newline=""))
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(header)
                writer.writerows([harmless(value) for value in row] for row in rows)
        except OSError as error:
            raise CommandError(f"--csv {path}: {error.strerror}") from None
        self.stderr.write(f"{path}: {in_a_line(spending(calls))}")


def _asked(options: dict[str, Any]) -> QuerySet[Call]:
    calls: QuerySet[Call] = Call.objects.order_by("-pk")
    if options["about"]:
        calls = Call.objects.order_by("-pk").about(options["about"])
    if slug := options["benchmark"]:
        runs = paying_runs(slug)
        if not runs:
            raise CommandError(f"No run of a benchmark {slug!r} has asked a model.")
        calls = calls.filter(account__in=[run.account_id for run in runs])
    if name := options["run"]:
        accounts = list(Account.objects.filter(name=name).values_list("pk", flat=True))
        if not accounts:
            raise CommandError(f"No run is called {name!r} in the ledger.")
        calls = calls.filter(account__in=accounts)
    for each in CALLS.filters:
        if each.name in ("role", "model", "endpoint", "state") and options[each.name]:
            calls = each.narrow(calls, options[each.name])
    until = options["until"]
    return begun_between(calls, options["since"], until and until + timedelta(days=1))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no day; write 2026-11-22") from None


def _line(call: Call) -> str:
    cost = f"${call.usd:f}" if call.usd is not None else "cost unknown"
    if call.at_most_usd is not None:
        cost += f", at most ${call.at_most_usd:f}"
    read, wrote = ("?" if n is None else n for n in (call.input_tokens, call.output_tokens))
    return (
        f"{call.pk}  {call.created_at:%Y-%m-%d %H:%M}  {call.role}  {call.model} at "
        f"{call.endpoint}  {call.subject or '-'}  {in_words(call.status)}  {read} in, {wrote} out  "
        f"{cost}"
    )
