"""Keeping the flags of turns where a list can be filtered by them."""

from collections.abc import Iterable

from debate.models import DebateFlag, DebateRun, Turn


def note_flags(run: DebateRun, turns: Iterable[Turn]) -> None:
    """Note what these stored turns are flagged with, in place of what was noted of their debates.

    In the transaction that stores the turns.
    """
    turns = list(turns)
    DebateFlag.objects.filter(debate__in={turn.debate_id for turn in turns}).delete()
    found = {(turn.debate_id, flag) for turn in turns for flag in turn.flags}
    DebateFlag.objects.bulk_create(
        DebateFlag(run=run, debate_id=debate, flag=flag) for debate, flag in sorted(found)
    )
