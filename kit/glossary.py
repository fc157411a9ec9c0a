"""The terms of docs/glossary.md as a page, so that screens explain the words they use."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from kit import htmx

FILE = Path(settings.BASE_DIR) / "docs" / "glossary.md"
_CELL = re.compile(r"(?<!\\)\|")


@cache
def terms() -> dict[str, dict[str, str]]:
    """Every term with a meaning, by its anchor, in the order of the file, each with its `section`,
    the `name` that screens use, its `anchor` on the page and its `meaning`."""
    found: dict[str, dict[str, str]] = {}
    section, heads = "", list[str]()
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section, heads = line[3:], []
        if not line.startswith("|"):
            continue
        cells = [each.strip().replace("`", "") for each in _CELL.split(line)[1:-1]]
        if not heads:
            heads = cells
        row = dict(zip(heads, cells, strict=False))
        if row.get("meaning") not in (None, "meaning") and not set(cells[0]) <= set("-: "):
            anchor = slugify(row["term"])
            term = {"section": section, "name": row["term"], "anchor": anchor}
            found[anchor] = term | {"meaning": row["meaning"]}
    return found


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """Every term with its meaning."""
    return htmx.render(request, "kit/glossary.html", {"terms": list(terms().values())})
