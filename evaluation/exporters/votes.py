"""The chain of votes in a release: one link for each label that people voted on.

A link is the SHA-256 of the link before it and of the label with its votes: the pseudonyms, what
each said, and the end of its case's chain, which was made vote by vote as they were cast and whose
key no release has (annotate/voting/models.py). So a vote that is altered afterwards is found,
also where its majority is the same, as long as the end of the chain is known from elsewhere: from
the card, or from where the release was published. Of people and times the links say nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

FILE: Final = "evidence/votes.jsonl"
Row = dict[str, Any]


def voted_rows(row: Row) -> Iterator[Row]:
    """The labels with votes in a row of the evidence: it, or those that it inherits from."""
    if row.get("votes"):
        yield row
    inherited = row.get("carried") or {}
    for part in inherited.get("from", ()):
        yield from voted_rows(part.get("given") or {})
        yield from voted_rows({"carried": part.get("carried")})


def chained(rows: Iterable[tuple[str, Row]]) -> list[Row]:
    """The lines of the file for (split, label with votes) in the order of the evidence."""
    lines: list[Row] = []
    end = ""
    for split, row in rows:
        end = link_of(end, split, row)
        pair = {"query_id": row["query_id"], "passage_id": row["passage_id"]}
        lines.append({"split": split, **pair, "link": end})
    return lines


def link_of(earlier: str, split: str, row: Row) -> str:
    """The link in hex of a label with its votes, after the earlier link."""
    names = ("query_id", "passage_id", "label", "source", "rule", "person", "decision", "head")
    said = [earlier, split, *(row.get(name) for name in names), row["votes"]]
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()
