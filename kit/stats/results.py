"""What every measure of this package returns."""

from dataclasses import dataclass

# Below this many items the intervals may fall short of their level (docs/agreement.md).
FEW_ITEMS = 100


@dataclass(frozen=True)
class Interval:
    """Both ends, the confidence they are meant to hold (0 to 1), and how they were found."""

    low: float
    high: float
    confidence: float
    method: str

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high - self.low


class HasEnds:
    """Reads the ends of an `interval` that may be missing."""

    interval: Interval | None

    @property
    def low(self) -> float | None:
        """Lower end."""
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        """Upper end."""
        return self.interval.high if self.interval else None


@dataclass(frozen=True)
class Estimate(HasEnds):
    """One coefficient over `n_items` items that at least two of `n_raters` raters labelled.

    `value` is None exactly where the coefficient is undefined, and `reason` then says why.
    `interval` may be None beside a value; `interval_reason` then says why. `notes` hold what a
    reader must know besides: items left out, raters who gave one label only.
    """

    name: str
    value: float | None
    n_items: int
    n_raters: int
    interval: Interval | None = None
    reason: str = ""
    interval_reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def few_items(self) -> bool:
        """True where a page must warn that the interval may be too narrow."""
        return self.n_items < FEW_ITEMS


def p_words(p: float | None) -> str:
    """A p value as people read it: "p = 0.0312", and never 0: "p < 0.0001"."""
    if p is None:
        return "–"
    return f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"
