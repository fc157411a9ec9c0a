"""Try endpoints from the shell: one tiny call to each model."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from llm import endpoints
from llm.endpoints import SettingsError
from llm.trying import Trial, try_endpoint


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
                chosen = [first] if role else endpoints.available()
                if options["name"]:
                    chosen = [endpoints.get(options["name"])]
                for tried in (each for one in chosen for each in try_endpoint(one, role)):
                    failed += bool(tried.known.fault)
                    self.stdout.write(in_words(tried))
        except SettingsError as error:
            raise CommandError(str(error)) from None
        except DatabaseError as error:
            words = f"The ledger cannot be written: {error}. Run manage.py prepare first."
            raise CommandError(words) from None
        if failed:
            raise CommandError(f"{failed} did not answer.")


def in_words(tried: Trial) -> str:
    """The outcome of one trial in some lines."""
    roles, known, call = (
        f" ({', '.join(tried.roles)})" if tried.roles else "",
        tried.known,
        tried.call,
    )
    outcome = f"refused: {known.fault}"
    if not known.fault:
        tokens = "tokens not told"
        if call and call.input_tokens is not None:
            tokens = f"{call.input_tokens} tokens in, {call.output_tokens} out"
        seconds = "" if known.latency_s is None else f" in {known.latency_s:.2f} s"
        outcome = f"answered{seconds}, {tokens}"
    usd = f"; this call ${call.usd.normalize():f}" if call and call.usd is not None else ""
    lines = [f"{tried.model} at {tried.endpoint.name}{roles}", outcome]
    lines += [f"asked: {tried.asked}", f"price: {tried.price}{usd}"]
    return "\n  ".join([*lines, *(f"learnt from: {each}" for each in tried.refusals)])
