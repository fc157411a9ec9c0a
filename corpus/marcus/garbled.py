"""Characters that came broken, and whether a replacement only mends them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

# U+FFFD, control characters of the C1 range, UTF-8 read as Latin-1, a question mark in a word.
_BROKEN: Final = re.compile(
    r"(?:[\ufffd\u0080-\u009f]|â€[™œž˜¦“”\u009d\u0080-\u00bf]?|[ÃÂ][\u0080-\u00bf‚„…†‡ˆ‰Š‹ŒŽ•–—˜™š›œžŸ]|"
    r"(?<=[^\W\d_])\?(?=[^\W\d_]))+"
)
_MOST_PER_STRETCH: Final = 3
# Places that the text before may reach: words have a few, and more say nothing any more.
_MOST_PLACES: Final = 32
_BLANKS: Final = re.compile(r"\s+")


def is_repair(source: str, start: int, end: int, output: str) -> bool:
    """Whether `output` is source[start:end] with nothing but its broken characters replaced.

    A broken stretch may become up to three characters, or none; the rest must be there letter by
    letter.
    """
    piece = source[start:end]
    broken = list(_BROKEN.finditer(source, max(0, start - 1), min(len(source), end + 1)))
    inside = [m for m in broken if m.start() >= start and m.end() <= end]
    if not inside or _BROKEN.search(output):
        return False
    if _as_utf8(piece) == output:
        return True
    parts, at = [], start
    for match in inside:
        parts.append(_BLANKS.sub(" ", source[at : match.start()]))
        at = match.end()
    return _fits([*parts, _BLANKS.sub(" ", source[at:end])], output)


def _fits(parts: Sequence[str], given: str) -> bool:
    """Whether the output is these parts with a few signs, or none, between each two of them.

    All places that each part may end at are kept side by side: a pattern would try them one by one
    for every place of the part before.
    """
    # More than one blank as a line break: what stood alone between two may have left both.
    marked = _BLANKS.sub(lambda run: " " if len(run[0]) == 1 else "\n", given)
    output = marked.replace("\n", " ")
    places = {len(parts[0])} if output.startswith(parts[0]) else set()
    for before, part in pairwise(parts):
        reached = {
            place + more
            for place in places
            for more in range(_MOST_PER_STRETCH + 1)
            if " " not in output[place : place + more]
        }
        if part.startswith(" ") and before.strip():
            reached |= {place - 1 for place in places if marked[place - 1 : place] == "\n"}
        places = {place + len(part) for place in reached if output.startswith(part, place)}
        if len(places) > _MOST_PLACES:
            return False
    return len(output) in places


def _as_utf8(text: str) -> str:
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return ""
