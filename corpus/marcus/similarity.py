"""Texts that say nearly the same."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final
from zlib import crc32

import numpy as np

_PERMUTATIONS: Final = 64
_BAND: Final = 4
_SHINGLE: Final = 5
ALIKE: Final = 0.8


def near_duplicates(texts: Sequence[str], *, least: float = ALIKE) -> list[tuple[int, int, float]]:
    """Pairs (first, second, share) of texts that share that much of their runs of five words.

    By MinHash of 64 permutations in 16 bands: pairs at .8 are found with a probability above
    .999, and their share is good to about .05.
    """
    table = np.array([_signature(text) for text in texts], dtype=np.uint64)
    candidates: set[tuple[int, int]] = set()
    for start in range(0, _PERMUTATIONS, _BAND):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for number, row in enumerate(table[:, start : start + _BAND] if len(table) else ()):
            buckets[row.tobytes()].append(number)
        for members in buckets.values():
            # All against the first: enough to find every group, and linear in its size.
            candidates |= {(members[0], other) for other in members[1:]}
    found = []
    for first, second in sorted(candidates):
        share = float((table[first] == table[second]).mean())
        if share >= least:
            found.append((first, second, share))
    return found


def _signature(text: str) -> "np.ndarray":
    words = re.findall(r"\w+", text.casefold())
    size = min(_SHINGLE, len(words)) or 1
    runs = {" ".join(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}
    hashes = np.array([crc32(run.encode("utf-8", "replace")) for run in runs], dtype=np.uint64)
    # Products stay below 2^64: factors of 31 bits times hashes of 32.
    mixed = (hashes[None, :] * _FACTORS[:, None] + _SHIFTS[:, None]) % np.uint64(_MODULUS)
    return mixed.min(axis=1)


_MODULUS: Final = 4294967291
_NUMBERS: Final = [crc32(b"assay %d" % n) for n in range(2 * _PERMUTATIONS)]
_FACTORS: Final = np.array([n // 2 | 1 for n in _NUMBERS[:_PERMUTATIONS]], dtype=np.uint64)
_SHIFTS: Final = np.array(_NUMBERS[_PERMUTATIONS:], dtype=np.uint64)
