"""Files as people have them, and how a test calls score_run on them."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

RUN = "1 Q0 a 1 3 sys\n1 Q0 b 2 2 sys\n1 Q0 c 3 1 sys\n2 Q0 a 1 1 sys\n"
QRELS = "1 0 b 1\n1 0 z 1\n2 0 b 1\n3 0 a 1\n"
ALL = "nDCG@10,recall@2,hit@2,MAP,P@2,MRR"


def file(folder, name, content):
    path = folder / name
    if isinstance(content, dict | list):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def called(run, qrels, *arguments) -> str:
    out = StringIO()
    call_command("score_run", str(run), "--qrels", str(qrels), *map(str, arguments), stdout=out)
    return out.getvalue()


def as_json(run, qrels, *arguments) -> dict:
    return json.loads(called(run, qrels, "--json", *arguments))


def means(found) -> dict:
    return {name: each["mean"] for name, each in found["metrics"].items()}


def refused(run, qrels, *arguments) -> str:
    with pytest.raises(CommandError) as refusal:
        called(run, qrels, *arguments)
    return str(refusal.value)


BRIGHT_PRO = [
    {"id": "1", "query": "one", "gold_ids": ["b", "z", "b"]},
    {"id": "2", "query": "two", "gold_ids": ["b"]},
    {"id": "3", "query": "three", "gold_ids": ["a"]},
]
BRIDGE = [
    {"q_id": row["id"], "query": row["query"], "answers": ["x"], "doc_id": row["gold_ids"]}
    for row in BRIGHT_PRO
]

ASPECTS = [
    {"id": "biology-7-a1", "content": "one", "weight": 3, "supporting_docs": ["d1", "d2"]},
    {"id": "biology-7-a10", "content": "ten", "weight": 1, "supporting_docs": ["d4"]},
    {"id": "biology-7-a2", "content": "two", "weight": 2, "supporting_docs": ["d3"]},
]
EXAMPLE = [{"id": 7, "query": "q", "gold_ids": ["d1", "d2", "d3", "d4"]}]
TOY = {"7": {"d1": 5, "x": 4, "d2": 3, "d3": 2, "y": 1}}
