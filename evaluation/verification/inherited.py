"""Inherited labels of a cleaned version: the rule followed again, from the release alone.

A chunk has a label above 0 where one of the older passages whose labels it inherits has; it has one
of 0 only where each older passage in it was judged and it holds no text beside them (which counts
as one more passage, without a label), or where all that made it gold was taken back
(docs/cleaning.md; docs/protocol.md 4.5).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from corpus.marcus.inheritance import inherited_label
from evaluation.verification.rows import NotDerived
from evaluation.verification.rules import Courses, derive

Row = Mapping[str, Any]


def derive_inherited(
    row: Row, supporting: bool, courses: Courses | None = None, split: str = ""
) -> tuple[int | None, int | None, int]:
    """(label of the imported gold, label given since, labels that could not be derived).

    Either is None where nothing is inherited. `supporting` says whether the release's aspects list
    the passage; `courses` are those of the release's LARA runs (rules.py). Raises NotDerived.
    """
    inherited = row["carried"]
    parts: Sequence[Row] = inherited["from"]
    sources = [(n, bool(part["carries"])) for n, part in enumerate(parts)]
    # Older passages without any label for this query: they only count as not judged.
    sources += [(-1 - n, False) for n in range(int(inherited["of"]) - len(parts))]
    gold: dict[int, int] = {}
    counts: dict[int, int] = {}
    unverified = 0
    for number, part in enumerate(parts):
        base, given, missed = _part(part, supporting, courses, split)
        unverified += missed
        if base is not None:
            gold[number] = base
        label = base if given is None else given
        if label is not None:
            counts[number] = label
    base, label = inherited_label(gold, sources), inherited_label(counts, sources)
    if label is None and (base or 0) > 0:
        label = 0
    since = label if _is_given(label, parts, counts) else None
    return base, since, unverified


def _is_given(label: int | None, parts: Sequence[Row], counts: Mapping[int, int]) -> bool:
    """Whether a label given since the import is among those that the label follows from."""
    if label is None:
        return False
    for number, part in enumerate(parts):
        counts_here = part["carries"] and counts.get(number) == label if label > 0 else True
        if counts_here and part["given"] is not None:
            return True
    return False


def _part(
    part: Row, supporting: bool, courses: Courses | None, split: str
) -> tuple[int | None, int | None, int]:
    """What one older passage has: by its own evidence, or by what it inherited."""
    base, given, unverified = part["base"], part["given"], 0
    label = None if given is None else int(given["label"])
    if "carried" in part:
        inherited, since, unverified = derive_inherited(part, supporting, courses, split)
        if inherited != base:
            raise NotDerived(
                f"{part['passage_id']} is {base} in the gold, what it came from {inherited}"
            )
        if given is not None and "rule" not in given and since != label:
            raise NotDerived(f"{part['passage_id']} is {label}, what it came from {since}")
    if given is not None and "rule" in given:
        # An expert's label follows from the aspects: they list the chunk that inherits it.
        is_listed = given["rule"] == "assigned" and (supporting or not part["carries"])
        found = derive(dict(given), is_listed, courses, split)
        if found is None:
            unverified += 1
        elif found != label:
            raise NotDerived(f"{part['passage_id']} says {label}, its evidence {found}")
    return base, label, unverified
