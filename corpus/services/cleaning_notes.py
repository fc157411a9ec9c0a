"""What came up in a cleaning: calls and their cost, violations, counts, each with its rows."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count
from django.urls import reverse

from corpus.models import CleaningRun, Violation
from kit.sheets import Cell, Sheet, text
from llm.ledger.reading import spending_by


def rows_url(run: CleaningRun, **params: Any) -> str:
    """The rows behind a number."""
    url = reverse("cleaning-rows", args=[run.benchmark.slug, run.pk])
    return f"{url}?{urlencode(params)}"


def agent_sheets(run: CleaningRun) -> list[Sheet]:
    """Cost, violations and counts of a run that is done."""
    if not run.has_agents:
        return [*([_spending(run)] if run.has_calls else []), _came_up(run)]
    return [_spending(run), _violations(run), _notes(run)]


def _spending(run: CleaningRun) -> Sheet:
    rows = []
    for (role,), found in spending_by(run.calls, "role"):
        url = rows_url(run, of="agents", role=role)
        rows.append(
            (
                text(role),
                Cell(found.calls, url=url),
                *(Cell(found.input_tokens), Cell(found.cached_tokens)),
                *(Cell(found.output_tokens), Cell(found.reasoning_tokens)),
                Cell(None if found.known_usd is None else float(found.usd), "usd"),
                Cell(float(found.reserved_usd), "usd"),
            )
        )
    header = (
        *("Agent", "Calls", "Input tokens", "Of them cached", "Output tokens"),
        *("Of them reasoning", "USD", "At most beside it"),
    )
    note = (
        "Every attempt that the run made; an answer that was paid for before is not counted "
        "again. Calls whose cost is not known may come to the last column at most."
    )
    return Sheet(
        "agents", "Tokens and cost by agent", header, tuple(rows), (note,), "No call was paid."
    )


def _violations(run: CleaningRun) -> Sheet:
    url = reverse("cleaning-violations", args=[run.benchmark.slug, run.pk])
    found = Violation.objects.filter(page__run=run).order_by()
    rows = found.values_list("stage", "kind", "decision").annotate(n=Count("pk"))
    words = dict(Violation.Decision.choices)
    cells = tuple(
        (
            text(kind),
            text(stage),
            text(words.get(decision, "open")),
            Cell(n, url=f"{url}?{urlencode(_params(stage, kind, decision))}"),
        )
        for stage, kind, decision, n in sorted(rows)
    )
    header = ("Kind", "Found behind", "What became of it", "Places")
    return Sheet(
        "violations",
        "Where agents departed from gold text",
        header,
        cells,
        ("Repaired characters and tables put in words are allowed, and listed.",),
        "No agent departed from gold text.",
    )


def _params(stage: str, kind: str, decision: str) -> dict[str, str]:
    """As the list of violations filters; what is allowed was never to be decided."""
    is_allowed = kind in ("repaired", "table")
    given = {"stage": stage, "kind": kind, "decision": decision or ("" if is_allowed else "open")}
    return {name: value for name, value in given.items() if value}


def _notes(run: CleaningRun) -> Sheet:
    flags: dict[str, int] = run.figures.get("flags", {})
    counts: dict[str, int] = run.figures.get("counts", {})
    url = reverse("cleaning-pages", args=[run.benchmark.slug, run.pk])
    rows = [
        (text(f"pages: {name}"), Cell(n, url=f"{url}?{urlencode({'note': name})}"))
        for name, n in sorted(flags.items())
    ]
    rows += [
        (text(name.replace(":", ": ")), Cell(n, url=f"{url}?{urlencode({'note': name})}"))
        for name, n in sorted(counts.items())
    ]
    return Sheet("notes", "What came up", ("What", "How often"), tuple(rows))


def _came_up(run: CleaningRun) -> Sheet:
    """The counts of a run by rules; what was dropped has no passage in the new version."""
    known = ("dropped", "gold kept whole", "without text", "sentences shortened for their vector")
    url = rows_url(run, of="dropped")
    rows = tuple(
        (text(name), Cell(run.figures[name], url=url if name == "dropped" else ""))
        for name in known
        if run.figures.get(name)
    )
    return Sheet("notes", "What came up", ("What", "Passages"), rows, (), "Nothing special.")
