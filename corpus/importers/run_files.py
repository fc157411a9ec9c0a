"""Files of what systems retrieved: which there are, and of which domain and system each is."""

import re
from itertools import pairwise
from pathlib import Path

from corpus.importers.files import DataFile
from corpus.importers.listing import as_file, files_under, stem_of
from corpus.importers.rows import Oddity

_TREC = re.compile(r"\.(?:run|trec|txt|res|results|test|trunc)(?:\.gz)?$", re.IGNORECASE)
_JSON = re.compile(r"\.json(?:\.gz)?$", re.IGNORECASE)
# outputs/{task}_{model}_long_{False}/score.json
_OUTPUT = re.compile(r"(?P<domain>.+)_(?P<tag>[^_]+)_long_(?:True|False)")
# results/{retriever}/{subset}_retrieved_corpus.json
_RETRIEVED = "_retrieved_corpus"

DUPLICATE = "passages ranked twice for a query, the best kept"
UNSORTED = "rankings that are not in the order of their scores"
NO_TAG = "runs without a name"


def run_files(path: Path, *, json: bool) -> list[DataFile]:
    """The run files of a folder, or the file itself whatever its name; the domain is the stem."""
    ending = _JSON if json else _TREC
    paths = [each for each in files_under(path) if each == path or ending.search(each.name)]
    return [as_file(each, path, run_name(each)[0]) for each in paths]


def run_name(path: Path) -> tuple[str, str]:
    """Domain and system that a path tells; the system is "" where it tells none."""
    stem = stem_of(path)
    if stem.endswith(_RETRIEVED):
        return stem.removesuffix(_RETRIEVED), path.parent.name
    if stem == "score":
        match = _OUTPUT.fullmatch(path.parent.name)
        return (match["domain"], match["tag"]) if match else (path.parent.name, "")
    return stem, ""


def oddities_of(
    owner: str, pids: list[str], scores: list[float] | None, repeated: list[str]
) -> list[Oddity]:
    """What is unusual about one ranking (docs/protocol.md 1.5 rules 1 and 4)."""
    found = [Oddity(DUPLICATE, f"{owner}: {pid}") for pid in repeated]
    if scores is not None and any(a < b for a, b in pairwise(scores)):
        found.append(Oddity(UNSORTED, owner))
    return found
