"""What management commands of every room share."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kit.errors import Refused


class VerbCommand(BaseCommand):
    """Base of commands that call verbs: a refusal is said in its words, with exit code 1."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """What Django calls, from the terminal and from `call_command`."""
        try:
            return super().execute(*args, **options)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
