"""Croissant metadata of a release (mlcommons.org/croissant, 1.0), so that tools find its tables.

Only what is in the folder: no date, no address, no person.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluation.exporters.names import one_line

FILE = "croissant.json"
CONFORMS = "http://mlcommons.org/croissant/1.0"
# The JSON-LD context that the standard prescribes.
_CONTEXT = json.loads(Path(__file__).with_name("croissant_context.json").read_text("utf-8"))
# What the columns of each configuration contain (bright_pro.py).
ABOUT = {
    "examples": {
        "id": "query id, unique in its split",
        "query": "the query",
        "gold_ids": "ids of the gold passages",
        "reference_answer": "a reference answer, where there is one",
        "answers": "short answers",
    },
    "aspects": {
        "id": "split, query id and number of the aspect",
        "content": "what the aspect says",
        "weight": "raw weight",
        "supporting_docs": "ids of the passages that support it",
        "scale": "scale of the weight",
    },
    "documents": {"id": "passage id", "content": "its text"},
}


def write_croissant(
    path: Path,
    *,
    name: str,
    version: str,
    description: str,
    licence: str,
    is_draft: bool,
    configurations: Mapping[str, Sequence[str]],
    schemas: Mapping[str, pa.Schema],
    sums: Mapping[str, str],
) -> None:
    """Write the metadata; `configurations` maps each to its splits, `sums` each file to SHA-256."""
    files, records = [], []
    for configuration, splits in configurations.items():
        for split in splits:
            file = f"{configuration}/{split}.parquet"
            files.append(_file(file, sums[file]))
            records.append(_records(configuration, split, file, schemas[configuration]))
    data: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": one_line(name),
        "description": description.strip() or one_line(name),
        "version": version,
        "distribution": files,
        "recordSet": records,
    }
    if one_line(licence):
        data["license"] = one_line(licence)
    if not is_draft:
        data["citeAs"] = f"{one_line(name)}, version {version}"
    path.write_bytes(json.dumps(data, ensure_ascii=False, indent=1).encode() + b"\n")


def _file(path: str, sha256: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "encodingFormat": "application/x-parquet",
        "sha256": sha256,
    }


def _records(configuration: str, split: str, file: str, schema: pa.Schema) -> dict[str, Any]:
    at = f"{configuration}-{split}"
    return {
        "@type": "cr:RecordSet",
        "@id": at,
        "name": at,
        "description": f"{configuration} of the split {split}",
        "field": [_field(at, file, each, ABOUT[configuration][each.name]) for each in schema],
    }


def _field(at: str, file: str, column: pa.Field, about: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{at}/{column.name}",
        "name": f"{at}/{column.name}",
        "description": about,
        "dataType": "sc:Integer" if pa.types.is_integer(column.type) else "sc:Text",
        **({"repeated": True} if pa.types.is_list(column.type) else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
    }
