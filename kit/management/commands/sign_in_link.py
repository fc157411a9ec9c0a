"""A one-time sign-in link from the terminal, for whoever runs the site."""

import os
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kit.account.links import LINK_ROUTE, create_link


class Command(BaseCommand):
    help = "Print a one-time sign-in link for each person named."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("usernames", nargs="+", metavar="USERNAME")
        parser.add_argument("--url", default=os.environ.get("ASSAY_URL", "http://127.0.0.1:8000"))

    def handle(self, *args: Any, **options: Any) -> None:
        width = max(map(len, options["usernames"]))
        for username in options["usernames"]:
            user = User.objects.filter(username=username).first()
            if user is None:
                raise CommandError(f"There is no person named {username!r}.")
            path = LINK_ROUTE.replace("<str:token>", create_link(user=user))
            self.stdout.write(f"  {username:{width}}  {options['url']}/{path}")
