"""Hashed-word vectors: texts that share words lie close to each other."""

import re
from array import array
from base64 import b64encode
from hashlib import blake2b
from math import sqrt
from sys import byteorder

DIMENSIONS = 256


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector of length 1, or of zeros for a text without words; the same on every machine."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()):
        digest = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest())
        vector[(digest >> 1) % dimensions] += 1.0 if digest & 1 else -1.0
    length = sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


def as_base64(vector: list[float]) -> str:
    """The vector as the embeddings API packs it: little-endian 32-bit floats."""
    packed = array("f", vector)
    if byteorder == "big":
        packed.byteswap()
    return b64encode(packed.tobytes()).decode("ascii")
