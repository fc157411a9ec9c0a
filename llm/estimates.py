"""How many tokens a request has, before anybody counted them. Pure."""

import json
from typing import Final

from llm.profiles import known
from llm.requests import Message, Request

# English prose has about four characters a token; measured, that errs on the side of too many.
CHARACTERS_PER_TOKEN: Final = 4
# What a chat template puts around each message, and around all of them: markers and names.
_PER_MESSAGE: Final = 16
_PER_REQUEST: Final = 64
# Tokens of thought by reasoning effort, on the side of too many: unused ones cost nothing.
_THOUGHTS: Final = {
    "minimal": 1_000,
    "low": 4_000,
    "medium": 8_000,
    "high": 16_000,
    "xhigh": 32_000,
}


def likely_tokens(text: str) -> int:
    """About how many tokens a text has: characters / 4, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def likely_thoughts(model: str, effort: str) -> int:
    """Tokens that a model may think in before its answer; they count into its longest length.

    By the effort that is asked for, or the usual one of a family that is known to reason.
    """
    if not effort and "temperature" in known(model).without:
        effort = "medium"
    return _THOUGHTS.get(effort, 0)


def likely_input(request: Request) -> int:
    """About how many tokens a request has, its schema left out: few endpoints count it."""
    return sum(likely_tokens(_written(m)) + 4 for m in request.messages)


def most_input(request: Request) -> int:
    """Tokens that a request cannot exceed.

    A token of the tokenisers in use (byte-level BPE, byte fallback) stands for at least one
    byte, so the bytes of all that is sent bound it: schema, and a margin for the chat template.
    """
    sent = sum(_bytes(_written(m)) + _PER_MESSAGE for m in request.messages)
    shape = (
        json.dumps([request.schema, request.tools]) if request.tools else json.dumps(request.schema)
    )
    return sent + _bytes(shape) + _bytes(request.schema_name) + _PER_REQUEST


def _written(message: Message) -> str:
    """What a message says, with the functions that it calls."""
    calls = message.get("tool_calls")
    return (message.get("content") or "") + (json.dumps(calls) if calls else "")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
