"""Where each label comes from, without the people: one JSON line per label (docs/protocol.md 2.7).

What is let through is listed, because a list of what is kept back forgets the next key that
names a person.
"""

import re
from typing import Any

# Keys that may have words of our own making: codes, hashes, model names.
WORDS = frozenset(
    {
        "aspect",
        "kind",
        "model",
        "models",
        "origin",
        "prompt_sha256",
        "reason",
        "rule",
        "status",
        "tie_break",
    }
)
# Keys that may have numbers, lists of them, and objects under the same rule.
NUMBERS = frozenset(
    {
        "audit",
        "case",
        "debate",
        "guideline_version",
        "label",
        "probability",
        "prompt_version",
        "restored",
        "round",
        "rounds",
        "run",
        "scores",
        "share",
        "threshold",
        "votes",
    }
)
# A code, never a sentence that somebody typed.
CODE = re.compile(r"[\w.:/+@-]{1,200}")


def provenance_row(
    qid: str,
    pid: str,
    label: int,
    source: str,
    status: str,
    round_number: int | None,
    practice: bool,
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """One line of `provenance/{split}.jsonl`."""
    return {
        "query_id": qid,
        "passage_id": pid,
        "label": label,
        "source": source,
        "status": status,
        "round": round_number,
        "practice": practice,
        "provenance": without_people(provenance),
    }


def without_people(value: dict[str, Any]) -> dict[str, Any]:
    """The listed keys in sorted order whose values are codes or numbers, at every depth."""
    kept = {key: value[key] for key in sorted(value) if key in WORDS | NUMBERS}
    return {key: _clean(each) for key, each in kept.items() if _is_clean(each, key in WORDS)}


def _is_clean(value: Any, words: bool) -> bool:
    if isinstance(value, list):
        return all(_is_clean(each, words) for each in value)
    if isinstance(value, str):
        return words and CODE.fullmatch(value) is not None
    return value is None or isinstance(value, bool | int | float | dict)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return without_people(value)
    return [_clean(each) for each in value] if isinstance(value, list) else value
