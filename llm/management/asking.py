"""What commands share that let models work in this process."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count, QuerySet

from kit.runs.models import RunStatus
from llm.endpoints import Endpoint, get
from llm.ledger.accounts import AskingRun, budget_of
from llm.requests import EFFORTS


def asking_arguments(parser: CommandParser, *, effort: str = "") -> None:
    """Whom to ask, how, and for how much; `effort` is where none is given."""
    parser.add_argument("--endpoint", default="", help="by name; the first where none is given")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument(
        "--reasoning-effort",
        choices=EFFORTS,
        default=effort,
        help="default: " + (effort or "the model's own"),
    )
    parser.add_argument("--budget", help="in dollars; no limit where none is given")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def asking_options(options: dict[str, Any], first: Endpoint) -> dict[str, Any]:
    """The same as verbs take it. Raises Refused."""
    return paid_by(options, first) | {
        "temperature": options["temperature"],
        "reasoning_effort": options["reasoning_effort"],
    }


def paid_by(options: dict[str, Any], first: Endpoint | None) -> dict[str, Any]:
    """Whom to ask and for how much, by whoever runs the command. Raises Refused."""
    return {
        "endpoint": get(options["endpoint"]) if options["endpoint"] else first,
        "budget_usd": budget_of(options["budget"]),
        "actor": None,
        "claimed": True,
    }


def tell(
    command: BaseCommand,
    run: AskingRun,
    items: QuerySet[Any],
    words: str,
    *,
    as_json: bool,
    **more: Any,
) -> None:
    """Print what became of a run, called so in `words`, and of its items.

    Raises CommandError where it is not done.
    """
    run.refresh_from_db()
    states = dict(items.order_by("state").values_list("state").annotate(n=Count("pk")))
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    found = {"run": run.pk, **more, "states": states}
    tell_outcome(
        command, run, found, f"{words} {run.pk} is {run.status}: {counts}", as_json=as_json
    )


def tell_outcome(
    command: BaseCommand, run: AskingRun, found: dict[str, Any], words: str, *, as_json: bool
) -> None:
    """Print what a run came to, with its status and what it spent; or `words` that say it.

    Raises CommandError where it is not done.
    """
    if as_json:
        ended = {"status": run.status, "spent_usd": f"{run.spent_usd:f}"}
        command.stdout.write(json.dumps(found | ended))
    elif words:
        command.stdout.write(words)
    if run.status != RunStatus.DONE:
        raise CommandError(run.pause_reason or run.error or "The run is not finished.")
