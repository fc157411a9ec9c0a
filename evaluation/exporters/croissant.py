"""Croissant metadata of a release (mlcommons.org/croissant, 1.0), so that tools find its tables.

Only what is in the folder: no date, no address, no person.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus.importers.rows import LicenceRow
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
        "excluded_ids": "ids that a ranking for this query leaves out",
    },
    "aspects": {
        "id": "split, query id and number of the aspect",
        "content": "what the aspect says",
        "weight": "raw weight",
        "supporting_docs": "ids of the passages that support it",
        "scale": "scale of the weight",
        "subtopic": "name of the subtopic of imported judgments that it is",
        "subtopic_docs": "ids that these list under it and nobody assigned; several may list one",
        "subtopic_judged": "ids that these judge for it",
        "subtopic_labels": "their labels there, in this order",
    },
    "documents": {
        "id": "passage id",
        "content": "its text",
        "title": "title of its page; a search reads it, a line break and the text",
        "source_url": "address of its source",
        "fetched_on": "day on which its source was fetched",
    },
    "machine_gold": {
        "id": "id of the aspect",
        "doc_id": "id of a passage that supports it, as no expert said",
        "source": "who said so",
        "round": "round of the debate",
        "models": "models that said so",
    },
}

# Layers whose licences a configuration's rows are of.
_LAYERS = {
    "examples": ("queries", "answers", "labels"),
    "aspects": ("aspects", "labels"),
    "documents": ("passages",),
    "machine_gold": ("labels",),
}


def write_croissant(
    path: Path,
    *,
    name: str,
    version: str,
    description: str,
    licence: str,
    rows: Sequence[LicenceRow],
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
            said = [each for each in rows if each.domain == split]
            records.append(_records(configuration, split, file, schemas[configuration], said))
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
    # Of the whole, then of layers: by address where one is known, as the standard has it.
    named = [one_line(licence), *(row.url or one_line(row.name) for row in rows)]
    if found := [each for each in dict.fromkeys(named) if each]:
        data["license"] = found[0] if len(found) == 1 else found
    if credit := list(dict.fromkeys(row.attribution for row in rows if row.attribution)):
        data["creditText"] = "\n".join(credit)
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


def _records(
    configuration: str, split: str, file: str, schema: pa.Schema, said: Sequence[LicenceRow]
) -> dict[str, Any]:
    at = f"{configuration}-{split}"
    of = [each for each in said if each.layer in _LAYERS[configuration]]
    words = [f"Licence of the {each.layer}: {one_line(each.name)}." for each in of]
    words += [f"Attribution: {each}" for each in dict.fromkeys(e.attribution for e in of) if each]
    return {
        "@type": "cr:RecordSet",
        "@id": at,
        "name": at,
        "description": "\n".join([f"{configuration} of the split {split}", *words]),
        "field": [_field(at, file, each, ABOUT[configuration][each.name]) for each in schema],
    }


def _data_type(of: pa.DataType) -> str:
    if pa.types.is_list(of):
        return _data_type(of.value_type)
    if pa.types.is_date(of):
        return "sc:Date"
    if pa.types.is_floating(of):
        return "sc:Float"
    return "sc:Integer" if pa.types.is_integer(of) else "sc:Text"


def _field(at: str, file: str, column: pa.Field, about: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{at}/{column.name}",
        "name": f"{at}/{column.name}",
        "description": about,
        "dataType": _data_type(column.type),
        **({"repeated": True} if pa.types.is_list(column.type) else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
    }
