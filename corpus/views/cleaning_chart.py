"""Two histograms as a drawing: places in a box, so that the page needs no style."""

from typing import Any

from corpus.marcus.figures import Bin
from corpus.services.cleaning_report import bin_name

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 260, 48, 12, 60


def bars(title: str, before: list[Bin], after: list[Bin]) -> dict[str, Any]:
    """Two histograms as bars beside each other, in shares; places in a box."""
    totals = [sum(b.count for b in side) or 1 for side in (before, after)]
    shares = [
        (bin_name(a), a.count / totals[0], b.count / totals[1])
        for a, b in zip(before, after, strict=True)
    ]
    top = max((max(a, b) for _, a, b in shares), default=0) or 1
    step = (_WIDTH - _LEFT) / max(1, len(shares))
    floor = _HEIGHT - _BOTTOM
    marks = []
    for number, (name, a, b) in enumerate(shares):
        left = _LEFT + number * step
        marks.append(
            {
                "name": name,
                "x": left + step / 2,
                "bars": [
                    _bar(left + step * 0.08, step * 0.4, a / top, floor, "before", name, a),
                    _bar(left + step * 0.52, step * 0.4, b / top, floor, "after", name, b),
                ],
            }
        )
    return {
        "title": title,
        "marks": marks,
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "floor": floor,
        "top": f"{top:.0%}",
        "label_y": floor + 14,
    }


def _bar(
    x: float, width: float, share: float, floor: float, kind: str, name: str, value: float
) -> dict[str, Any]:
    height = share * (floor - _TOP)
    words = f"{name}: {value:.1%} {kind}"
    return {
        "x": x,
        "y": floor - height,
        "width": width,
        "height": height,
        "kind": kind,
        "words": words,
    }
