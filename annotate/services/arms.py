"""What a voter sees of a debate, and in which order (docs/protocol.md 2.4)."""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from annotate.models import ARMS, EscalationCase, Reveal, VotingPlan
from annotate.queue import draw

_NAMED = re.compile(r"\b(agent)\s+([A-Z])\b", re.IGNORECASE)
_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def arm_for(plan: VotingPlan, snapshot: Mapping[str, Any], key: str, pk: int) -> str:
    """The arm of an item; "" where there is nothing to show. In a study each item draws its own.

    `key` and `pk` name the item, so that everybody who judges it is in the same arm.
    """
    if not snapshot.get("positions"):
        return ""
    if plan.reveal != Reveal.STUDY:
        return str(plan.reveal)
    return str(ARMS[draw(f"arm of {key}", pk) % len(ARMS)])


def arm_of_case(plan: VotingPlan, case: EscalationCase) -> str:
    """The arm in which everybody judges the case under this plan."""
    return arm_for(plan, case.snapshot, "case", case.pk)


def is_shown(arm: str, *, committed: bool) -> bool:
    """Whether the positions may be seen now."""
    return arm == Reveal.START or (arm == Reveal.AFTER and committed)


def as_shown(snapshot: Mapping[str, Any], *, seed: int, shown: bool) -> dict[str, Any]:
    """The snapshot as this voter reads it: nothing of the debate, or its agents in random order.

    Agents are called A, B, ... in the order in which they stand, in their own words too, so that
    neither place nor name tells who began for "relevant". What is stored stays as it was.
    """
    if not shown:
        return {**snapshot, "positions": [], "rounds": 0, "practice": False}
    positions = [each for each in snapshot.get("positions") or [] if isinstance(each, Mapping)]
    order = list(range(len(positions)))
    Random(seed).shuffle(order)  # noqa: S311  (seeded with a keyed number)
    old = [str(positions[place].get("agent") or "") for place in order]
    names = {name.upper(): _NAMES[n % len(_NAMES)] for n, name in enumerate(old) if name}
    return {
        **snapshot,
        "positions": [
            {
                # Who began for which side is nobody's argument.
                **{key: value for key, value in positions[place].items() if key != "stance"},
                "agent": _NAMES[n % len(_NAMES)],
                "reason": _renamed(str(positions[place].get("reason") or ""), names),
            }
            for n, place in enumerate(order)
        ],
    }


def order_seed(voter_id: int, case_id: int) -> int:
    """The order of a case's positions for one person: always the same for them."""
    return draw("order of case", voter_id, case_id)


def order_seed_in_batch(voter_id: int, batch_id: int, place: int) -> int:
    """The order in an item of a batch: by its place alone, the same for a case and for a check."""
    return draw("order of item", voter_id, batch_id, place)


def first_response(snapshot: Mapping[str, Any], *, seed: int) -> str:
    """ "yes" or "no": what the position says that stands first for this voter; "" without one."""
    positions = as_shown(snapshot, seed=seed, shown=True)["positions"]
    said = positions[0].get("response") if positions else ""
    return said if said in ("yes", "no") else ""


def _renamed(text: str, names: Mapping[str, str]) -> str:
    def swap(found: re.Match[str]) -> str:
        return f"{found[1]} {names.get(found[2].upper(), found[2])}"

    return _NAMED.sub(swap, text)
