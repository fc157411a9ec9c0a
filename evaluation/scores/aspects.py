"""Holes by aspects: what systems find for aspects, and where gold of aspects is thin
(docs/protocol.md X07).

Read in a view of its own: the refined gold with the aspects that experts assigned, and beside
them machine gold (X06), whose passages count for measures of aspects alone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef

from annotate.models import CaseStatus, EscalationCase, SupportLabel
from corpus.models import Domain
from evaluation.content.unconfirmed import unconfirmed
from evaluation.content.view import View
from evaluation.exporters.records import QueryRecord
from evaluation.metrics.case import Case
from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.names import read_metrics
from evaluation.metrics.profiles import STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import case_of, value_of
from evaluation.scores.services import GoldView, gold_in

METRICS = read_metrics("aspect_hole@10,new_aspect@10,alpha_nDCG@25,aspect_recall@25")
DEPTH = 10
# Aspects that a sheet names.
THINNEST = 50
# Passages by query id and number of the aspect.
Support = Mapping[str, Mapping[int, Sequence[str]]]


def read_support(view: View, domain: Domain) -> Support:
    """Machine gold of the domain in this corpus version, by query id and aspect.

    Not of what people judge at this moment: a score tells a voter nothing of their case. Nor what
    the practice model says, which fills no gap either, nor what rests on decisions that nobody
    confirmed to be theirs: no person assigned it.
    """
    undecided = EscalationCase.objects.exclude(status=CaseStatus.CLOSED)
    of_label = undecided.filter(aspect=OuterRef("aspect"), passage=OuterRef("passage"))
    doubtful = unconfirmed(view.benchmark).support
    rows = SupportLabel.objects.in_benchmark(view.benchmark).machine_gold(doubtful)
    rows = rows.filter(~Exists(of_label), passage__domain=domain, practice=False)
    rows = rows.filter(passage__version_id__in=view.layers).order_by("pk")
    found: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for qid, k, pid in rows.values_list("aspect__query__qid", "aspect__k", "passage__pid"):
        found[qid][k].append(pid)
    return found


def gold_with(
    records: Sequence[QueryRecord], domain: Domain, support: Support, view: View
) -> Gold | None:
    """The refined gold of measures of aspects, machine gold with it; None without aspects."""
    asked = [record for record in records if record.aspects]
    if not asked:
        return None
    refined = gold_in(records, domain, GoldView.REFINED, view.corpus)
    labels: dict[str, dict[str, int]] = {}
    base: dict[str, dict[str, int]] = {}
    for qid, number in refined.number_of.items():
        rows = refined.rows_of(number)
        labels[qid] = {pid: int(refined.label[row]) for pid, row in rows.items()}
        assert refined.hole is not None  # of a refined gold
        base[qid] = {pid: labels[qid][pid] for pid, row in rows.items() if not refined.hole[row]}
    aspects: dict[str, dict[str, Aspect]] = {}
    for record in asked:
        by_k = support.get(record.qid, {})
        for pids in by_k.values():
            labels.setdefault(record.qid, {}).update(dict.fromkeys(pids, 1))
        aspects[record.qid] = {
            f"a{each.k}": Aspect(each.weight, [*each.supporting, *by_k.get(each.k, ())])
            for each in record.aspects
        }
    excluded = {}
    for number, out in refined.excluded.items():
        qid = refined.qids[number]
        excluded[qid] = out - {pid for pid, label in labels[qid].items() if label > 0}
    return Gold.of(labels, aspects=aspects, excluded=excluded, base=base, complete=False)


def cases_with(lists: Mapping[int, Run | None], gold: Gold) -> dict[int, dict[Family, Case]]:
    """The runs that rank something, by key, in each family of measures."""
    found = {}
    for run, ranked in lists.items():
        if ranked is not None:
            matched = Matched.of(ranked, gold)
            found[run] = {family: case_of(matched, family, STRICT) for family in Family}
    return found


def measured(
    cases: Mapping[int, Mapping[Family, Case]],
    names: Mapping[int, str],
    records: Sequence[QueryRecord],
    support: Support,
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
            "machine": len(support.get(record.qid, {}).get(each.k, ())),
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
