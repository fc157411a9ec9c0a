"""Do two raters, runs or systems differ? Tests on what both did to the same items.

scipy.stats gives McNemar's test; it is slow to load, so that only who tests waits for it. Its
permutation_test draws other signs: p values that are printed would change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from kit.stats.means import AT_ONCE
from kit.stats.ratings import Floats

# Sums of the same numbers in another order differ by less.
_EQUAL = 1e-12


def mcnemar(only_first: int, only_second: int) -> float | None:
    """McNemar's exact test (1947): is a differing item as likely to favour either side?

    The two-sided p value of two raters or systems on the same items, by how often each alone is
    right; None where the two never differ. Raises ValueError for negative counts.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"{only_first} and {only_second} are no counts.")
    n = only_first + only_second
    if n == 0:
        return None
    from scipy.stats import binomtest

    return float(binomtest(only_first, n).pvalue)


@dataclass(frozen=True)
class PairedTest:
    """A two-sided test; `p` is None where it is undefined, and `why` says so."""

    name: str
    queries: int
    difference: float | None
    p: float | None
    statistic: float | None = None
    draws: int | None = None
    why: str = ""


def weighted(domains: Sequence[Floats]) -> Floats:
    """All differences, each times n / (T n_t), for n of them, T domains and n_t in its own: their
    mean is the unweighted mean over domains. Those of one domain stay as they are. None where a
    domain has no difference: then there is no such mean."""
    if not domains or not all(map(len, domains)):
        return np.zeros(0)
    n = sum(map(len, domains))
    return np.concatenate([part * (n / (len(domains) * len(part))) for part in domains])


def paired_t(*domains: Floats) -> PairedTest:
    """Student's t of the mean difference, n - 1 degrees of freedom.

    Of several domains Welch's: the unweighted mean over them, its variance the sum of theirs, with
    the degrees of freedom of Satterthwaite (1946).
    """
    name, gaps = "paired t", weighted(domains)
    size = len(gaps)
    mean = float(gaps.mean()) if size else None
    where = " in a domain" if len(domains) > 1 else ""
    if mean is None or min(map(len, domains)) < 2:
        return PairedTest(name, size, mean, None, why=f"fewer than two queries{where}")
    if all(np.ptp(part) <= _EQUAL for part in domains):
        return PairedTest(name, size, mean, None, why=f"all differences{where} are equal")
    from scipy.special import stdtr

    left = np.array([len(part) - 1 for part in domains])
    error = np.array([part.var(ddof=1) / len(part) for part in domains]) / len(domains) ** 2
    freedom = error.sum() ** 2 / (error**2 / left).sum()
    t = mean / float(np.sqrt(error.sum()))
    return PairedTest(name, size, mean, float(2 * stdtr(freedom, -abs(t))), t)


def randomisation(differences: Floats, *, seed: int, draws: int = 10_000) -> PairedTest:
    """Share of random signs whose mean difference is as far from 0 (Fisher's randomisation); of
    `weighted` differences, that of the unweighted mean over domains.

    All 2^n signs where there are no more of them than `draws`, else seeded draws, the observed
    signs counted among them: p = (1 + as far) / (1 + draws).
    """
    return randomisations([differences], seed=seed, draws=draws)[0]


def randomisations(
    columns: Sequence[Floats], *, seed: int, draws: int = 10_000
) -> list[PairedTest]:
    """The same test of each column of differences; those of one length share their signs.

    So many systems over the same queries cost hardly more than one.
    """
    found: dict[int, PairedTest] = {}
    for size in {len(column) for column in columns}:
        places = [place for place, column in enumerate(columns) if len(column) == size]
        of_size = np.stack([columns[place] for place in places])
        found |= zip(places, _randomised(of_size, seed, draws), strict=True)
    return [found[place] for place in range(len(columns))]


def _randomised(differences: Floats, seed: int, draws: int) -> Iterator[PairedTest]:
    """One test of each row of differences."""
    (rows, size), name = differences.shape, "randomisation"
    if not size:
        yield from [PairedTest(name, 0, None, None, why="no query")] * rows
        return
    slack = _EQUAL * np.maximum(1.0, np.abs(differences).sum(axis=1))
    bars = np.abs(differences.sum(axis=1)) - slack
    if is_whole := 2**size <= draws:
        signs = np.array(list(product((1.0, -1.0), repeat=size)))
        draws, far = len(signs), (np.abs(signs @ differences.T) >= bars).sum(axis=0)
    else:
        far = _far(differences, bars, np.random.default_rng(seed), draws)
    for count, mean in zip(far.tolist(), differences.mean(axis=1).tolist(), strict=True):
        p = count / draws if is_whole else (1 + count) / (1 + draws)
        yield PairedTest(name, size, mean, p, draws=draws)


def _far(differences: Floats, bars: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """How many drawn sums of each row are as far from 0; drawn in parts, so that memory stays
    bounded."""
    rows, size = differences.shape
    part = max(1, AT_ONCE // max(size, rows))
    far = np.zeros(rows)
    for start in range(0, draws, part):
        shape = min(part, draws - start), size
        signs = rng.integers(0, 2, size=shape, dtype=np.int8) * 2.0 - 1.0
        far += (np.abs(signs @ differences.T) >= bars).sum(axis=0)
    return far
