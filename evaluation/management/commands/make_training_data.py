"""`manage.py make_training_data SLUG`: grade pairs and write documents, in this process."""

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Count

from corpus.management.asking import asking_arguments, asking_options, tell
from corpus.management.named import benchmark_named
from corpus.models import Benchmark, RetrievalRun
from evaluation.tasks import TRAINING
from evaluation.training.models import TrainingRun
from evaluation.training.services import CHOICES, ROLE, SETTINGS, start_training
from kit.errors import Refused
from kit.management.verbs import VerbCommand
from llm import endpoints

_ASKED = ("temperature", "reasoning_effort")


class Command(VerbCommand):
    help = (
        "Grade the first passages of a retrieval run from 0 to 10, take labels, write positives "
        "and hard negatives, to train retrievers on. Without a configured endpoint the practice "
        "model does it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--run", default="", help="retrieval run by name; the first")
        parser.add_argument("--domain", default="", help="its queries only")
        parser.add_argument("--name", default="")
        for name, each in SETTINGS.items():
            if name not in _ASKED:
                option, choices = f"--{name.replace('_', '-')}", CHOICES.get(name)
                parser.add_argument(option, type=each.kind, default=each.default, choices=choices)
        asking_arguments(parser)
        parser.set_defaults(temperature=SETTINGS["temperature"].default)

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        with endpoints.practice_if_unconfigured(ROLE) as first:
            run = _start(benchmark, options, first)
            TRAINING.drive(run)
        uses = run.documents.order_by("use").values_list("use").annotate(n=Count("pk"))
        more = {"name": run.name, "documents": dict(uses)}
        tell(self, run, run.items.all(), "Training run", as_json=options["json"], **more)
        if not options["json"]:
            counts = ", ".join(f"{count} {use}" for use, count in uses)
            self.stdout.write(f"Documents: {counts or 'none'}")


def _start(benchmark: Benchmark, options: dict[str, Any], first: endpoints.Endpoint) -> TrainingRun:
    rows = RetrievalRun.objects.filter(benchmark=benchmark).order_by("name", "pk")
    named = rows.filter(name=options["run"]) if options["run"] else rows
    source = named.first()
    if source is None and options["run"]:
        names = ", ".join(rows.values_list("name", flat=True)) or "none"
        raise Refused(f"There is no retrieval run {options['run']!r}; there are: {names}.")
    kept = {name: options[name] for name in SETTINGS if name not in _ASKED}
    return start_training(
        benchmark=benchmark,
        source=source,
        domain=options["domain"],
        name=options["name"],
        **asking_options(options, first),
        **kept,
    )
