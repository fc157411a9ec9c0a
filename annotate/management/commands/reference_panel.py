"""Draw, open and close reference panels from the shell."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.models import ReferencePanel
from annotate.panels.report import panel_sheets
from annotate.panels.services import close_panel, draw_panel, open_panel
from annotate.rights import named_admin
from corpus.management.named import benchmark_named
from corpus.models import Benchmark, Pool
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Draw a reference panel: random queries of each domain, one random pooled passage of "
        "each, for experts to label. Prints its number. With --panel, open or close it, or print "
        "its report. The two reasons beside each item are written by write_hints."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="the benchmark's slug")
        parser.add_argument("--panel", type=int, help="a panel that is drawn already")
        parser.add_argument("--name", default="", help="of the new panel")
        parser.add_argument("--pool", type=int, help="draw from this pool alone")
        parser.add_argument("--per-domain", type=int, default=100)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--labels", type=int, default=1, choices=(1, 2), help="of each item")
        parser.add_argument("--practice", type=int, default=5, help="practice items first")
        parser.add_argument("--check", type=int, default=10, help="spot check, in percent")
        parser.add_argument("--no-hints", action="store_true", help="show no reasons")
        parser.add_argument("--open", action="store_true", help="let its experts begin")
        parser.add_argument("--without-hints", action="store_true", help="open although some lack")
        parser.add_argument("--close", action="store_true", help="end it for good")
        parser.add_argument("--as", dest="person", default="", help="the admin who does it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        panel = self._panel(benchmark, options)
        if options["open"]:
            access = named_admin(benchmark, options["person"])
            open_panel(panel=panel, access=access, without_hints=options["without_hints"])
            self.stdout.write(f"Panel {panel.pk} is open")
        if options["close"]:
            close_panel(panel=panel, access=named_admin(benchmark, options["person"]))
            self.stdout.write(f"Panel {panel.pk} is closed, {panel.dropped} items given up")
        if options["panel"] and not (options["open"] or options["close"]):
            self._report(panel)

    def _panel(self, benchmark: Benchmark, options: dict[str, Any]) -> ReferencePanel:
        panels = ReferencePanel.objects.filter(benchmark=benchmark).select_related("benchmark")
        if options["panel"]:
            found = panels.filter(pk=options["panel"]).first()
            if found is None:
                raise CommandError(f"There is no panel {options['panel']} here.")
            return found
        pool = None
        if options["pool"]:
            pool = Pool.objects.filter(benchmark=benchmark, pk=options["pool"]).first()
            if pool is None:
                raise CommandError(f"There is no pool {options['pool']} here.")
        panel = draw_panel(
            benchmark=benchmark,
            actor=None,
            name=options["name"] or f"panel {panels.count() + 1}",
            pool=pool,
            per_domain=options["per_domain"],
            seed=options["seed"],
            labels_per_item=options["labels"],
            practice_items=options["practice"],
            shows_hints=not options["no_hints"],
            check_percent=options["check"],
        )
        for each in panel.drawn:
            self.stdout.write(
                f"{each['domain']}: {each['drawn']} of {each['queries']} pooled queries"
            )
        self.stdout.write(f"Panel {panel.pk} ({panel.name}): {panel.items.count()} items drawn")
        return panel

    def _report(self, panel: ReferencePanel) -> None:
        for sheet in panel_sheets(panel):
            self.stdout.write(f"\n{sheet.title}\n" + "\t".join(sheet.header))
            for row in sheet.rows:
                self.stdout.write("\t".join("" if c.value is None else str(c.value) for c in row))
