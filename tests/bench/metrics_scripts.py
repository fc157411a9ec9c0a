"""The anchor for a run out of its file: what Bright-Pro's own scripts do, one pass a measure.

Each script opens `score.json` with the json module and sorts or copies every list. They are not
ours to ship: `passes` does the same steps, as docs/protocol.md 6 and 7 tell them, with pytrec_eval
where they use it. With BRIGHT_PRO_SCRIPTS naming a checkout of their repository, theirs are run
instead.
"""

import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytrec_eval

LADDER = (1, 5, 10, 25, 50, 100)
K, ALPHA = 25, 0.5
TASK = "biology"
Pass = Callable[[], float]


def passes(path: Path, gold: dict[str, Any]) -> dict[str, Pass]:
    """Four passes over the file, each giving the mean of its measure at 25."""
    labels = gold["labels"]
    place = {
        (q, p): (q, a)
        for q, each in gold["aspects"].items()
        for a in each
        for p in each[a].passages
    }
    weight = {
        (q, a): each[a].weight / sum(other.weight for other in each.values())
        for q, each in gold["aspects"].items()
        for a in each
    }

    def standard(name: str) -> float:
        run = json.loads(path.read_text("utf-8"))
        qrels = {str(q): {str(p): int(v) for p, v in each.items()} for q, each in labels.items()}
        copied = {str(q): {str(p): float(s) for p, s in each.items()} for q, each in run.items()}
        cuts = ",".join(map(str, LADDER))
        wanted = {f"{each}.{cuts}" for each in ("map_cut", "ndcg_cut", "recall", "P")}
        found = pytrec_eval.RelevanceEvaluator(qrels, wanted | {"recip_rank"}).evaluate(copied)
        return sum(each[name] for each in found.values()) / len(found)

    def of_aspects(one: Callable[[list[str], str], float]) -> float:
        run = json.loads(path.read_text("utf-8"))
        values = [one(_sorted(run[qid]), qid) for qid in labels]
        return sum(values) / len(values)

    def alpha_ndcg(ranked: list[str], qid: str) -> float:
        keys = [place[qid, pid] for pid in ranked[:K] if pid in labels[qid]]
        ranks = [rank for rank, pid in enumerate(ranked[:K], 1) if pid in labels[qid]]
        ideal = _greedy([place[qid, pid] for pid in labels[qid]], weight)
        return _dcg(keys, ranks, weight) / _dcg(ideal, list(range(1, len(ideal) + 1)), weight)

    def aspect_recall(ranked: list[str], qid: str) -> float:
        return sum(weight[key] for key in {place[qid, p] for p in ranked[:K] if p in labels[qid]})

    return {
        "nDCG@25": lambda: standard("ndcg_cut_25"),
        "recall@25": lambda: standard("recall_25"),
        "alpha_nDCG@25": lambda: of_aspects(alpha_ndcg),
        "aspect_recall@25": lambda: of_aspects(aspect_recall),
    }


def their_passes(root: Path, path: Path, gold: dict[str, Any], data: Path) -> dict[str, Pass]:
    """The same passes by the scripts of a checkout, their gold read from the folder `data`."""
    _write_gold(data, gold)
    os.environ["BRIGHT_PRO_DATA_ROOT"] = str(data)
    sys.path.insert(0, str(root))
    metrics = _module(root / "retrieval/metrics.py")
    alpha = _module(root / "retrieval/evaluation/alpha-ndcg-evaluation.py")
    recall = _module(root / "retrieval/evaluation/weighted_aspect_recall.py")

    def standard(name: str) -> float:
        run = json.loads(path.read_text("utf-8"))
        found: float = metrics.calculate_retrieval_metrics(run, gold["labels"])[name]
        return found

    def of_aspects(script: ModuleType, name: str, **options: float) -> float:
        examples = script.load_bright_pro("examples", TASK)
        maps = script.build_aspect_maps(TASK, "")
        found: float = script.evaluate_file(path, examples, *maps, k=K, **options)[name]
        return found

    return {
        "nDCG@25": lambda: standard(f"NDCG@{K}"),
        "recall@25": lambda: standard(f"Recall@{K}"),
        "alpha_nDCG@25": lambda: of_aspects(alpha, "avg_alpha_ndcg", alpha=ALPHA),
        "aspect_recall@25": lambda: of_aspects(recall, "avg_weighted_aspect_recall"),
    }


def _write_gold(root: Path, gold: dict[str, Any]) -> None:
    examples = [{"id": q, "gold_ids": list(each)} for q, each in gold["labels"].items()]
    aspects = [
        {"id": f"{TASK}-{q}-{a}", "weight": one.weight, "supporting_docs": list(one.passages)}
        for q, each in gold["aspects"].items()
        for a, one in each.items()
    ]
    for name, rows in (("examples", examples), ("aspects", aspects)):
        (root / name).mkdir(parents=True)
        (root / name / f"{TASK}.json").write_text(json.dumps(rows), "utf-8")


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _sorted(scores: dict[str, float]) -> list[str]:
    return [pid for pid, _ in sorted(scores.items(), key=lambda pair: pair[1], reverse=True)]


def _dcg(keys: list[Any], ranks: list[int], weight: dict[Any, float]) -> float:
    seen: dict[Any, int] = {}
    total = 0.0
    for key, rank in zip(keys, ranks, strict=True):
        total += weight[key] * (1.0 - ALPHA) ** seen.get(key, 0) / math.log2(rank + 1)
        seen[key] = seen.get(key, 0) + 1
    return total


def _greedy(keys: list[Any], weight: dict[Any, float]) -> list[Any]:
    left, order, seen = list(keys), [], dict.fromkeys(keys, 0)
    while left and len(order) < K:
        best = max(left, key=lambda key: weight[key] * (1.0 - ALPHA) ** seen[key])
        left.remove(best)
        seen[best] += 1
        order.append(best)
    return order
