"""Compute a retrieval run from the shell, in this process."""

import contextlib
import json
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.computing import retrievers
from corpus.computing import services as computing
from corpus.computing.config import BY_DOCUMENT, INSTRUCTIONS, QUERIES
from corpus.computing.models import Method
from corpus.management.named import benchmark_named
from corpus.models import Benchmark, CorpusVersion, RetrievalRun, RunComputation
from corpus.versions.services import called
from kit.management.verbs import VerbCommand
from kit.runs.models import LostLease, RunStatus
from llm import endpoints

# Settings of the methods as options; those that are not given keep what the method says.
_NUMBERS = ("k1", "b")
_WHOLE = ("depth", "dimensions", "query_tokens", "document_tokens")
_WORDS = ("endpoint", "model", "query_prefix", "document_prefix", "tokenizer")


class Command(VerbCommand):
    help = (
        "Rank a benchmark's passages for every query and keep the lists as a retrieval run. "
        "Without a configured endpoint, embeddings are those of the practice model."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--benchmark", metavar="SLUG", required=True)
        parser.add_argument("--method", choices=retrievers.names(), default=Method.BM25)
        parser.add_argument("--name", default="", help="the run's name")
        parser.add_argument(
            "--corpus-version", default="", help="the version to rank (default: the current one)"
        )
        parser.add_argument(
            "--by-document",
            action="store_true",
            help="of a version in semantic chunks: documents, each by its best chunk",
        )
        parser.add_argument("--queries", metavar="NAME", help="in the words of a query source")
        for name in _NUMBERS:
            parser.add_argument(f"--{name}", type=float)
        for name in _WHOLE:
            parser.add_argument(f"--{name.replace('_', '-')}", type=int)
        for name in _WORDS:
            parser.add_argument(f"--{name.replace('_', '-')}")
        parser.add_argument(
            "--instructions",
            metavar="FILE",
            help="embeddings: lines “domain: instruction” or a JSON object, for queries",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a setting of an installed retriever; the value as JSON, else as it stands",
        )
        parser.add_argument("--runs", nargs=2, metavar="NAME", help="hybrid: the two runs")
        parser.add_argument("--weights", nargs=2, type=float, metavar="W")
        parser.add_argument("--budget", metavar="USD", help="embeddings: the most to spend")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        needs_model = options["method"] == Method.EMBEDDINGS
        with (
            endpoints.practice_if_unconfigured("embedder")
            if needs_model
            else contextlib.nullcontext()
        ):
            version = called(benchmark, options["corpus_version"])
            is_hybrid = options["method"] == Method.HYBRID
            computation = computing.start(
                benchmark=benchmark,
                method=options["method"],
                config=_config(benchmark, version, options),
                version=None if is_hybrid else version,
                name=options["name"],
                budget_usd=_budget(options["budget"]),
                actor=None,
                claimed=True,
            )
            try:
                computing.run_computation(computation)
            except KeyboardInterrupt:
                with contextlib.suppress(LostLease):
                    computation.finish(RunStatus.CANCELLED)
                raise
        computation.refresh_from_db()
        self._report(computation, as_json=options["json"])

    def _report(self, computation: RunComputation, *, as_json: bool) -> None:
        if computation.status != RunStatus.DONE:
            raise CommandError(computation.error or f"It ended {computation.status}.")
        run = computation.run
        assert run is not None
        found = {"run": run.pk, "name": run.name, "queries": run.query_count, "depth": run.depth}
        if as_json:
            self.stdout.write(json.dumps({**found, "digest": run.digest, **computation.report}))
            return
        self.stdout.write(f"{run.name}: {run.query_count} queries, up to {run.depth} passages.")
        for name, domain in computation.report["domains"].items():
            index = "the index from before" if domain.get("index_was_kept") else "a new index"
            counts = (
                f"{value:,} {key.replace('_', ' ')}"
                for key, value in sorted(domain.items())
                if isinstance(value, int) and not isinstance(value, bool)
            )
            self.stdout.write(f"  {name}: {', '.join((*counts, index))}")


def _config(
    benchmark: Benchmark, version: CorpusVersion | None, options: dict[str, Any]
) -> dict[str, Any]:
    names = (*_NUMBERS, *_WHOLE, *_WORDS, "weights")
    config = {name: options[name] for name in names if options[name] is not None}
    for each in options["set"]:
        name, is_given, value = each.partition("=")
        if not is_given:
            raise CommandError(f"--set {each}: give NAME=VALUE.")
        try:
            config[name] = json.loads(value)
        except ValueError:
            config[name] = value
    if options["method"] == Method.HYBRID and not options["runs"]:
        raise CommandError("A hybrid is made of two runs: name them, --runs NAME NAME.")
    if options[INSTRUCTIONS]:
        config[INSTRUCTIONS] = _text_of(options[INSTRUCTIONS])
    if options["by_document"]:
        config[BY_DOCUMENT] = True
    if options["queries"]:
        sources = dict(benchmark.query_sources.values_list("name", "pk"))
        if options["queries"] not in sources:
            named = ", ".join(sources) or "none"
            raise CommandError(f"There is no query source {options['queries']!r}; it has {named}.")
        config[QUERIES] = sources[options["queries"]]
    if options["runs"]:
        key = version.key if version else None
        rows = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key)
        found = dict(rows.values_list("name", "pk"))
        missing = [name for name in options["runs"] if name not in found]
        if missing:
            raise CommandError(
                f"{benchmark.slug} has no retrieval run {missing[0]!r}; "
                f"it has {', '.join(found) or 'none'}."
            )
        config["runs"] = [found[name] for name in options["runs"]]
    return config


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None


def _budget(text: str | None) -> Decimal | None:
    try:
        return None if text is None else Decimal(text)
    except InvalidOperation:
        raise CommandError("--budget is an amount in USD, such as 2.50.") from None
