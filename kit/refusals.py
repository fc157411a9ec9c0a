"""What a verb refused, told to whoever asked for it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest

from kit.errors import Refused


@contextmanager
def told(request: HttpRequest) -> Iterator[None]:
    """Say a refusal at the head of the next page; what follows the block goes on."""
    try:
        yield
    except Refused as refusal:
        messages.error(request, refusal.message)
