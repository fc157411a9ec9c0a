"""The server's key for the delimiters around hostile text (docs/protocol.md 1.3)."""

from django.utils.crypto import salted_hmac


def fence_key() -> bytes:
    """The key that `llm.prompts.fence` is given; the same for all rooms and on every retry."""
    return salted_hmac("assay.fence", "", algorithm="sha256").digest()
