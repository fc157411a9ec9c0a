"""The formats by name. A new one is a function that yields rows, and one line here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.importers import bright, cranfield, json_formats, runs, wordings
from corpus.importers.files import MAX_ENTRIES, Meter, is_crowded, name_of
from corpus.importers.licences import licence_files, read_licences
from corpus.importers.reading import Unreadable
from corpus.importers.rows import Location, Problem
from corpus.importers.trec import collection as trec


@dataclass(frozen=True, slots=True)
class Format:
    """A format's name for people, its reader, and what a path of it looks like.

    `numbers_pages`: its ids say which page a passage is a piece of, and which piece.
    `has_titles`: the first line of its queries is a title.

    `read(path, qrels=..., meter=..., domain=...)` yields rows, problems and oddities of the files
    in their order, lazily; it raises nothing about what they contain. Only runs take a `domain`.
    """

    title: str
    read: Callable[..., Iterator[Any]]
    hint: str
    numbers_pages: bool = False
    has_titles: bool = False


# Why a format takes no qrels; one without a line here takes them.
_IN_ROWS = "This format's gold is in its rows; it takes no qrels."
_IN_ITS_FILE = "This format's gold is cranqrel; it takes no other."
_OWN_LABELS = "This format holds its own labels and takes no qrels."
_A_RUN = "A run brings no gold and takes no qrels."


def _format(
    title: str,
    rows: Callable[..., Iterator[Any]],
    hint: str,
    *,
    why: str = "",
    numbers_pages: bool = False,
    has_titles: bool = False,
) -> Format:
    """A format whose reader answers with problems, whatever a path holds.

    `rows` takes a path, a meter, and qrels unless `why` says that there are none; of runs it
    takes the domain.
    """

    def read(
        path: Path, *, qrels: Path | None = None, meter: Meter | None = None, domain: str = ""
    ) -> Iterator[Any]:
        for each in (path, qrels):
            if each and is_crowded(each):
                entries = f"The folder holds more than {MAX_ENTRIES:,} files"
                yield Problem(Location(name_of(each)), f"{entries}; give one that holds fewer.")
                return
        if qrels and why:
            yield Problem(Location(qrels.name), why)
            return
        more = (domain,) if why == _A_RUN else () if why else (qrels,)
        meter, licences = meter or Meter(), [] if why == _A_RUN else licence_files(path)
        meter.expect(licences)
        try:
            yield from rows(path, meter, *more)
            yield from read_licences(licences, meter)
        except Unreadable as fault:
            yield Problem(Location(name_of(path), fault.line), fault.message)
        except OSError as error:
            name = Path(error.filename).name if error.filename else name_of(path)
            yield Problem(Location(name), "The file cannot be read.")

    return Format(title, read, hint, numbers_pages, has_titles)


FORMATS: dict[str, Format] = {
    "bright_pro": _format(
        "Bright-Pro",
        bright.read_bright_pro,
        "a zip of examples, aspects, documents",
        why=_IN_ROWS,
        numbers_pages=True,
        has_titles=True,
    ),
    "bright": _format(
        "BRIGHT",
        bright.read_bright,
        "a zip of examples and documents, or a query file",
        numbers_pages=True,
        has_titles=True,
    ),
    "bridge": _format(
        "BRIDGE",
        json_formats.read_bridge,
        "a zip with one folder per subset, or one file",
        why=_IN_ROWS,
    ),
    "beir": _format(
        "BEIR", json_formats.read_beir, "a zip of corpus.jsonl, queries.jsonl and qrels"
    ),
    "trec": _format("TREC collection", trec.read, "a zip of topics, documents and qrels"),
    "cranfield": _format(
        "Cranfield",
        cranfield.read,
        "a zip of cran.all.1400, cran.qry, cranqrel",
        why=_IN_ITS_FILE,
    ),
    "hotpotqa": _format(
        "HotpotQA rows",
        json_formats.read_hotpotqa,
        "one .jsonl or .jsonl.gz file",
        why=_OWN_LABELS,
    ),
    "pairs": _format(
        "Pairs to debate",
        json_formats.read_pairs_to_debate,
        "one .jsonl file: id, query, answers, passage, label where known",
        why=_OWN_LABELS,
    ),
}
# What systems retrieved. They yield RunRows, which bring no texts and no gold.
RUN_FORMATS: dict[str, Format] = {
    "trec_run": _format(
        "TREC run", runs.read_trec, "one file per domain: biology.run.gz", why=_A_RUN
    ),
    "score_json": _format(
        "Scores as JSON", runs.read_json, "one file per domain: biology.json", why=_A_RUN
    ),
}


# Queries in other words. They bring no queries and no gold.
WORDING_FORMATS: dict[str, Format] = {
    "wordings": _format(
        "Queries in other words",
        wordings.read_wordings,
        "files of id and query, one per domain, or a zip of folders of them: gpt4_reason/",
        why="Other wordings bring no gold and take no qrels.",
    ),
}


def format_named(name: str) -> Format:
    """The format that has this name; raises KeyError."""
    return all_formats()[name]


def all_formats() -> dict[str, Format]:
    """Every format by name, collections first, wordings last."""
    return {**FORMATS, **RUN_FORMATS, **WORDING_FORMATS}
