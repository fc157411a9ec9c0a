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
    return {
        "endpoint": get(options["endpoint"]) if options["endpoint"] else first,
        "temperature": options["temperature"],
        "reasoning_effort": options["reasoning_effort"],
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
    found = {"run": run.pk, **more, "status": run.status, "states": states}
    if as_json:
        command.stdout.write(json.dumps(found | {"spent_usd": f"{run.spent_usd:f}"}))
    else:
        counts = ", ".join(f"{count} {state}" for state, count in states.items())
        command.stdout.write(f"{words} {run.pk} is {run.status}: {counts}")
    if run.status != RunStatus.DONE:
        raise CommandError(run.pause_reason or run.error or "The run is not finished.")
