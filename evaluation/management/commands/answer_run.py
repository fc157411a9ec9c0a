"""`manage.py answer_run SLUG`: let a model answer from what systems retrieved, in this process."""

from typing import Any

from django.core.management.base import CommandParser

from corpus.management.asking import asking_arguments, asking_options, tell
from corpus.management.named import benchmark_named
from corpus.models import Benchmark, CorpusVersion, RetrievalRun
from evaluation.rag.models import RagRun
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.services import start_answers
from evaluation.tasks import RAG
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from llm import endpoints


class Command(VerbCommand):
    help = (
        "Let a model answer a benchmark's queries from the first passages of its retrieval runs, "
        "without any, and from the gold. Without a configured endpoint the practice model answers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument(
            "--run",
            action="append",
            default=[],
            help="retrieval run by name, in each corpus version that it ranks; may be repeated; "
            "all of the current version where none is given",
        )
        parser.add_argument("--harness", choices=list(Harness), default=Harness.SHORT.value)
        parser.add_argument("--k", type=int, default=10, help="passages of an answer")
        parser.add_argument("--no-baselines", action="store_true", help="the runs alone")
        parser.add_argument("--domain", default="", help="its queries only")
        parser.add_argument(
            "--max-tokens", type=int, help="of an answer; 1,024, of long ones 4,096"
        )
        parser.add_argument("--name", default="")
        asking_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        with endpoints.practice_if_unconfigured("answerer") as first:
            run = _start(benchmark, options, first)
            RAG.drive(run)
        more = {"name": run.name, "sources": list(run.sources.values_list("name", flat=True))}
        tell(self, run, run.answers.all(), "RAG run", as_json=options["json"], **more)


def _start(benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint) -> RagRun:
    kept = ("harness", "k", "domain", "name", "max_tokens")
    return start_answers(
        benchmark=benchmark,
        runs=_runs(benchmark, options["run"]),
        baselines=not options["no_baselines"],
        **asking_options(options, first),
        **{name: options[name] for name in kept},
    )


def _runs(benchmark: Benchmark, names: list[str]) -> list[RetrievalRun]:
    known = benchmark.retrieval_runs.order_by("name", "pk")
    if not names:
        version = CorpusVersion.objects.current(benchmark)
        return list(known.filter(corpus_version=version.key if version else None))
    found = list(known.filter(name__in=names))
    if missing := set(names) - {run.name for run in found}:
        here = ", ".join(dict.fromkeys(known.values_list("name", flat=True))) or "none is here"
        raise Refused(f"There is no run {', '.join(sorted(missing))}: {here}.")
    return found
