"""Licences of a release: rows that an import reads, and in words for LICENCE.md and Croissant."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus.importers.files import LICENCES
from corpus.importers.licences import FIELDS
from corpus.importers.rows import LAYERS, LicenceRow
from evaluation.exporters.files import write_jsonl
from evaluation.exporters.names import one_line


def write_licences(folder: Path, rows: Sequence[LicenceRow]) -> None:
    """The folder's file of licences, if there are any."""
    if rows:
        write_jsonl(folder / LICENCES, map(_line, rows))


def stated(rows: Iterable[LicenceRow], splits: Sequence[str]) -> list[dict[str, Any]]:
    """What is said of each licence: `name`, `url`, `attribution`, its `text` between `fence`s,
    `of`, the layers with their splits, and `cells`, name and attribution as a table has them. Rows
    that say the same are one.
    """
    layers: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for row in rows:
        said = (row.name, *(getattr(row, name) or "" for name in FIELDS))
        layers.setdefault(said, {}).setdefault(row.layer, []).append(row.domain)
    return [
        {
            "name": one_line(said[0]),
            **{name: value.strip("\n") for name, value in zip(FIELDS, said[1:], strict=True)},
            "fence": _fence(said[-1]),
            "cells": [one_line(each).replace("|", "\\|") for each in (said[0], said[2])],
            "of": _words(found, splits),
        }
        for said, found in layers.items()
    ]


def unstated(rows: Iterable[LicenceRow], splits: Sequence[str]) -> str:
    """The layers that no row is about, in words; "" if there are none."""
    known = {(row.layer, row.domain) for row in rows}
    left = {layer: [split for split in splits if (layer, split) not in known] for layer in LAYERS}
    return _words({layer: found for layer, found in left.items() if found}, splits)


def _words(found: Mapping[str, Sequence[str]], splits: Sequence[str]) -> str:
    parts: dict[tuple[str, ...], list[str]] = {}
    for layer in (each for each in LAYERS if each in found):
        parts.setdefault(tuple(found[layer]), []).append(layer)
    return "; ".join(
        ", ".join(layers) + ("" if len(of) == len(splits) else f" of {', '.join(of)}")
        for of, layers in parts.items()
    )


def _fence(text: str) -> str:
    """Backquotes that nothing in the text can end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def _line(row: LicenceRow) -> dict[str, str]:
    given = {name: value for name in FIELDS if (value := getattr(row, name))}
    return {"domain": row.domain, "layer": row.layer, "licence": row.name, **given}
