"""The steps that led to a release, as W3C PROV-JSON (https://www.w3.org/submissions/prov-json/)."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

FILE: Final = "prov.json"
# Told of each step as it stands in its record (evaluation/chain/services.py), and by what name.
_TOLD: Final = {
    "prov:startTime": "started_at",
    "prov:endTime": "ended_at",
    **{
        f"assay:{name}": name
        for name in ("settings", "models", "prompts", "budget_usd", "spent_usd", "seconds")
    },
}


def digest(lines: Iterable[Sequence[object]]) -> str:
    """SHA-256 of lines as JSON, one after the other."""
    found = hashlib.sha256()
    for line in lines:
        found.update(json.dumps(list(line), ensure_ascii=False, sort_keys=True).encode())
        found.update(b"\n")
    return found.hexdigest()


def input_digest(do: str, settings: Mapping[str, Any], outputs: Sequence[str]) -> str:
    """SHA-256 of what a step was given: its settings, and the outputs of all before it from 0."""
    return digest([[do, settings, list(outputs)]])


def write_chain(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the steps as activities by a plan, and what each left as an entity with its SHA-256;
    that of number 0 is what was there before. The last, which makes the release, has none."""
    found: dict[str, dict[str, Any]] = {
        "prefix": {"assay": "urn:assay:chain:"},
        "agent": {"assay:assay": {"prov:type": _name("prov:SoftwareAgent")}},
        "activity": {},
        "entity": {},
        "wasAssociatedWith": {},
        "wasGeneratedBy": {},
        "used": {},
    }
    origin, *steps = records
    found["entity"] |= {
        "assay:plan": {"prov:type": _name("prov:Plan"), "prov:value": origin["plan"]},
        "assay:output-0": {"prov:label": origin["do"], "assay:sha256": origin["output_sha256"]},
    }
    for record in steps:
        number = record["step"]
        step, output = f"assay:step-{number}", f"assay:output-{number}"
        found["activity"][step] = {
            "prov:label": record["do"],
            **{name: record[of] for name, of in _TOLD.items() if record[of] not in (None, [])},
            "assay:input_sha256": record["input_sha256"],
        }
        if record["output_sha256"]:
            found["entity"][output] = {
                "assay:sha256": record["output_sha256"],
                **{f"assay:{name}": value for name, value in record["figures"].items()},
            }
            made = {"prov:entity": output, "prov:activity": step}
            found["wasGeneratedBy"][f"_:made-{number}"] = made
        found["wasAssociatedWith"][f"_:planned-{number}"] = {
            "prov:activity": step,
            "prov:agent": "assay:assay",
            "prov:plan": "assay:plan",
        }
        for before in range(number):
            used = {"prov:activity": step, "prov:entity": f"assay:output-{before}"}
            found["used"][f"_:used-{number}-{before}"] = used
    path.write_bytes(json.dumps(found, indent=1, ensure_ascii=False).encode() + b"\n")


def _name(value: str) -> dict[str, str]:
    return {"$": value, "type": "xsd:QName"}
