"""What a LARA run's labels follow from beside their own pair: every pair, and people's answers."""

from collections.abc import Mapping
from typing import Any

from annotate.models import CaseStatus
from debate.configuration import SIMULATED
from debate.kinds import config_of
from debate.models import DebateRun, Turn
from evaluation.exporters.names import split_name

# The columns of a course's pairs. `ended` says of how many pairs the course was that labelled it.
COLUMNS = ("split", "query_id", "passage_id", "score", "pick", "given", "ended")


def read_course(run_pk: int) -> dict[str, Any]:
    """The settings and all measured pairs in the run's order; no names of people."""
    run = DebateRun.objects.get(pk=run_pk)
    lara = config_of(run).lara
    turns = Turn.objects.filter(debate__run=run, score__isnull=False).order_by("debate_id")
    rows = turns.values_list(
        "debate__query__domain__name",
        "debate__query__qid",
        "debate__passage__pid",
        "score",
        "debate__measures",
        "debate__case__status",
        "debate__case__label",
    )
    return {
        "run": run.pk,
        "variant": lara.variant,
        "smooth": lara.smooth,
        "budget": lara.budget,
        "groups": lara.groups,
        "seed": lara.seed,
        "simulated": lara.mode == SIMULATED,
        "columns": COLUMNS,
        "pairs": [_pair(*row) for row in rows.iterator()],
    }


def courses_in(row: Mapping[str, Any]) -> set[int]:
    """The runs that a row of evidence follows from, by way of what it was carried from too."""
    found = {row["course"]} if "course" in row else set()
    for part in (row.get("carried") or {}).get("from", ()):
        found |= courses_in(part) | courses_in(part["given"] or {})
    return found


def _pair(
    domain: str,
    qid: str,
    pid: str,
    score: float | None,
    measures: dict[str, Any],
    status: str | None,
    decided: int | None,
) -> tuple[Any, ...]:
    given = decided if status == CaseStatus.CLOSED else measures.get("given")
    pick = measures.get("pick")
    return split_name(domain), qid, pid, score, pick, given if pick else None, measures.get("pairs")
