"""Try endpoints from the shell: one tiny call to each model."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from llm import endpoints
from llm.endpoints import SettingsError
from llm.trying import EndpointCheck, try_endpoint


class Command(BaseCommand):
    help = (
        "Ask each model of an endpoint (of all, where none is named) one tiny question: its own "
        "and those of its roles. Prints how each is asked, the seconds, tokens and price, or the "
        "refusal. Ends with 1 where a model did not answer."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default="", help="the endpoint (default: all)")
        parser.add_argument("--role", choices=endpoints.ROLES, default="", help="its model alone")

    def handle(self, *args: Any, **options: Any) -> None:
        role = options["role"]
        failed = 0
        try:
            with endpoints.practice_if_unconfigured(role) as first:
                for endpoint in _chosen(options["name"], role, first):
                    for tried in try_endpoint(endpoint, role):
                        failed += bool(tried.fault)
                        self.stdout.write(in_words(tried))
        except SettingsError as error:
            raise CommandError(str(error)) from None
        except DatabaseError as error:
            words = f"The ledger cannot be written: {error}. Run manage.py prepare first."
            raise CommandError(words) from None
        if failed:
            raise CommandError(f"{failed} did not answer.")


def in_words(tried: EndpointCheck) -> str:
    """The outcome of one trial in some lines."""
    roles = f" ({', '.join(tried.roles)})" if tried.roles else ""
    lines = [f"{tried.model} at {tried.endpoint}{roles}"]
    if tried.fault:
        lines.append(f"refused: {tried.fault}")
    else:
        tokens = "tokens not told"
        if tried.input_tokens is not None:
            tokens = f"{tried.input_tokens} tokens in, {tried.output_tokens} out"
        seconds = "" if tried.seconds is None else f" in {tried.seconds:.2f} s"
        lines.append(f"answered{seconds}, {tokens}")
    usd = "" if tried.usd is None else f"; this call ${tried.usd.normalize():f}"
    lines += [f"asked: {tried.asked}", f"price: {tried.price}{usd}"]
    lines += [f"learnt from: {each}" for each in tried.refusals]
    return "\n  ".join(lines)


def _chosen(name: str, role: str, first: endpoints.Endpoint) -> list[endpoints.Endpoint]:
    if name:
        return [endpoints.get(name)]
    return [first] if role else endpoints.available()
