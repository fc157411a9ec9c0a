"""A benchmark of the size that a full one has: seven domains, seeded, in any of the formats."""

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evaluation.exporters.files import write_jsonl, write_lines

# Documents of each domain of the full benchmark, 526,319 in all.
DOMAINS = {
    "biology": 59_513,
    "earth_science": 123_575,
    "economics": 52_240,
    "psychology": 54_741,
    "robotics": 63_920,
    "stackoverflow": 109_188,
    "sustainable_living": 63_142,
}
FULL = sum(DOMAINS.values())
_QUERIES, _GOLD = 105, 7


def make_folder(root: Path, rows: int) -> None:
    """Write documents/ and examples/ with about `rows` documents of about 130 words."""
    chance = random.Random(7)
    phrases = _phrases(chance)
    for part in ("documents", "examples"):
        (root / part).mkdir(parents=True)
    for domain, full in DOMAINS.items():
        count = max(_QUERIES * _GOLD, full * rows // FULL)
        ids = [f"{domain}-{n // 40}/extraction_{n % 40}.txt" for n in range(count)]
        texts = [_text(chance, phrases) for _ in range(count)]
        pq.write_table(
            pa.table({"id": ids, "content": texts}), root / f"documents/{domain}.parquet"
        )
        examples = pa.Table.from_pylist([_example(domain, n, ids) for n in range(_QUERIES)])
        pq.write_table(examples, root / f"examples/{domain}.parquet")


def make_files(root: Path, format: str, source: Path) -> None:
    """Write the documents of a Bright-Pro folder once more, as this format has them."""
    for domain, (ids, texts) in columns_of(source).items():
        WRITERS[format](root, domain, ids, texts)


def _beir(root: Path, domain: str, ids: list[str], texts: list[str]) -> None:
    rows = zip(ids, texts, strict=True)
    found = ({"_id": pid, "title": "", "text": text, "metadata": {}} for pid, text in rows)
    write_jsonl(root / domain / "corpus.jsonl", found)
    write_jsonl(root / domain / "queries.jsonl", [{"_id": "1", "text": "?"}])
    write_lines(root / domain / "qrels/test.tsv", [f"1\t{ids[0]}\t1"])


def _bridge(root: Path, domain: str, ids: list[str], texts: list[str]) -> None:
    rows = zip(ids, texts, strict=True)
    write_jsonl(root / f"corpora/{domain}.jsonl", ({"doc_id": p, "text": t} for p, t in rows))
    query = {"q_id": "1", "query": "?", "answers": ["!"], "doc_id": ids[:1]}
    write_jsonl(root / f"qrels/{domain}.jsonl", [query])


def _trec(root: Path, domain: str, ids: list[str], texts: list[str]) -> None:
    """Lines of ten words, as newswire has them."""
    write_lines(root / f"docs/{domain}.txt", map(_marked_up, ids, texts))
    write_lines(root / "topics.tsv", ["1\t?"])
    write_lines(root / "qrels.txt", [f"1 0 {ids[0]} 1"])


def _marked_up(pid: str, text: str) -> str:
    words = text.split(" ")
    lines = "\n".join(" ".join(words[n : n + 10]) for n in range(0, len(words), 10))
    return f"<DOC>\n<DOCNO> {pid} </DOCNO>\n<TEXT>\n{lines}\n</TEXT>\n</DOC>"


def _tsv(root: Path, domain: str, ids: list[str], texts: list[str]) -> None:
    write_lines(root / f"docs/{domain}.tsv", map("\t".join, zip(ids, texts, strict=True)))
    write_lines(root / "topics.tsv", ["1\t?"])
    write_lines(root / "qrels.txt", [f"1 0 {ids[0]} 1"])


WRITERS: dict[str, Callable[[Path, str, list[str], list[str]], None]] = {
    "beir": _beir,
    "bridge": _bridge,
    "trec": _trec,
    "trec-tsv": _tsv,
}


def columns_of(root: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Ids and texts of each domain, as an anchor that parses nothing has them."""
    found = {}
    for path in sorted((root / "documents").iterdir()):
        table = pq.read_table(path)
        found[path.stem] = table["id"].to_pylist(), table["content"].to_pylist()
    return found


def _phrases(chance: random.Random) -> list[str]:
    """Ten words each: texts are made of them, ten times as fast as of words."""
    words = ["".join(_syllable(chance) for _ in range(chance.randint(1, 4))) for _ in range(20_000)]
    return [" ".join(chance.choices(words, k=10)) for _ in range(50_000)]


def _syllable(chance: random.Random) -> str:
    return chance.choice("bcdfghklmnprstvw") + chance.choice("aeiou")


def _text(chance: random.Random, phrases: list[str]) -> str:
    """Lengths spread as those of pages cut into passages; a median of 105 words."""
    size = max(1, round(chance.lognormvariate(4.65, 0.65) / 10))
    return " ".join(chance.choices(phrases, k=size))


def _example(domain: str, n: int, ids: list[str]) -> dict[str, object]:
    gold = ids[n * _GOLD : (n + 1) * _GOLD]
    query = f"What is said about {domain} in case {n}?"
    return {"id": n, "query": query, "gold_ids": gold, "reference_answer": ""}
