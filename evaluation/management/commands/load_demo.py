"""The demo benchmark with its five people, on the first start of an empty Assay."""

from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import transaction

from corpus.benchmarks.services import add_person
from corpus.models import Benchmark, Role
from debate.runs.services import start_run
from llm import endpoints

SLUG = "garden-weather"
FOLDER = Path(settings.BASE_DIR) / "corpus" / "demo"
PEOPLE = {
    "annotator-1": Role.ANNOTATOR,
    "annotator-2": Role.ANNOTATOR,
    "annotator-3": Role.ANNOTATOR,
    "reviewer": Role.REVIEWER,
    "admin": Role.ADMIN,
}


class Command(BaseCommand):
    help = (
        "Load the demo benchmark if this Assay holds nothing yet, and print one-time sign-in "
        "links for its five people."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if self._is_first_start():
            self.stdout.write("First start: loading the demo benchmark.")
            self._load()
        if self._is_demo():
            self.stdout.write("\nOne-time sign-in links for the demo:")
            call_command("sign_in_link", *PEOPLE, stdout=self.stdout)

    def _load(self) -> None:
        call_command(
            "load_benchmark",
            str(FOLDER),
            format="bright_pro",
            benchmark=SLUG,
            name="Garden & weather",
            stdout=StringIO(),
        )
        benchmark = Benchmark.objects.get(slug=SLUG)
        with transaction.atomic():
            for username, role in PEOPLE.items():
                add_person(benchmark=benchmark, username=username, roles=[role], actor=None)
            self._first_run(benchmark)

    def _is_first_start(self) -> bool:
        """Nothing is here, or only the demo's texts, from a first start that was killed."""
        others = Benchmark.objects.exclude(slug=SLUG)
        return not User.objects.exists() and not others.exists()

    def _first_run(self, benchmark: Benchmark) -> None:
        """Queue one debate run, so that people find disputes to vote on."""
        pool = benchmark.pools.first()
        # Never on somebody's paid endpoint without being asked.
        if pool is not None and not (settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY):
            practice = endpoints.practice("")  # its address is the worker's business
            start_run(
                benchmark=benchmark,
                pool=pool,
                endpoint=practice,
                actor=None,
                name="First run: the demo's pairs, two agents, two rounds",
            )

    def _is_demo(self) -> bool:
        here = User.objects.filter(username__in=PEOPLE, memberships__benchmark__slug=SLUG)
        return here.count() == len(PEOPLE)
