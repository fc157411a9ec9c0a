"""Vectors of texts: the request, and how the ledger keeps them. Pure.

One request asks for the vectors of several texts. It travels as any other: with a key, a row in
the ledger before it is sent, a price, a limit; its answer is kept as packed numbers, so that what
was paid for is never asked again.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from llm.requests import TextsRequest

LITTLE: Final = np.dtype("<f4")


class EmbeddingRequest(TextsRequest):
    """A request for vectors."""


def embedding_request(
    *, endpoint: str, model: str, texts: Sequence[str], dimensions: int | None = None
) -> EmbeddingRequest:
    """Ask for the vectors of these texts; `dimensions` shortens them where the model can."""
    more = {} if dimensions is None else {"dimensions": dimensions}
    return EmbeddingRequest.of("embedding", endpoint, model, texts, **more)


def pack(vectors: npt.NDArray[np.float32]) -> str:
    """Vectors as the ledger keeps them: how many, how long, the numbers in base64."""
    rows, width = vectors.shape
    return f"{rows}x{width}:{b64encode(vectors.astype(LITTLE).tobytes()).decode('ascii')}"


def unpack(text: str) -> npt.NDArray[np.float32]:
    """The same back; raises ValueError for a text that `pack` did not write."""
    shape, _, numbers = text.partition(":")
    rows, width = map(int, shape.split("x"))
    found = np.frombuffer(b64decode(numbers, validate=True), LITTLE)
    return found.reshape(rows, width).astype(np.float32)
