"""How many tokens a request has, before anybody counted them. Pure."""

import json
from typing import Final

from llm.requests import Request

# English prose has about four characters a token; measured, that errs on the side of too many.
CHARACTERS_PER_TOKEN: Final = 4
# What a chat template puts around each message, and around all of them: markers and names.
_PER_MESSAGE: Final = 16
_PER_REQUEST: Final = 64


def likely_tokens(text: str) -> int:
    """About how many tokens a text has: characters / 4, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def likely_input(request: Request) -> int:
    """About how many tokens a request has, its schema left out: few endpoints count it."""
    return sum(likely_tokens(m["content"]) + 4 for m in request.messages)


def most_input(request: Request) -> int:
    """Tokens that a request cannot exceed.

    A token of the tokenisers in use (byte-level BPE, byte fallback) stands for at least one
    byte, so the bytes of all that is sent bound it: schema, and a margin for the chat template.
    """
    sent = sum(_bytes(m["content"]) + _PER_MESSAGE for m in request.messages)
    schema = json.dumps(request.schema)
    return sent + _bytes(schema) + _bytes(request.schema_name) + _PER_REQUEST


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
