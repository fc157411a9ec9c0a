"""The steps that led to a release, as W3C PROV-JSON (https://www.w3.org/submissions/prov-json/)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

FILE: Final = "prov.json"
# Told of each step as it stands in its record (evaluation/chain/services.py).
_TOLD: Final = ("settings", "budget_usd", "spent_usd", "started_on", "ended_on", "seconds")


def write_chain(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the steps as activities, and what each left as an entity with its SHA-256."""
    found: dict[str, dict[str, Any]] = {
        "prefix": {"assay": "urn:assay:chain:"},
        "activity": {},
        "entity": {},
        "wasGeneratedBy": {},
        "used": {},
    }
    for record in records:
        number = record["step"]
        step, output = f"assay:step-{number}", f"assay:output-{number}"
        found["activity"][step] = {
            "prov:label": record["do"],
            **{f"assay:{name}": record[name] for name in _TOLD if record[name] is not None},
            "assay:input_sha256": record["input_sha256"],
        }
        found["entity"][output] = {
            "assay:sha256": record["output_sha256"],
            **{f"assay:{name}": value for name, value in record["figures"].items()},
        }
        made = {"prov:entity": output, "prov:activity": step}
        found["wasGeneratedBy"][f"_:made-{number}"] = made
        for before in range(1, number):
            used = {"prov:activity": step, "prov:entity": f"assay:output-{before}"}
            found["used"][f"_:used-{number}-{before}"] = used
    path.write_bytes(json.dumps(found, indent=1, ensure_ascii=False).encode() + b"\n")
