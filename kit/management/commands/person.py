"""One account from the terminal: deactivated, renamed, linked, freed of its factor, erased."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from kit.account import people
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = "Change or erase an account; what the person decided stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        verb = parser.add_mutually_exclusive_group(required=True)
        verb.add_argument("--deactivate", action="store_true", help="nobody gets in as this person")
        verb.add_argument("--reactivate", action="store_true")
        verb.add_argument("--rename", metavar="NAME")
        verb.add_argument(
            "--header-name",
            metavar="NAME",
            help="who the proxy of TRUSTED_HEADER calls NAME gets in as this person",
        )
        verb.add_argument(
            "--take-factor",
            action="store_true",
            help="the person lost the second factor, and signs in without until they set one up",
        )
        verb.add_argument(
            "--erase",
            action="store_true",
            help="take away who it was, for good; decisions stay under the pseudonym printed",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["username"]).first()
        if person is None:
            raise CommandError(f"There is no person named {options['username']!r}.")
        if options["rename"]:
            people.rename(person=person, actor=None, username=options["rename"])
        elif options["erase"]:
            self.stdout.write(people.erase(person=person, actor=None))
        elif name := options["header_name"]:
            people.name_by_proxy(person=person, name=name)
        elif options["take_factor"]:
            people.take_factor(person=person, actor=None)
        elif options["deactivate"]:
            people.deactivate(person=person, actor=None)
        else:
            people.reactivate(person=person, actor=None)
