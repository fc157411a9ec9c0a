"""Vectors of texts: the request, and how the ledger keeps them. Pure.

One request asks for the vectors of several texts. It travels as any other: with a key, a row in
the ledger before it is sent, a price, a limit; its answer is kept as packed numbers, so that what
was paid for is never asked again. The row names the texts by their hashes: they stand in the
corpus, and twice is too much.
"""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from llm.requests import Request

ROLE: Final = "embedding"
LITTLE: Final = np.dtype("<f4")


@dataclass(frozen=True)
class EmbeddingRequest(Request):
    """A request for vectors; each message holds one text."""

    @property
    def texts(self) -> list[str]:
        """What is to be embedded, in order."""
        return [each["content"] for each in self.messages]

    @property
    def stored(self) -> dict[str, Any]:
        """The texts by their hashes."""
        given = (text.encode("utf-8", "surrogatepass") for text in self.texts)
        hashes = [hashlib.sha256(each).hexdigest() for each in given]
        return {"texts_sha256": hashes, "schema_name": self.schema_name, **self.schema}


def embedding_request(
    *, endpoint: str, model: str, texts: Sequence[str], dimensions: int | None = None
) -> EmbeddingRequest:
    """Ask for the vectors of these texts; `dimensions` shortens them where the model can."""
    return EmbeddingRequest(
        endpoint=endpoint,
        role=ROLE,
        model=model,
        messages=tuple({"role": "user", "content": text} for text in texts),
        schema_name=ROLE,
        schema={} if dimensions is None else {"dimensions": dimensions},
        # Nothing is written by the model: its answer costs nothing.
        max_tokens=0,
    )


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
