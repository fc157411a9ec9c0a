"""Load files into a benchmark: the same code as the import screen, in this process."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_slug

from annotate.plans.services import CHECKS, choose_checks
from annotate.workspace.loading import run_import
from corpus.importers.formats import all_formats
from corpus.importers.reading import BadNames, names_of
from corpus.importers.run_names import EXAMPLE, BadPattern, pattern
from corpus.imports.context import KINDS
from corpus.imports.hub import fetched
from corpus.imports.services import (
    benchmark_for,
    cancel_import,
    check_import,
    drop_empty_benchmark,
    queue_import,
)
from corpus.models import Benchmark, ImportRun
from corpus.versions.services import called
from kit.errors import Refused
from kit.runs.models import RunStatus

_RUN_LINE = "  run {name}: {state}, {queries:,} queries, depth {depth:,}, {unknown:,} ids unknown"


class Command(BaseCommand):
    help = "Load a file or folder into a benchmark, which is made if it is missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, nargs="?", help="file, folder or zip to read")
        parser.add_argument(
            "--hub",
            metavar="NAME",
            help="fetch this data set with the datasets library instead (owner/name, or a folder)",
        )
        parser.add_argument("--format", required=True, choices=sorted(all_formats()))
        parser.add_argument("--benchmark", required=True, metavar="SLUG")
        parser.add_argument("--qrels", type=Path, help="judgments: a qrels file or folder")
        parser.add_argument(
            "--domain", default="", help="runs only: their domain, where no file is named after it"
        )
        parser.add_argument(
            "--domain-from",
            metavar="PATTERN",
            default="",
            help=f"runs only: how their paths name domain and run, as in {EXAMPLE}",
        )
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="OURS=THEIRS",
            help="how the files' records name a field, as in docid=id; once for each field",
        )
        parser.add_argument(
            "--corpus-version",
            default="",
            help="runs only: the corpus version whose ids they name (default: the current one)",
        )
        parser.add_argument("--name", default="", help="name of a benchmark that is made")
        parser.add_argument("--admin", metavar="USERNAME", help="make this person its admin")
        parser.add_argument(
            "--checks",
            metavar="all|none|NAME,...",
            help=f"which checks gate people's labels, as --admin chooses them: {', '.join(CHECKS)}",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path, hub = options["path"], options["hub"]
        if (path is None) == (hub is None):
            raise CommandError("Give either a path or --hub NAME.")
        if options["domain"] and options["domain_from"]:
            raise CommandError("Give either --domain or --domain-from.")
        checks = _checks(options)
        try:
            if options["domain_from"]:
                options["domain"] = pattern(options["domain_from"])
            options["map"] = names_of(options["map"])
            check_import(format=options["format"], domain=options["domain"])
            if path is not None:
                self._load(path, path.name, options)
            else:
                with fetched(hub, format=options["format"]) as folder:
                    self._load(folder, hub, options)
            if checks is not None:
                benchmark = Benchmark.objects.get(slug=options["benchmark"])
                actor = User.objects.get(username=options["admin"])
                choose_checks(benchmark=benchmark, actor=actor, **checks)
        except BadPattern as fault:
            raise CommandError(f"--domain-from: {fault}") from None
        except BadNames as fault:
            raise CommandError(f"--map: {fault}") from None
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal

    def _load(self, path: Path, label: str, options: dict[str, Any]) -> None:
        slug = options["benchmark"]
        is_new = not Benchmark.objects.filter(slug=slug).exists()
        benchmark = self._benchmark(slug, options["name"], options["admin"])
        name = options["corpus_version"]
        run = queue_import(
            benchmark=benchmark,
            version=called(benchmark, name) if name else None,
            actor=None,
            format=options["format"],
            path=path,
            qrels=options["qrels"],
            label=label,
            domain=options["domain"],
            names=options["map"],
            claim=True,
        )
        try:
            run_import(run)
        except KeyboardInterrupt:
            cancel_import(run=run, actor=None)
        self._print(run, as_json=options["json"])
        if run.status != RunStatus.DONE:
            if is_new:
                drop_empty_benchmark(benchmark)
            raise SystemExit(1)
        if not benchmark.memberships.exists() and not options["json"]:
            self.stdout.write("Nobody can see it yet: load again with --admin USERNAME.")

    def _benchmark(self, slug: str, name: str, admin: str | None) -> Benchmark:
        try:
            validate_slug(slug)
        except ValidationError as error:
            raise CommandError(f"{slug!r} is no slug: letters, digits, - and _ only.") from error
        user = User.objects.filter(username=admin).first() if admin else None
        if admin and user is None:
            raise CommandError(f"There is no user {admin!r}.")
        return benchmark_for(slug=slug, name=name, create_by=user)

    def _print(self, run: ImportRun, *, as_json: bool) -> None:
        for each in run.problems:
            line = f":{each['line']}" if each["line"] else ""
            field = f" {each['field']}" if each["field"] else ""
            self.stderr.write(f"{each['file']}{line}{field}: {each['message']}")
        if as_json:
            self.stdout.write(json.dumps(self._result(run), ensure_ascii=False))
        elif run.status == RunStatus.DONE:
            self._print_summary(run)
        else:
            self.stderr.write(run.error or "Cancelled. Nothing was loaded.")

    def _result(self, run: ImportRun) -> dict[str, Any]:
        return {
            "benchmark": run.benchmark.slug,
            "format": run.format,
            "status": run.status,
            "error": run.error,
            "version": run.version.name if run.version else None,
            **run.summary,
            "problems": run.problems,
        }

    def _print_summary(self, run: ImportRun) -> None:
        self.stdout.write(f"Loaded {run.label} into {run.benchmark.slug}.")
        for kind in KINDS:
            counts = {name: count for name, count in run.summary[kind].items() if count}
            if counts:
                words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
                self.stdout.write(f"  {kind}: {words}")
        for gold in run.summary["gold"]:
            self.stdout.write("  gold of {domain}: {name}, {state}, {judgments:,}".format(**gold))
        for each in run.summary["runs"]:
            self.stdout.write(_RUN_LINE.format(**each))
        for odd in run.summary["oddities"]:
            self.stdout.write(f"  odd: {odd['what']} ({odd['count']:,})")


def _checks(options: dict[str, Any]) -> dict[str, bool] | None:
    """What `--checks` turns on and off; None where it was not given."""
    given = options["checks"]
    if given is None:
        return None
    if not options["admin"]:
        raise CommandError("--checks needs --admin: a person chooses them.")
    names = {"all": [*CHECKS], "none": []}.get(given, given.split(","))
    if unknown := set(names) - CHECKS.keys():
        raise CommandError(f"--checks: there is no {', '.join(sorted(unknown))}.")
    return {name: name in names for name in CHECKS}
