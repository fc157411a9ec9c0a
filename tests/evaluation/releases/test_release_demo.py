"""The demo benchmark's release, read by a process that knows nothing of Assay."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from corpus.models import Benchmark
from tests.evaluation.conftest import release_into

# Runs in isolated mode in an empty folder: no module of ours can be imported.
READER = """
import json, sys
from importlib.util import find_spec
from pathlib import Path

import ir_measures
import pandas as pd
import pyndeval
import pytrec_eval
from datasets import load_dataset

assert not any(find_spec(name) for name in ("evaluation", "corpus", "kit"))
folder, cache = Path(sys.argv[1]), sys.argv[2]
told = {}
for table in sorted((folder / "examples").glob("*.parquet")):
    split = table.stem
    sets = {
        name: load_dataset(str(folder), name, split=split, cache_dir=cache)
        for name in ("examples", "aspects", "documents")
        if (folder / name / f"{split}.parquet").exists()
    }
    for name, found in sets.items():
        frame = pd.read_parquet(folder / name / f"{split}.parquet")
        assert list(frame["id"]) == found["id"][:], (split, name)
    known = set(sets["documents"]["id"][:])
    lines = (folder / f"qrels/{split}.expert.txt").read_text().splitlines()
    qrels = {}
    for qid, _, pid, label in map(str.split, lines):
        qrels.setdefault(qid, {})[pid] = int(label)
    run = {q: {p: float(v) for p, v in each.items()} for q, each in qrels.items()}
    scored = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg"}).evaluate(run)
    beir = [json.loads(x) for x in (folder / f"beir/{split}/corpus.jsonl").open()]
    assert [(x["_id"], x["text"]) for x in beir] == list(
        zip(sets["documents"]["id"][:], sets["documents"]["content"][:])
    )
    recall = None
    if (path := folder / f"qrels/{split}.aspects.txt").exists():
        topics = [
            pyndeval.SubtopicQrel(q, k, p, int(v))
            for q, k, p, v in map(str.split, path.read_text().splitlines())
        ]
        docs = [pyndeval.ScoredDoc(each.query_id, each.doc_id, 1.0) for each in topics]
        found = pyndeval.ndeval(topics, docs, measures=["strec@20"])
        recall = min(each["strec@20"] for each in found.values())
    plain = list(ir_measures.read_trec_qrels(str(folder / f"qrels/{split}.expert.txt")))
    given = [ir_measures.ScoredDoc(q, p, s) for q, each in run.items() for p, s in each.items()]
    best = ir_measures.calc_aggregate([ir_measures.nDCG], plain, given)[ir_measures.nDCG]
    told[split] = {
        "queries": len(sets["examples"]),
        "gold_in_documents": all(
            pid in known for gold in sets["examples"]["gold_ids"][:] for pid in gold
        ),
        "ndcg": min(each["ndcg"] for q, each in scored.items() if any(qrels[q].values())),
        "aspects_found": recall,
        "ir_measures": best,
    }
print(json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_demo_release_opens_in_tools_that_are_not_ours(tmp_path: Path) -> None:
    call_command("load_demo", verbosity=0, stdout=io.StringIO())
    benchmark = Benchmark.objects.get(slug="garden-weather")
    release = release_into(benchmark, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [sys.executable, "-I", "-c", READER, str(tmp_path / "out"), str(tmp_path / "cache")],
        cwd=tmp_path / "empty",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert {split: each["queries"] for split, each in told.items()} == {
        split: counts["queries"] for split, counts in release.counts["splits"].items()
    }
    for each in told.values():
        assert each["gold_in_documents"]
        assert each["ndcg"] == 1.0
        assert each["aspects_found"] in (None, 1.0)
        assert each["ir_measures"] == 1.0
    assert any(each["aspects_found"] for each in told.values())
