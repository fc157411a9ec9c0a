"""What the practice model says for itself: short reasons that name what it found and missed.

Every reason says "is covered" or "is not covered", so that a history without labels can be read.
"""

from collections.abc import Sequence
from hashlib import sha256

_MOST_WORDS = 3

YES_FIRST = (
    "The words that carry answer ({n}) stand in the passage: {found}. {leftover} "
    "So answer ({n}) is covered.",
    "Read for its sense, the passage says it: {found}. {leftover} Answer ({n}) is covered.",
)
NO_FIRST = (
    "The passage speaks of {found} but not of {missing}. A reader would have to guess the rest, "
    "so answer ({n}) is not covered.",
    "I looked for {missing} and met only {found}. That is the topic and not the claim: "
    "answer ({n}) is not covered.",
)
NOTHING_FOUND = (
    "The passage is about something else. I find no word of answer ({n}) in it, "
    "not even {missing}. It is not covered.",
)
YES_KEPT = (
    "{other} asks for {missing}. The sentence I quote gives {found}, and with that the substance "
    "of answer ({n}): it is covered.",
    "I stay with my view. What {other} wants to see, {missing}, is a matter of wording; with "
    "{found} the claim is made, and answer ({n}) is covered.",
)
NO_KEPT = (
    "{other} points to {found}, and that much is there. What is left out, {missing}, belongs to "
    "the claim, so answer ({n}) is not covered.",
    "I read the quotation of {other} again. It gives {found}, yet nothing of {missing}. "
    "Part of a claim is not the claim: answer ({n}) is not covered.",
)
YES_CHANGED = (
    "{other} has convinced me: the passage gives {found}. What I asked for, {missing}, is a "
    "matter of wording, so answer ({n}) is covered.",
)
NO_CHANGED = (
    "{other} is right: without {missing} the passage gives the topic ({found}) and not the "
    "claim. I withdraw my first view; answer ({n}) is not covered.",
)
YES_AGREED = ("{other} and I agree: with {found} in the passage, answer ({n}) is covered.",)
NO_AGREED = ("{other} and I agree: without {missing} answer ({n}) is not covered.",)


def reason(
    verdict: bool,
    *,
    first: bool,
    kept: bool,
    agreed: bool,
    number: int,
    found: Sequence[str],
    missing: Sequence[str],
    others: Sequence[str],
    seed: str,
) -> str:
    """A few sentences, well under 100 words; `seed` picks among wordings, always alike.

    `kept` says that the verdict is the agent's last one, `agreed` that the others share it.
    """
    wordings = _wordings(verdict, first=first, kept=kept, agreed=agreed, found=bool(found))
    wording = wordings[sha256(seed.encode("utf-8", "replace")).digest()[0] % len(wordings)]
    return wording.format(
        n=number,
        found=_listed(found) or "nothing of it",
        missing=_listed(missing) or "the very words",
        leftover=_leftover(missing),
        other=_names(others),
    )


def _wordings(
    verdict: bool, *, first: bool, kept: bool, agreed: bool, found: bool
) -> tuple[str, ...]:
    if first and not found and not verdict:
        return NOTHING_FOUND
    if first:
        return YES_FIRST if verdict else NO_FIRST
    if kept and agreed:
        return YES_AGREED if verdict else NO_AGREED
    if kept:
        return YES_KEPT if verdict else NO_KEPT
    return YES_CHANGED if verdict else NO_CHANGED


def _leftover(missing: Sequence[str]) -> str:
    if not missing:
        return "Nothing of it is left out."
    return f"I do not find {_listed(missing)}, but the meaning does not hang on that."


def _listed(words: Sequence[str]) -> str:
    shown = [f'"{word[:40]}"' for word in words[:_MOST_WORDS]]
    more = len(words) - len(shown)
    return _joined([*shown, f"{more} more"] if more else shown)


def _names(others: Sequence[str]) -> str:
    return _joined(others[:_MOST_WORDS]) or "The other side"


def _joined(parts: Sequence[str]) -> str:
    *most, last = parts or [""]
    return f"{', '.join(most)} and {last}" if most else last
