"""Somebody's endpoint, configured for a test."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.llm.stub import Step, Stub, looping

SOON = {"retry-after-ms": "1"}


@contextmanager
def answering(settings: Any, *script: Step) -> Iterator[Stub]:
    """Somebody's endpoint, configured here, that answers by this script."""
    stub = Stub(*script)
    with looping() as run:
        run(stub.__aenter__())
        settings.OPENAI_BASE_URL = stub.endpoint.base_url
        settings.OPENAI_API_KEY, settings.ASSAY_MODEL = "sk-stub", "stub-1"
        try:
            yield stub
        finally:
            run(stub.__aexit__())


def turn(response: str, *quotes: str) -> str:
    """The answer of one agent."""
    return json.dumps({"reference": quotes, "reason": "So it reads.", "response": response})
