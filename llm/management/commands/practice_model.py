"""Run the practice model by itself."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from llm.practice.server import run


class Command(BaseCommand):
    help = (
        "Run the practice model, an OpenAI-compatible endpoint that needs no key, on this machine "
        "only. Prints its address on one line and serves until it is stopped."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=0, help="0, the default: any free port")
        parser.add_argument("--latency-ms", type=int, default=0, help="least time per answer")

    def handle(self, *, port: int, latency_ms: int, **options: Any) -> None:
        try:
            run(port, latency_ms=latency_ms, announce=self._announce)
        except OSError as error:
            raise CommandError(
                f"The practice model cannot listen on port {port}: {error}"
            ) from error

    def _announce(self, url: str) -> None:
        self.stdout.write(url)
        self.stdout.flush()
