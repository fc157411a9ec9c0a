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
from llm.ledger import reading
from llm.ledger.accounts import paying_runs
from llm.ledger.reading import CALLS, STATES, TOTALS, in_a_line, spending
from llm.ledger.serializers import SpendingSerializer, as_totals
from llm.models import Account, Call


class Command(BaseCommand):
    help = (
        "List the calls of models, add them up (--totals), or write them as CSV (--csv), such as "
        "those that may have been paid for: --state possibly_paid --csv lost.csv. The last line "
        "of a list is their sum."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--benchmark", metavar="SLUG", help="of the runs of a benchmark")
        add("--run", metavar="NAME", help='of a run, such as "debate run 12"')
        for name in ("role", "model", "endpoint"):
            add(f"--{name}")
        states = [value for value, _ in STATES]
        add("--state", choices=states, help=f"{reading.UNCOSTED}: of unknown cost")
        add("--about", metavar="SUBJECT", help='such as "debate:12"')
        add("--since", metavar="DAY", type=_day, help="begun on it or later")
        add("--until", metavar="DAY", type=_day, help="begun on it or before")
        add("--totals", choices=list(TOTALS), help="sums instead of calls")
        add("--csv", metavar="FILE", help='every digit, into a file; "-" prints it')
        add("--json", action="store_true", help="print the sums as JSON")
        add("--limit", type=int, default=50, help="calls that are listed (50)")

    def handle(self, *args: Any, **options: Any) -> None:
        calls, name = _asked(options), options["totals"]
        totals = reading.totals(reading.grouped(calls), name) if name else []
        if options["csv"]:
            self._file(calls, options["csv"], name)
        elif options["json"]:
            data: dict[str, Any] = dict(SpendingSerializer(spending(calls)).data)
            self.stdout.write(json.dumps(data | ({"totals": as_totals(totals)} if name else {})))
        else:
            for key, found in totals:
                words = (str(each) for name, each in key.items() if name != "account")
                self.stdout.write(f"{'  '.join(words)}: {in_a_line(found)}")
            for call in reading.without_texts(calls)[: 0 if name else options["limit"]]:
                self.stdout.write(_line(call))
            self.stdout.write(f"All: {in_a_line(spending(calls))}")

    def _file(self, calls: QuerySet[Call], path: str, name: str | None) -> None:
        header: Sequence[str] = reading.HEADER
        rows: Iterable[Sequence[Any]] = reading.lines(calls)
        if name:
            (sheet,) = reading.totals_sheets(reading.grouped(calls), name)
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
    return reading.begun_between(calls, options["since"], until and until + timedelta(days=1))


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
