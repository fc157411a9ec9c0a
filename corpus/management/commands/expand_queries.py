"""`manage.py expand_queries SLUG`: put queries into other words, in this process."""

from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark, ExpansionMethod, ExpansionRun
from corpus.tasks import EXPANSIONS
from corpus.versions.services import called
from corpus.wordings.services import CHOICES, ROLE, SETTINGS, retrievers_of, start_expansion
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from llm import endpoints
from llm.management.asking import paid_by, tell_outcome

_OPTIONS = {name: each for settings in SETTINGS.values() for name, each in settings.items()}


class Command(VerbCommand):
    help = (
        "Put a benchmark's queries into other words, and with a retriever rank them anew. "
        "Without a configured endpoint the practice model words them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        methods, usual = ExpansionMethod.values, ExpansionMethod.QEXPAND
        parser.add_argument("--method", choices=methods, default=usual.value)
        parser.add_argument(
            "--retriever", default="", help="a run computed here, by name; qexpand: the first"
        )
        parser.add_argument("--corpus-version", default="", help="that it ranks; the current one")
        parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
        for name, each in _OPTIONS.items():
            flag = f"--{name.replace('_', '-')}"
            if each.kind is bool:
                parser.add_argument(flag, action="store_const", const=True)
            else:
                parser.add_argument(flag, type=each.kind, choices=CHOICES.get(name))
        parser.add_argument("--name", default="")
        parser.add_argument("--budget", help="in dollars; no limit where none is given")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        with endpoints.practice_if_unconfigured(ROLE) as first:
            run = _start(benchmark, options, first)
            EXPANSIONS.drive(run)
        run.refresh_from_db()
        made, words = run.source, ""
        if made:
            words = f"{made.name} is done: {made.query_count} queries in other words."
        found = {"expansion": run.pk, "source": made and made.name, "report": run.report}
        found["run"] = run.run and run.run.name
        tell_outcome(self, run, found, words, as_json=options["json"])


def _start(
    benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint
) -> ExpansionRun:
    version = called(benchmark, options["corpus_version"])
    rows = retrievers_of(benchmark).filter(corpus_version=version.key if version else None)
    name, needs_one = options["retriever"], options["method"] == ExpansionMethod.QEXPAND
    retriever = rows.filter(name=name).first() if name else rows.first() if needs_one else None
    if name and retriever is None:
        names = ", ".join(rows.values_list("name", flat=True))
        raise Refused(f"No run {name!r} was computed here; there are: {names or 'none'}.")
    given = {each: options[each] for each in _OPTIONS if options[each] is not None}
    return start_expansion(
        benchmark=benchmark,
        method=options["method"],
        retriever=retriever,
        name=options["name"],
        **paid_by(options, first),
        **given,
    )
