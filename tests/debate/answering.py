"""Somebody's endpoint, configured for a test."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.llm.stub import Step, Stub

SOON = {"retry-after-ms": "1"}


@contextmanager
def answering(settings: Any, *script: Step) -> Iterator[Stub]:
    """Somebody's endpoint, configured here, that answers by this script."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    stub = Stub(*script)
    asyncio.run_coroutine_threadsafe(stub.__aenter__(), loop).result(60)
    settings.OPENAI_BASE_URL = stub.endpoint.base_url
    settings.OPENAI_API_KEY, settings.ASSAY_MODEL = "sk-stub", "stub-1"
    try:
        yield stub
    finally:
        asyncio.run_coroutine_threadsafe(stub.__aexit__(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


def turn(response: str, *quotes: str) -> str:
    """The answer of one agent."""
    return json.dumps({"reference": quotes, "reason": "So it reads.", "response": response})
