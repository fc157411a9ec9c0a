"""Drawing a stratified sample that the same seed draws again. Pure: a hash is the chance."""

from collections.abc import Hashable, Mapping, Sequence
from hashlib import sha256
from math import inf
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item", bound=Hashable)


def allot(sizes: Mapping[Key, int], size: int) -> dict[Key, int]:
    """Divide a sample among strata in proportion to their sizes, by largest remainders.

    In proportion, so that the share found in the sample estimates that of the whole.
    """
    whole = sum(sizes.values())
    size = min(size, whole)
    if not whole:
        return dict.fromkeys(sizes, 0)
    exact = {key: size * count / whole for key, count in sizes.items()}
    given = {key: int(value) for key, value in exact.items()}
    rest = size - sum(given.values())
    by_remainder = sorted(sizes, key=lambda key: (given[key] - exact[key], repr(key)))
    for key in by_remainder[:rest]:
        given[key] += 1
    return given


def allot_by_spread(
    sizes: Mapping[Key, int], found: Mapping[Key, tuple[int, int]], size: int
) -> dict[Key, int]:
    """Divide a further sample so that the variance of the whole's share becomes least.

    `found` are (hits, n) of what was drawn before in each stratum of `sizes` items. One after the
    other each goes where it takes most from sum(N_h^2 p (1 - p) / n_h), with p = (hits + 1) /
    (n + 2): Neyman's allocation (1934) in whole numbers (Wright 2012). What no label is known of
    comes first.
    """
    given = dict.fromkeys(sizes, 0)

    def gain(key: Key) -> tuple[float, str]:
        hits, n = found.get(key, (0, 0))
        taken, p = n + given[key], (hits + 1) / (n + 2)
        spread = sizes[key] ** 2 * p * (1 - p)
        return spread / (taken * (taken + 1)) if taken else inf, repr(key)

    for _ in range(size):
        left = [key for key in sizes if found.get(key, (0, 0))[1] + given[key] < sizes[key]]
        if not left:
            break
        given[max(left, key=gain)] += 1
    return given


def draw(strata: Mapping[Key, Sequence[Item]], size: int, seed: int) -> list[Item]:
    """Draw `size` items without repeats, mixed; the same seed gives the same items and order.

    An item's place is a hash of the seed and itself, so that a sample can be checked later by
    whoever knows the seed.
    """
    shares = allot({key: len(items) for key, items in strata.items()}, size)
    drawn = [
        item
        for key, items in strata.items()
        for item in sorted(items, key=lambda item: _lot(seed, item))[: shares[key]]
    ]
    return sorted(drawn, key=lambda item: _lot(seed + 1, item))


def _lot(seed: int, item: object) -> bytes:
    return sha256(f"{seed}:{item!r}".encode()).digest()
