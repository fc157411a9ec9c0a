"""One small valid set of files for every format, to be broken."""

import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Path inside the folder -> content.
Files = Mapping[str, bytes]
TEXT = "na\u00efve \u2014 \U0001f98b\nsecond line"


def lines(*rows: Any) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(*rows: Any) -> bytes:
    """A parquet file of these rows."""
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), sink)
    return sink.getvalue()


_EXAMPLE = {"id": "7", "query": TEXT, "gold_ids": ["a/b_0.txt"], "excluded_ids": ["N/A"], "x": [1]}
_ASPECT = {"id": "bio-7-a1", "content": "c", "weight": 3, "supporting_docs": ["a/b_0.txt"]}
_PASSAGE = {"id": "a/b_0.txt", "content": TEXT}
_PAGE = {"id": "a/b.txt", "content": f"Menu {TEXT} Foot"}
_QUESTION = {
    "question_id": "q",
    "question_text": "Is it?",
    "answers_objects": [{"number": "", "date": {}, "spans": ["yes"]}],
    "contexts": [{"id": 0, "title": "t", "paragraph_text": "p", "is_supporting": True}],
}

SAMPLES: dict[str, list[Files]] = {
    "bright_pro": [
        {
            "examples/bio.jsonl": lines(_EXAMPLE),
            "aspects/bio.json": json.dumps([_ASPECT], indent=1).encode(),
            "documents/bio.jsonl.gz": gzip.compress(lines(_PASSAGE)),
            "pages/bio.jsonl": lines(_PAGE),
            "pairs/bio.jsonl": lines({"query_id": 7, "doc_id": "a/b_0.txt"}),
        },
        {
            "examples/bio.parquet": parquet(_EXAMPLE),
            "documents/bio-00000-of-00001.parquet": parquet(_PASSAGE, _PAGE),
        },
    ],
    "bright": [
        {
            "examples/bio.jsonl": lines(_EXAMPLE, {**_EXAMPLE, "id": 8}),
            "documents/bio.jsonl": lines(_PASSAGE),
            "long_documents/bio.parquet": parquet(_PAGE),
        }
    ],
    "bridge": [
        {
            "nq/qrels.jsonl": lines({"q_id": 1, "query": "q", "answers": ["a"], "doc_id": ["d"]}),
            "nq/corpus.jsonl": lines({"_id": "d", "title": "t", "text": TEXT}),
            "science/documents.jsonl": lines({"doc_id": 4, "text": TEXT}),
        }
    ],
    "beir": [
        {
            "corpus.jsonl": lines({"_id": "d", "title": "t", "text": TEXT, "metadata": {"a": 1}}),
            "queries.jsonl": lines({"_id": "1", "text": "why"}),
            "qrels/test.tsv": b"query-id\tcorpus-id\tscore\n1\td\t1\n",
        }
    ],
    "trec": [
        {
            "topics.txt": f"<top>\n<num> Number: 1\n<title> {TEXT}\n<narr> n\n</top>\n".encode(),
            "docs.txt": f"<DOC>\n<DOCNO> d </DOCNO>\n<TEXT>\n{TEXT}\n</TEXT>\n</DOC>\n".encode(),
            "qrels.txt": b"# c\n1 1 d 1\n1 2 d 0\n",
        },
        {
            "queries.tsv": b"1\twhy\r\n",
            "corpus.jsonl.gz": gzip.compress(lines({"id": "d", "contents": TEXT})),
            "qrels.txt": b"1 0 d 1\n",
        },
        {
            "topics.xml": (
                b'<web>\n<topic number="1" type="t"><query>a &amp; b</query>\n'
                b'<subtopic number="1">s</subtopic></topic>\n</web>\n'
            ),
        },
    ],
    "cranfield": [
        {
            "cran.all.1400": b".I 1\n.T\nt\n.A\na\n.B\nb\n.W\nw w\n.I 2\n.W\n",
            "cran.qry": b".I 001\r\n.W\r\nwhat\r\n",
            "cranqrel": b"1 1 2\n",
        }
    ],
    "hotpotqa": [{"dev.jsonl": lines(_QUESTION)}],
    "pairs": [{"pairs.jsonl": lines({"id": 1, "query": "q", "answers": ["a"], "passage": "p"})}],
    "trec_run": [{"bio.run": b"1 Q0 d 1 2.5 t\n1 Q0 e 2 1e-3 t\n", "x.run.gz": gzip.compress(b"")}],
    "score_json": [
        {
            "bio.json": b'{"1": {"d": 1.5, "e": {"score": 1, "text": "x"}}}',
            "x.json": b'{"1": ["d"]}',
        }
    ],
}


def zipped(files: Files) -> bytes:
    """The files as one archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"top/{name}", content)
    return sink.getvalue()
