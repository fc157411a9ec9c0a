"""What domain and which system a run file is of, by its path alone.

Where paths follow no form that is known here, a pattern says how they are built:
`{run}/{domain}.run.gz`, `input.{run}`, `{domain}-{run}.trec`. A name is a part of one folder's or
file's name; blanks between them are what the pattern says.
"""

import re
from functools import lru_cache
from pathlib import Path

from corpus.importers.files import stem_of

# outputs/{task}_{model}_long_{False}/score.json
_OUTPUT = re.compile(r"(?P<domain>.+)_(?P<tag>[^_]+)_long_(?:True|False)")
# results/{retriever}/{subset}_retrieved_corpus.json
_RETRIEVED = "_retrieved_corpus"
_NAMES = re.compile(r"(\{[^{}]*\})")
EXAMPLE = "{run}/{domain}.run"


class BadPattern(ValueError):
    """A pattern of paths that names nothing, or something else than a domain and a run."""


def run_name(path: Path, given: str = "") -> tuple[str, str]:
    """Domain and system of a file; "" for what its path does not say.

    `given` is the domain of every file, or a pattern of their paths. Of a path that does not fit
    the pattern nothing is known. Raises BadPattern.
    """
    if is_pattern(given):
        # The pattern is tried without the endings of the name, without `.gz`, and on the whole.
        whole = path.absolute().as_posix()
        for name in (stem_of(path), path.name.removesuffix(".gz"), path.name):
            if match := _compiled(given).fullmatch(whole.removesuffix(path.name) + name):
                found = match.groupdict()
                return found.get("domain", ""), found.get("run", "")
        return "", ""
    domain, system = _by_path(path)
    return given or domain, system


def is_pattern(given: str) -> bool:
    """Whether this names parts of a path, and is no domain's own name."""
    return "{" in given


def pattern(given: str) -> str:
    """The same text; raises BadPattern where it names nothing, or what is neither of the two."""
    if not is_pattern(given):
        raise BadPattern(f"{given[:80]!r} names neither {{domain}} nor {{run}}, as {EXAMPLE} does.")
    _compiled(given)
    return given


def _by_path(path: Path) -> tuple[str, str]:
    stem = stem_of(path)
    if stem.endswith(_RETRIEVED):
        return stem.removesuffix(_RETRIEVED), path.parent.name
    if stem == "score":
        match = _OUTPUT.fullmatch(path.parent.name)
        return (match["domain"], match["tag"]) if match else (path.parent.name, "")
    return stem, ""


@lru_cache(maxsize=8)
def _compiled(given: str) -> re.Pattern[str]:
    names: list[str] = []
    parts: list[str] = []
    for part in _NAMES.split(given):
        if part in {"{domain}", "{run}"} and part not in names:
            names.append(part)
            parts.append(f"(?P<{part[1:-1]}>[^/]+?)")
        elif "{" in part or "}" in part:
            what = "{domain} and {run} may stand in it, each once"
            raise BadPattern(f"{given[:80]!r} is no pattern of paths: {what}, as in {EXAMPLE}.")
        else:
            parts.append(re.escape(part))
    return re.compile(rf"(?:.*/)?{''.join(parts)}")
