"""`manage.py push_release SLUG --version X --to OWNER/NAME`: put a built release on the hub."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from evaluation.models import Release
from evaluation.releases.pushing import carry_out, start_push
from kit.management.verbs import VerbCommand
from kit.runs.models import RunStatus


class Command(VerbCommand):
    help = "Push a built release to a dataset repository of a hub, with the token in HF_TOKEN."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's own --version gives way to ours.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--version", required=True, help="of a release that is built")
        parser.add_argument(
            "--to", required=True, metavar="REPOSITORY", help="owner/name, or owner/name/folder"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        slug, version = options["slug"], options["version"]
        release = Release.objects.filter(benchmark__slug=slug, version=version).first()
        if release is None:
            raise CommandError(f"There is no release {version} of “{slug}”.")
        push = start_push(release=release, repository=options["to"], actor=None, claimed=True)
        carry_out(push)
        push.refresh_from_db()
        if push.status != RunStatus.DONE:
            raise CommandError(push.error or "It was stopped, or the database went away.")
        self.stdout.write(f"{slug} {version} is at {push.commit_url}")
