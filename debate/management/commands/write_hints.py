"""Have the reasons of a reference panel written, in this process."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.models import ReferencePanel
from debate.hints.services import start_hints
from debate.tasks import HINTS
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus
from llm import endpoints
from llm.management.asking import paid_by


class Command(VerbCommand):
    help = (
        "Write one reason for and one against beside every item of a reference panel that has "
        "none. Without a configured endpoint the practice model writes them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("panel", type=int, help="as reference_panel prints it")
        parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
        parser.add_argument("--model", default="", help="the endpoint's own where none is given")
        parser.add_argument("--budget", help="in dollars; no limit where none is given")

    def handle(self, *args: Any, **options: Any) -> None:
        panels = ReferencePanel.objects.select_related("benchmark")
        panel = panels.filter(pk=options["panel"]).first()
        if panel is None:
            raise CommandError(f"There is no panel {options['panel']}.")
        with endpoints.practice_if_unconfigured("agents") as first:
            paid = paid_by(options, first)
            run = start_hints(panel=panel, access=None, model=options["model"], **paid)
            HINTS.drive(run)
        run.refresh_from_db()
        bare = panel.items.without_hints().count()
        self.stdout.write(
            f"Hint run {run.pk} is {run.status}: {run.done} of {run.total} asked, {bare} items "
            "without reasons"
        )
        if run.status != RunStatus.DONE:
            raise CommandError(run.error or "The run is not finished.")
