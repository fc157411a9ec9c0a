"""Between the values of a call and its row in the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.utils import timezone

from llm.errors import LLMError
from llm.models import Call
from llm.prices import Price
from llm.profiles import Profile
from llm.requests import RawReply, Reply, Request, Usage

SETTLED_FIELDS: Final = (
    "status",
    "text",
    "logprobs",
    "finish_reason",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "elapsed_s",
    "usd",
    "error",
    "settled_at",
)
_ANOTHER_STANDS: Final = "Answered twice: the answer of another attempt stands."


@dataclass(frozen=True, slots=True)
class Charge:
    """Who pays for a call, at which price, and what it can cost at most (None: not known)."""

    account_id: int | None = None
    price: Price | None = None
    bound: Decimal | None = None


NOBODY: Final = Charge()


@dataclass(frozen=True, slots=True)
class Intent:
    """A request about to be sent, and what it is for in the caller's words.

    `attempts` is how many attempts at it the caller has seen in the ledger; None is not known.
    `profile` is how the model is asked: what it does not take is not sent.
    """

    request: Request
    subject: str
    practice: bool = False
    charge: Charge = NOBODY
    attempts: int | None = None
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the attempt `call_id`: an answer, or the error that stands for it.

    With its `intent` the row needs not be read again, as long as nothing unusual happened.
    """

    call_id: int
    result: RawReply | LLMError
    intent: Intent | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What the ledger knows of a request: its answer if one was paid for, and how many tries."""

    reply: Reply | None
    attempts: int


def apply_outcome(outcome: Outcome, row: Call, standing: Mapping[str, Call]) -> None:
    """Move the row to what came of it, where that is a legal move.

    `standing` holds the answered row of each key. An answer beside one that stands was paid all
    the same, so it is kept, but under another status than answered.
    """
    rival = standing.get(row.key)
    status = _status_after(outcome.result, rival)
    if row is rival or not (status == row.status or status in Call.MOVES[row.status]):
        return
    row.status, row.settled_at = status, timezone.now()
    if isinstance(outcome.result, LLMError):
        row.error = str(outcome.result)
        return
    for name, value in answer_fields(outcome.result, _price(row)).items():
        setattr(row, name, value)
    row.error = _ANOTHER_STANDS if rival else ""


def answer_fields(reply: RawReply, price: Price | None) -> dict[str, Any]:
    """What an answer puts into its row."""
    usage = reply.usage
    return {
        "text": reply.text,
        "logprobs": reply.logprobs,
        "finish_reason": reply.finish_reason[:64],
        "elapsed_s": reply.elapsed_s,
        "input_tokens": usage.input if usage else None,
        "cached_tokens": usage.cached_input if usage else None,
        "output_tokens": usage.output if usage else None,
        "reasoning_tokens": usage.reasoning if usage else None,
        "usd": price.cost(usage) if usage and price else None,
    }


def status_of_error(error: LLMError) -> Call.Status:
    """The status of an attempt that ended so."""
    return Call.Status.POSSIBLY_PAID if error.maybe_paid else Call.Status.FAILED


def reply_from(row: Call, *, replayed: bool) -> Reply:
    """The answer in an answered row."""
    return Reply(
        text=row.text or "",
        usage=_usage(row),
        elapsed_s=row.elapsed_s or 0.0,
        finish_reason=row.finish_reason,
        call_id=row.pk,
        replayed=replayed,
        logprobs=row.logprobs,
    )


def fresh_reply(reply: RawReply, call_id: int) -> Reply:
    """The answer that an attempt brought just now."""
    return Reply(
        text=reply.text,
        usage=reply.usage,
        elapsed_s=reply.elapsed_s,
        finish_reason=reply.finish_reason,
        call_id=call_id,
        replayed=False,
        logprobs=reply.logprobs,
    )


def _status_after(result: RawReply | LLMError, rival: Call | None) -> Call.Status:
    if isinstance(result, LLMError):
        return status_of_error(result)
    return Call.Status.POSSIBLY_PAID if rival else Call.Status.ANSWERED


def _price(row: Call) -> Price | None:
    if row.price_input is None or row.price_cached is None or row.price_output is None:
        return None
    return Price(row.price_input, row.price_cached, row.price_output)


def _usage(row: Call) -> Usage | None:
    if row.input_tokens is None:
        return None
    return Usage(
        input=row.input_tokens,
        cached_input=row.cached_tokens or 0,
        output=row.output_tokens or 0,
        reasoning=row.reasoning_tokens or 0,
    )
