"""The tables of one judge run: its bridge, and what asking again does."""

from evaluation.agents.models import JudgeRun
from evaluation.agents.trust.bridges import bridge_table
from evaluation.agents.trust.repeating import items_table, reliability_table, repeated
from kit.lists.report_tables import ReportTable


def tables_of(run: JudgeRun) -> list[ReportTable]:
    """Those that have a row."""
    found = [bridge_table(run)] if run.bridge_from_id else []
    if run.repetitions > 1:
        items = repeated(run.verdicts.select_related("query__domain").order_by("pk"))
        found += [reliability_table(items), items_table(run, items)]
    return [each for each in found if each.rows]
