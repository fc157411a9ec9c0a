"""Gold ids, excluded ids, whose qrels are taken: shared by formats (docs/protocol.md 1.1, 1.5)."""

from collections.abc import Iterator
from pathlib import Path

from corpus.importers.fields import PID_LIMIT, Record
from corpus.importers.files import DataFile, qrels_files
from corpus.importers.rows import Oddity, Place, Problem

NOTHING = "N/A"
REPEATED = "gold ids repeated in a query"


def distinct_ids(record: Record, field: str, owner: str) -> tuple[tuple[str, ...], list[Oddity]]:
    """The ids of a list as a set in their order, and an oddity for each repetition."""
    ids = record.ids(field)
    seen: dict[str, None] = {}
    repeats: list[Oddity] = []
    for each in ids:
        if each in seen:
            repeats.append(Oddity(REPEATED, f"{owner}: {each}"))
        seen[each] = None
    return tuple(seen), repeats


def excluded_ids(record: Record, owner: str) -> tuple[tuple[str, ...] | None, list[Oddity]]:
    """Ids to leave out of a ranking; any entry "N/A" means none (docs/protocol.md 1.5 rule 2)."""
    ids = record.maybe_texts("excluded_ids", limit=PID_LIMIT)
    if ids and NOTHING in ids:
        return (), [Oddity('exclusions given as "N/A", read as none', owner)]
    return (tuple(dict.fromkeys(ids)) if ids is not None else None), []


def check_excluded(record: Record, excluded: tuple[str, ...] | None, gold: set[str]) -> None:
    """An id cannot be gold and excluded at once."""
    for each in sorted(gold.intersection(excluded or ())):
        record.wrong("excluded_ids", f"{each} is excluded and gold at once.")


def choose_qrels(qrels: Path, domains: set[str]) -> Iterator[DataFile | Problem]:
    """The qrels file of each of these domains.

    A folder may hold more domains than are loaded; a single file must be of one that is.
    """
    files = qrels_files(qrels)
    chosen = [each for each in files if each.domain in domains]
    yield from chosen
    if not chosen:
        names = ", ".join(sorted(domains)) or "none"
        yield Problem(
            Place(qrels.name),
            "No qrels of a domain in this load: a qrels file is named after its domain "
            f"(biology.txt). Domains here: {names}.",
        )
