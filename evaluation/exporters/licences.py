"""Licences of a release: rows that an import reads, and in words for LICENCE.md and Croissant."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus.importers.files import LICENCES
from corpus.importers.licences import FIELDS
from corpus.importers.rows import LAYERS, LicenceRow, Location
from evaluation.exporters.files import write_jsonl
from evaluation.exporters.names import one_line

# Where the texts of usual licences stand, by their ids in SPDX's list.
_CREATIVE_COMMONS = "https://creativecommons.org"
LINKS = {
    "CC0-1.0": f"{_CREATIVE_COMMONS}/publicdomain/zero/1.0/legalcode",
    **{
        f"CC-{kind}-4.0": f"{_CREATIVE_COMMONS}/licenses/{kind.lower()}/4.0/legalcode"
        for kind in ("BY", "BY-SA", "BY-NC", "BY-ND", "BY-NC-SA", "BY-NC-ND")
    },
    "CC-BY-SA-3.0": f"{_CREATIVE_COMMONS}/licenses/by-sa/3.0/legalcode",
    "MIT": "https://opensource.org/license/mit",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "ODC-By-1.0": "https://opendatacommons.org/licenses/by/1-0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
}
_SPELT = re.compile(r"[\s_-]+")
_ADDRESS_OF = {name.casefold(): address for name, address in LINKS.items()}
# As hubs and people write some of them.
_ALSO = {"cc0": "cc0-1.0", "odc-by": "odc-by-1.0", "odbl": "odbl-1.0", "mit-license": "mit"}


def link_of(name: str) -> str:
    """Where the text of a licence of this name stands, spelt as SPDX or with blanks; "" for most.

    A name without its version leads nowhere, but for those that have one version alone.
    """
    spelt = _SPELT.sub("-", name.strip().casefold())
    return _ADDRESS_OF.get(_ALSO.get(spelt, spelt), "")


def named_only(licence: str, rows: Iterable[LicenceRow]) -> list[str]:
    """The names, of the whole and of layers, whose text is not here, and whether a link is."""
    named = [(one_line(licence), "", "")] if licence.strip() else []
    named += [(one_line(row.name), row.url or "", row.text or "") for row in rows]
    known = {_key(name) for name, _, text in named if text}
    found: dict[str, str] = {}
    for name, url, _ in named:
        if _key(name) not in known:
            found[name] = found.get(name) or url or link_of(name)
    return [f"{name}: {address or 'no address'}" for name, address in sorted(found.items())]


def _key(name: str) -> str:
    return link_of(name) or name.casefold()


def write_licences(
    folder: Path, rows: Sequence[LicenceRow], licence: str, splits: Collection[str]
) -> None:
    """The folder's file of licences, if there are any.

    An import has no licence of the whole, so that `licence` stands by every layer of the splits
    that no row is about.
    """
    found = list(rows)
    if licence.strip():
        known = {(row.layer, row.domain) for row in rows}
        left = [(layer, split) for layer in LAYERS for split in splits]
        place = Location("database")
        found += [LicenceRow(at, of, licence, place) for of, at in left if (of, at) not in known]
        found.sort(key=lambda row: (LAYERS.index(row.layer), row.domain))
    if found:
        write_jsonl(folder / LICENCES, map(_line, found))


def stated(rows: Iterable[LicenceRow], splits: Sequence[str]) -> list[dict[str, Any]]:
    """What is said of each licence: `name`, `url` (a usual one's own where none was stated),
    `attribution`, its `text` between `fence`s, `of`, the layers with their splits, and `cells`,
    name and attribution as a table has them. Rows that say the same are one.
    """
    layers: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for row in rows:
        said = (row.name, *(getattr(row, name) or "" for name in FIELDS))
        layers.setdefault(said, {}).setdefault(row.layer, []).append(row.domain)
    return [
        {
            "name": one_line(said[0]),
            **{name: value.strip("\n") for name, value in zip(FIELDS, said[1:], strict=True)},
            "url": said[1] or link_of(said[0]),
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
