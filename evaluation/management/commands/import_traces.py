"""`manage.py import_traces SLUG PATH --retriever NAME`: other programs' agents as a run here."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from corpus.management.named import benchmark_named
from evaluation.agents.exchange import import_traces
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Import records of agents' runs: a JSONL file, a JSON file or a folder of them, in the "
        "shape of Bright-Pro's code or of its released traces, of BrowseComp-Plus, or as "
        '{"query_id", "messages"} with OpenAI messages. All of them or none.'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("path", type=Path)
        parser.add_argument("--retriever", required=True, help="with what they searched, by name")
        parser.add_argument("--domain", default="", help="of records that name no task")
        parser.add_argument("--name", default="", help="of the run")

    def handle(self, *args: Any, **options: Any) -> None:
        run = import_traces(
            benchmark=benchmark_named(options["slug"]),
            path=options["path"],
            retriever=options["retriever"],
            domain=options["domain"],
            name=options["name"],
            actor=None,
        )
        self.stdout.write(f"Agent run {run.pk}, {run.name}: {run.total} traces")
