"""Holes by aspects: what systems find for aspects, and where gold of aspects is thin
(docs/protocol.md X07).

Read in the view that holds machine gold (X06), where there is some, else in the expert one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.exporters.records import QueryRecord
from evaluation.metrics.case import Case
from evaluation.metrics.names import read_metrics
from evaluation.metrics.profiles import STRICT, Family
from evaluation.metrics.scoring import value_of

METRICS = read_metrics("aspect_hole@10,new_aspect@10,alpha_nDCG@25,aspect_recall@25")
DEPTH = 10
# Aspects that a sheet names.
THINNEST = 50


def measured(
    cases: Mapping[int, Mapping[Family, Case]],
    names: Mapping[int, str],
    records: Sequence[QueryRecord],
) -> dict[str, Any]:
    """Systems by measures of aspects, and how thin gold of each aspect is, as JSON."""
    systems, found = [], set[tuple[str, str]]()
    for run, of in cases.items():
        values = {m.name: value_of(m, of[m.measure.family], STRICT).mean for m in METRICS}
        systems.append({"run": run, "name": names[run], **values})
        case = of[Family.ASPECT]
        which, aspect = case.pairs
        near = aspect[case.ranked.rank[which] <= DEPTH]
        found |= {case.aspects.names[each] for each in set(near.tolist())}
    rows: list[dict[str, Any]] = [
        {
            "query": record.qid,
            "k": each.k,
            "content": each.content,
            "share": each.weight / sum(other.weight for other in record.aspects),
            "experts": len(each.supporting),
            "machine": len(each.machine),
            "found": (record.qid, f"a{each.k}") in found,
        }
        for record in records
        for each in record.aspects
    ]
    rows.sort(key=lambda row: (row["experts"] + row["machine"], -row["share"]))
    queries = len({row["query"] for row in rows})
    without = [row for row in rows if not row["experts"] and not row["machine"]]
    return {
        "systems": systems,
        "aspects": len(rows),
        "passages": sum(row["experts"] for row in rows),
        "machine_passages": sum(row["machine"] for row in rows),
        "without": len(without),
        "machine_only": sum(bool(row["machine"]) and not row["experts"] for row in rows),
        "single": sum(row["experts"] + row["machine"] == 1 for row in rows),
        "weight_without": sum(row["share"] for row in without) / queries if queries else None,
        "not_found": sum(not row["found"] for row in rows),
        "thinnest": rows[:THINNEST],
    }
