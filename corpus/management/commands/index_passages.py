"""Make passages findable by their words, in this process instead of a worker's."""

import contextlib
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpus.models import Benchmark, CorpusVersion, PassageIndexRun
from corpus.texts.indexing import request_index, run_index
from kit.runs.models import LostLease, RunStatus


class Command(BaseCommand):
    help = "Index the passages of one benchmark, or of all, so that they are found by their words."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--benchmark", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        versions = CorpusVersion.objects.ready().select_related("benchmark").order_by("pk")
        if slug := options["benchmark"]:
            if not Benchmark.objects.filter(slug=slug).exists():
                raise CommandError(f"There is no benchmark {slug!r}.")
            versions = versions.filter(benchmark__slug=slug)
        done = [self._index(request_index(version)) for version in versions]
        if not all(done):
            raise SystemExit(1)

    def _index(self, run: PassageIndexRun) -> bool:
        name = f"{run.version.benchmark.slug}, corpus version {run.version.name}"
        if run.status == RunStatus.DONE:
            self.stdout.write(f"{name}: indexed already, {run.total:,} passages.")
            return True
        if not run.claim():
            self.stderr.write(f"{name}: a worker is at it, {run.done:,} of {run.total:,} so far.")
            return True
        try:
            run_index(run)
        except KeyboardInterrupt:
            with contextlib.suppress(LostLease):
                run.release()
            raise
        run.refresh_from_db()
        self.stdout.write(f"{name}: {run.status}, {run.done:,} of {run.total:,} passages.")
        return bool(run.status == RunStatus.DONE)
