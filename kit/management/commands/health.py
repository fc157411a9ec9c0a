"""Whether Assay works, for timers, scripts and a container's health check."""

import json
import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kit.health.checks import look
from kit.runs.workers import Worker


class Command(BaseCommand):
    help = "Look at the database, the disk, the workers and due work; fails where one fails."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--worker",
            action="store_true",
            help="only whether a worker of this machine (or container) was heard from lately",
        )
        parser.add_argument("--json", action="store_true", help="the answer as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["worker"]:
            here = f"{socket.gethostname()}:"[:80]
            if not Worker.objects.alive().filter(name__startswith=here).exists():
                raise CommandError("No worker of this machine was heard from lately.")
            return
        found = look()
        if options["json"]:
            self.stdout.write(json.dumps({check.name: check.state for check in found}))
        else:
            for check in found:
                self.stdout.write(f"{check.name}: {check.state}. {check.words}")
        if failing := [check.name for check in found if check.is_ok is False]:
            raise CommandError(f"Failing: {', '.join(failing)}.")
