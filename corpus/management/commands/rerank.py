"""`manage.py rerank SLUG`: rerank the first passages of a retrieval run, in this process."""

import contextlib
from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named
from corpus.models import Benchmark, RerankMethod, RerankRun, RetrievalRun
from corpus.reranking.services import CHOICES, role_of, start_rerank
from corpus.tasks import RERANKINGS
from corpus.versions.services import called
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from llm import endpoints
from llm.management.asking import paid_by, tell_outcome

_NUMBERS = {"depth": int, "document_chars": int, "weight": float, "temperature": float,
            "top_p": float, "output_tokens": int, "group_size": int, "repeats": int, "seed": int,
            "query_template": str, "document_template": str}  # fmt: skip


class Command(VerbCommand):
    help = (
        "Rerank the first passages of a retrieval run; the outcome is a retrieval run, too. "
        "Without a configured endpoint the practice model reranks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--run", default="", help="retrieval run by name; the first")
        parser.add_argument("--corpus-version", default="", help="that it ranks; the current one")
        methods, usual = RerankMethod.values, RerankMethod.POINTWISE
        parser.add_argument("--method", choices=methods, default=usual.value)
        parser.add_argument("--second", default="", help="merge: the other run by name")
        parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
        for name, kind in _NUMBERS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=kind)
        for name, choices in CHOICES.items():
            parser.add_argument(f"--{name.replace('_', '-')}", choices=choices)
        parser.add_argument("--name", default="")
        parser.add_argument("--budget", help="in dollars; no limit where none is given")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark, role = benchmark_named(options["slug"]), role_of(options["method"])
        asked = endpoints.practice_if_unconfigured(role) if role else contextlib.nullcontext()
        with asked as first:
            run = _start(benchmark, options, first)
            RERANKINGS.drive(run)
        run.refresh_from_db()
        made = run.run
        words = f"{made.name} is done: {made.query_count} queries." if made else ""
        found = {"reranking": run.pk, "run": made and made.name, "report": run.report}
        tell_outcome(self, run, found, words, as_json=options["json"])


def _start(
    benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint | None
) -> RerankRun:
    version = called(benchmark, options["corpus_version"])
    key = version.key if version else None
    rows = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key).order_by("name")

    def named(name: str) -> RetrievalRun:
        found = rows.filter(name=name).first() if name else rows.first()
        if found is None:
            names = ", ".join(rows.values_list("name", flat=True))
            raise Refused(f"There is no retrieval run {name!r}; there are: {names or 'none'}.")
        return found

    given = {name: options[name] for name in (*_NUMBERS, *CHOICES) if options[name] is not None}
    return start_rerank(
        benchmark=benchmark,
        source=named(options["run"]),
        method=options["method"],
        second=named(options["second"]) if options["second"] else None,
        name=options["name"],
        **paid_by(options, first),
        **given,
    )
