"""Answers in the shapes of TREC RAG 2024 and 2025, RAGTIME 2025 and NeuCLIR 2024, one a line.

rag24    run_id, topic_id, topic, references, response_length, answer: [{text, citations}], of
         which citations count references from 0
rag25    metadata {team_id, run_id, type, narrative_id, narrative}, references, answer; citations
         are such numbers, or ids
ragtime  metadata {team_id, run_id, topic_id, task}, responses: [{text, citations}], ids with a
         confidence, or a list of ids; references, if there are any
neuclir  request_id, run_id, collection_ids, sentences: [{text, citations}], ids

Under metadata the topic is topic_id, narrative_id or request_id, and citations are in any of the
three ways, as TREC AutoJudge's files have them, whatever track they began in.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluation.agents.protocol.records import RecordFault
from llm.parsing import UNSTORABLE

SHAPES: Final = ("rag24", "rag25", "ragtime", "neuclir")
_KEY: Final = {"rag24": "answer", "rag25": "answer", "ragtime": "responses", "neuclir": "sentences"}
_TOPICS: Final = {
    "rag24": ("topic_id",),
    "rag25": ("narrative_id", "topic_id", "request_id"),
    "ragtime": ("topic_id", "request_id", "narrative_id"),
    "neuclir": ("request_id",),
}
_MOST: Final = 2_000
_LONGEST: Final = 200


class ShapeFault(RecordFault):
    """A record that is in none of the shapes; its words begin with the field that is at fault."""


@dataclass(frozen=True)
class Record:
    """One answer: its system, the id of its query, and its sentences with the ids they cite;
    `blank` ones, which say nothing, are left out and counted."""

    run_id: str
    topic: str
    sentences: tuple[tuple[str, tuple[str, ...]], ...]
    shape: str = ""
    blank: int = 0


def read_record(data: Any) -> Record:
    """An answer in any of the shapes. Raises ShapeFault."""
    if not isinstance(data, dict):
        raise ShapeFault("The record is no JSON object.")
    shape = _shape_of(data)
    head: dict[str, Any] = data
    prefix = ""
    if shape in ("rag25", "ragtime"):
        head, prefix = data["metadata"], "metadata."
    topics = {name: head[name] for name in _TOPICS[shape] if head.get(name) is not None}
    name, topic = next(iter(topics.items()), (_TOPICS[shape][0], None))
    if isinstance(topic, bool) or not isinstance(topic, str | int) or not str(topic).strip():
        raise ShapeFault(f"{prefix}{name} is no id of a topic.")
    if len({str(each).strip() for each in topics.values()}) > 1:
        raise ShapeFault(f"{prefix}{' and '.join(topics)} are not the same.")
    run_id = head.get("run_id")
    if not isinstance(run_id, str) or not run_id.strip():
        raise ShapeFault(f"{prefix}run_id is missing.")
    if len(run_id) > _LONGEST or UNSTORABLE.search(run_id):
        raise ShapeFault(f"{prefix}run_id is longer than {_LONGEST} letters, or no text.")
    key = _KEY[shape]
    rows, references = data[key], data.get("references") or []
    if not isinstance(references, list) or not all(isinstance(each, str) for each in references):
        raise ShapeFault("references is no list of ids.")
    if not isinstance(rows, list) or len(rows) > _MOST:
        raise ShapeFault(f"{key} is no list of at most {_MOST:,} sentences.")
    read = [_sentence(row, references, f"{key}[{at}]", shape) for at, row in enumerate(rows)]
    sentences = tuple(each for each in read if each[0])
    blank = len(read) - len(sentences)
    return Record(run_id.strip(), str(topic).strip(), sentences, shape, blank)


def _shape_of(data: Mapping[str, Any]) -> str:
    if "metadata" in data:
        if not isinstance(data["metadata"], dict):
            raise ShapeFault("metadata is no JSON object.")
        for shape in ("ragtime", "rag25"):
            if _KEY[shape] in data:
                return shape
        raise ShapeFault("answer (TREC RAG) or responses (RAGTIME) is missing.")
    if "sentences" in data:
        return "neuclir"
    if "answer" in data:
        return "rag24"
    raise ShapeFault("answer, responses or sentences is missing.")


def _sentence(
    row: Any, references: Sequence[str], place: str, shape: str
) -> tuple[str, tuple[str, ...]]:
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise ShapeFault(f"{place}.text is no text.")
    given = row.get("citations")
    if given is None:
        given = []
    if shape in ("rag25", "ragtime") and isinstance(given, dict):
        scores = list(given.values())
        if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in scores):
            raise ShapeFault(f"{place}.citations has a confidence that is no number.")
        sure: dict[str, float] = given
        given = sorted(sure, key=lambda pid: -sure[pid])
    if not isinstance(given, list) or len(given) > _MOST:
        raise ShapeFault(f"{place}.citations is no list of at most {_MOST:,}.")
    cited = [_cited(each, references, f"{place}.citations[{at}]", shape)
             for at, each in enumerate(given)]  # fmt: skip
    if UNSTORABLE.search("".join([row["text"], *cited])):
        raise ShapeFault(f"{place} holds NUL or half a surrogate pair.")
    text: str = row["text"]
    return text.strip(), tuple(dict.fromkeys(cited))


def _cited(each: Any, references: Sequence[str], place: str, shape: str) -> str:
    if isinstance(each, int) and not isinstance(each, bool) and shape != "neuclir":
        if not 0 <= each < len(references):
            raise ShapeFault(f"{place} is {each}, and there are {len(references):,} references.")
        return references[each]
    if not isinstance(each, str) or shape == "rag24" or not each.strip():
        kind = "a number in references" if shape == "rag24" else "an id"
        raise ShapeFault(f"{place} is not {kind}.")
    return each.strip()


def written(
    record: Record,
    *,
    shape: str,
    question: str,
    retrieved: Sequence[str] = (),
    is_manual: bool = False,
) -> dict[str, Any]:
    """The answer in a shape; `retrieved` are ids that its system gave, cited or not.

    What nobody here knows, a team and a collection, is named "assay". RAGTIME's citations are lists
    of ids, which it takes as well: no confidence is stated here.
    """
    cited = [pid for _, own in record.sentences for pid in own]
    references = list(dict.fromkeys([*retrieved, *cited]))
    numbers = {pid: at for at, pid in enumerate(references)}
    rows: list[dict[str, Any]] = []
    for text, own in record.sentences:
        citations: Any = list(own)
        if shape in ("rag24", "rag25"):
            citations = [numbers[pid] for pid in own]
        rows.append({"text": text, "citations": citations})
    if shape == "neuclir":
        head = {"request_id": record.topic, "run_id": record.run_id, "collection_ids": ["assay"]}
        return head | {"sentences": rows}
    if shape == "rag24":
        return {
            "run_id": record.run_id,
            "topic_id": record.topic,
            "topic": question,
            "references": references,
            "response_length": sum(len(text.split()) for text, _ in record.sentences),
            "answer": rows,
        }
    head = {"team_id": "assay", "run_id": record.run_id}
    if shape == "rag25":
        kind = "manual" if is_manual else "automatic"
        head |= {"type": kind, "narrative_id": record.topic, "narrative": question}
        return {"metadata": head, "references": references, "answer": rows}
    head |= {"topic_id": record.topic, "task": "english"}
    return {"metadata": head, "references": list(dict.fromkeys(cited)), "responses": rows}


# What tracks take, as their guidelines and checkers say it (ragnarok of TREC RAG; of RAGTIME 2025
# the longest of its requests): words or characters of an answer, and ids in `references`. NeuCLIR
# names a length in each request. None of them counts the citations of a sentence.
_WORDS: Final = {"rag24": 400, "rag25": 400}
_CHARACTERS: Final = {"ragtime": 10_000}
_REFERENCES: Final = {"rag24": 20, "rag25": 100}


def beyond(
    record: Mapping[str, Any], shape: str, known: Collection[str]
) -> Iterator[tuple[str, bool]]:
    """What of a written answer is beyond the limits of its track, in words, and whether the track
    refuses it; else its checker warns, or cuts. `known` are the ids of the collection."""
    texts = [unicodedata.normalize("NFKC", row["text"].strip()) for row in record[_KEY[shape]]]
    words, letters = sum(len(text.split()) for text in texts), len(" ".join(texts))
    references = len(record.get("references", ()))
    is_strict = shape == "rag24"
    for found, limits, what, is_refused in (
        (words, _WORDS, "words", False),
        (letters, _CHARACTERS, "characters", False),
        (references, _REFERENCES, "references", is_strict),
    ):
        if shape in limits and found > limits[shape]:
            yield f"{found:,} {what}, and {limits[shape]:,} are allowed.", is_refused
    for pid in cited_in(record):
        if pid not in known:
            yield f"{pid!r} is the id of no passage here.", is_strict


def cited_in(record: Mapping[str, Any]) -> list[str]:
    """The ids that a written answer names, each once: its references, or what sentences cite."""
    if "references" in record:
        return list(record["references"])
    return list(dict.fromkeys(pid for row in record["sentences"] for pid in row["citations"]))
