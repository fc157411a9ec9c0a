"""Two rankings made one: weighted sums of scores scaled to 0-1 (docs/protocol.md 5.3)."""

from collections.abc import Mapping, Sequence


def scaled(scores: Mapping[str, float]) -> dict[str, float]:
    """Min-max over the list: the lowest 0, the highest 1; a list of equal scores all 0."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    width = high - low
    return {pid: (score - low) / width if width else 0.0 for pid, score in scores.items()}


def fuse(
    rankings: Sequence[Mapping[str, float]], weights: Sequence[float], k: int
) -> list[tuple[str, float]]:
    """The k best by weighted sum; who is missing from a list has 0 in it; ties by id."""
    total: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for pid, score in scaled(ranking).items():
            total[pid] = total.get(pid, 0.0) + weight * score
    return sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
