"""What agents begin with where a case is debated again: the positions that were before people, and
what voters said (docs/protocol.md X07). Labels and words alone, nothing of who gave them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from debate import dream
from debate.models import Debate, Rehearing


def hear(debates: Sequence[Debate]) -> Mapping[int, dict[str, Any]]:
    """By debate what its Pair holds of it: every vote of the case that was heard so far."""
    own = list(Rehearing.objects.filter(debate__in=debates).select_related("case"))
    heard: dict[int, list[tuple[int, tuple[int, str]]]] = defaultdict(list)
    rows = Rehearing.objects.filter(case__in={each.case_id for each in own}).order_by("number")
    said = ("case", "number", "vote__label", "vote__reason")
    for case, number, label, reason in rows.values_list(*said):
        heard[case].append((number, (label or 0, reason)))
    return {
        each.debate_id: {
            "heard": tuple(say for number, say in heard[each.case_id] if number <= each.number),
            "before": tuple(_turn(row) for row in each.case.snapshot.get("positions") or ()),
        }
        for each in own
    }


def _turn(position: Mapping[str, Any]) -> dream.Turn:
    return dream.Turn(
        round=position.get("round") or 1,
        agent=position["agent"],
        stance=position.get("stance") or "",
        response=position.get("response") or None,
        reason=position.get("reason") or "",
    )
