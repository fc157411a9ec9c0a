"""Vectors of texts: the request, its body, and what came back. Pure.

One request asks for the vectors of several texts. It travels as any other: with a key, a row in
the ledger before it is sent, a price, a limit; its answer is kept as packed numbers, so that what
was paid for is never asked again. The row names the texts by their hashes: they stand in the
corpus, and twice is too much.
"""

import binascii
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from llm.completions import unusable, usage_of
from llm.requests import RawReply, Request

PATH: Final = "/embeddings"
ROLE: Final = "embedding"
_LITTLE: Final = np.dtype("<f4")
_MOST_DIMENSIONS: Final = 65_536


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
        hashes = [hashlib.sha256(_bytes(text)).hexdigest() for text in self.texts]
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


def embedding_body(request: EmbeddingRequest) -> dict[str, Any]:
    """The request in the words of the embeddings API."""
    body = {"model": request.model, "input": request.texts, "encoding_format": "base64"}
    return body | dict(request.schema)


def read_embeddings(answer: Any, request: EmbeddingRequest, *, elapsed_s: float) -> RawReply:
    """The vectors of a decoded answer, packed; base64 or lists of numbers, in any order.

    Raises Transient for a 200 that is no such answer.
    """
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        if [row["index"] for row in rows] != list(range(len(request.messages))):
            raise ValueError
        vectors = np.array([_vector(row["embedding"]) for row in rows], _LITTLE)
        if vectors.ndim != 2 or not np.isfinite(vectors).all() or not vectors.shape[1] > 0:
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise unusable("list of vectors, one for each text") from None
    usage = answer.get("usage")
    counted = {"completion_tokens": 0, **usage} if isinstance(usage, Mapping) else None
    return RawReply(text=pack(vectors), usage=usage_of(counted), elapsed_s=elapsed_s)


def pack(vectors: npt.NDArray[np.float32]) -> str:
    """Vectors as the ledger keeps them: how many, how long, the numbers in base64."""
    rows, width = vectors.shape
    return f"{rows}x{width}:{b64encode(vectors.astype(_LITTLE).tobytes()).decode('ascii')}"


def unpack(text: str) -> npt.NDArray[np.float32]:
    """The same back; raises ValueError for a text that `pack` did not write."""
    shape, _, numbers = text.partition(":")
    rows, width = map(int, shape.split("x"))
    found = np.frombuffer(b64decode(numbers, validate=True), _LITTLE)
    return found.reshape(rows, width).astype(np.float32)


def _vector(given: Any) -> npt.NDArray[np.float32]:
    if isinstance(given, str):
        try:
            return np.frombuffer(b64decode(given, validate=True), _LITTLE)
        except binascii.Error as error:
            raise ValueError from error
    if not isinstance(given, list) or len(given) > _MOST_DIMENSIONS:
        raise ValueError("That is no vector.")
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in given):
        raise ValueError("That is no vector.")
    return np.array(given, _LITTLE)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
