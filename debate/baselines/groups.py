"""LARA by groups of topics, so that no topic takes the whole budget (docs/protocol.md 2.9)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np


def balanced_groups(topics: Sequence[Hashable], count: int, *, seed: int = 0) -> list[list[int]]:
    """Indices of the pairs in `count` groups of whole topics, about equal in pairs.

    Topics come in an order shuffled by `seed`, each to the group that is smallest then. There
    are never more groups than topics.
    """
    members: dict[Hashable, list[int]] = {}
    for index, topic in enumerate(topics):
        members.setdefault(topic, []).append(index)
    groups: list[list[int]] = [[] for _ in range(max(1, min(count, len(members))))]
    names = list(members)
    for place in np.random.default_rng(seed).permutation(len(names)):
        smallest = min(groups, key=len)
        smallest += members[names[place]]
    return [sorted(group) for group in groups]
