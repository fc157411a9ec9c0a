"""The fixed sample of queries that agents are tried on (docs/protocol.md 3.4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

SEED: Final = 42
EACH: Final = 25
TASKS: Final = (
    "biology",
    "earth_science",
    "economics",
    "psychology",
    "robotics",
    "stackoverflow",
    "sustainable_living",
)
Draw = Callable[[Sequence[str], int], list[str]]


def fixed_sample(
    ids: Mapping[str, Sequence[str]], draw: Draw, each: int = EACH
) -> dict[str, list[str]]:
    """So many ids of every task, by (length, id), drawn task by task in the published order.

    `ids` stand in the order of the examples' files, on which the draw depends; `draw` is
    `random.Random(SEED).sample`: one generator, used up in this order. A task with no more ids
    than asked for gives all of them and draws nothing. Tasks beyond the published ones follow by
    name.
    """
    known = [task for task in TASKS if task in ids]
    found: dict[str, list[str]] = {}
    for task in [*known, *sorted(ids.keys() - set(known))]:
        all_ids = list(ids[task])
        is_drawn = len(all_ids) > each
        drawn = draw(all_ids, each) if is_drawn else []
        found[task] = sorted(drawn, key=lambda i: (len(i), i)) if is_drawn else all_ids
    return found
