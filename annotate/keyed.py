"""Orders that look random and stay the same: keyed by the server's secret."""

import hmac
from hashlib import sha256

from django.conf import settings


def draw(purpose: str, *keys: int) -> int:
    """A number of 63 bits that only this server can foresee."""
    text = ":".join([purpose, *map(str, keys)])
    digest = hmac.new(settings.SEED_KEY.encode(), text.encode(), sha256).digest()
    return int.from_bytes(digest[:8]) >> 1


def turn_of(query_id: int, case_id: int) -> int:
    """The position of a case in the queue: queries in random order, one after the other, and the
    cases of a query in random order. So cases opened together, for one reason, are spread out."""
    return (draw("turn of query", query_id) >> 32 << 32) | (draw("turn of case", case_id) >> 31)
