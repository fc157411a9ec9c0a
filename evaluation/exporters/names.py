"""Names that other tools accept: split names, query ids, ids in TREC files."""

import re
from collections.abc import Iterable, Mapping, Sequence

# `datasets` keeps this word for the union of all splits.
RESERVED = {"all"}
INT64 = range(-(2**63), 2**63)


class NameClash(ValueError):
    """Two domains would become the same split."""

    def __init__(self, first: str, second: str, split: str) -> None:
        super().__init__(
            f"The domains “{first}” and “{second}” would both become the split “{split}”. "
            "Give one of them another name."
        )


def split_name(domain: str) -> str:
    """The domain's name with everything but letters, digits and `_` replaced by `_`."""
    name = re.sub(r"\W", "_", domain) or "_"
    return f"{name}_" if name in RESERVED else name


def split_names(domains: Sequence[str]) -> Mapping[str, str]:
    """Split name of every domain; raises NameClash naming both.

    Names that differ by case only clash too: some file systems keep them in one file.
    """
    taken: dict[str, str] = {}
    for domain in domains:
        name = split_name(domain)
        other = taken.setdefault(name.casefold(), domain)
        if other != domain:
            raise NameClash(other, domain, name)
    return {domain: split_name(domain) for domain in domains}


def is_canonical_integer(qid: str) -> bool:
    """Whether the id survives a round trip through a 64-bit integer ("07" does not)."""
    if not re.fullmatch(r"-?[0-9]{1,19}", qid):
        return False
    return str(int(qid)) == qid and int(qid) in INT64


def are_integers(qids: Iterable[str]) -> bool:
    """Whether ids may be written as int64, as Bright-Pro does (docs/protocol.md 1.1)."""
    return all(map(is_canonical_integer, qids))


def fits_trec(name: str) -> bool:
    """Whether an id can stand in a file whose columns are parted by white space."""
    return bool(name) and not re.search(r"\s", name)


def fits_tabs(name: str) -> bool:
    """Whether an id can stand between tabs."""
    return bool(name.strip()) and not re.search(r"[\t\r\n]|^\ufeff", name)


def in_columns(*columns: str) -> str:
    """The columns with tabs between them; raises ValueError where one would break the line."""
    for each in columns:
        if not fits_tabs(each):
            raise ValueError(f"{each[:80]!r} cannot stand between tabs.")
    return "\t".join(columns)


def aspect_id(split: str, qid: str, k: int) -> str:
    """The published id; its stem names the split, so that it can be found again."""
    return f"{split}-{qid}-a{k}"


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())
