"""Qualification from the shell: who may vote where, approval history, exams to take again."""

import json
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.exams.api import PersonStatusSerializer
from annotate.exams.qualification import (
    APPROVAL_COLUMNS,
    ask_recheck,
    import_approvals,
    people_rows,
)
from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from kit.errors import Refused
from kit.lists.csvread import csv_rows


class Command(BaseCommand):
    help = (
        "Print how every annotator stands in each of their domains. With --approvals, keep the "
        "history of work elsewhere first (CSV: username, rate, approved); with --recheck, let "
        "somebody take the exam of --domain again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="the benchmark's slug")
        parser.add_argument("--approvals", type=Path, help="a CSV file: username, rate, approved")
        parser.add_argument("--recheck", default="", help="the name of who takes an exam again")
        parser.add_argument("--domain", default="", help="of which domain")
        parser.add_argument("--reason", default="", help="why, for the person to read")
        parser.add_argument("--as", dest="admin", default="", help="the admin who does it")
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        try:
            if options["approvals"]:
                with options["approvals"].open("rb") as lines:
                    rows = csv_rows(lines, APPROVAL_COLUMNS)
                    import_approvals(benchmark=benchmark, actor=_admin(options), rows=rows)
            if options["recheck"]:
                _ask_recheck(benchmark, options)
        except (Refused, PermissionDenied, OSError) as why:
            raise CommandError(str(why)) from None
        people = PersonStatusSerializer(people_rows(benchmark), many=True).data
        if options["json"]:
            self.stdout.write(json.dumps(people))
            return
        for row in people:
            missing = "; ".join(row["missing"])
            self.stdout.write(f"{row['person']}\t{row['domain']}\t{missing or 'qualified'}")


def _ask_recheck(benchmark: Benchmark, options: dict[str, Any]) -> None:
    domain = benchmark.domains.filter(name=options["domain"]).first()
    if domain is None:
        raise CommandError("Say which exam: --domain with the name of a domain.")
    people = User.objects.filter(memberships__benchmark=benchmark)
    person = people.filter(username=options["recheck"]).first()
    if person is None:
        raise CommandError(f"{options['recheck']} is no member of this benchmark.")
    reason, actor = options["reason"], _admin(options)
    ask_recheck(person=person, domain=domain, reason=reason, actor=actor)


def _admin(options: dict[str, Any]) -> User:
    """Who is named; whether they may is asked by the verbs."""
    found = User.objects.filter(username=options["admin"]).first()
    if found is None:
        raise CommandError("Say who does it: --as with the name of an admin.")
    return found
