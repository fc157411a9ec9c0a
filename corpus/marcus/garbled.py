"""Characters that came broken, and whether a replacement only mends them."""

import re
from typing import Final

# U+FFFD, control characters of the C1 range, UTF-8 read as Latin-1, a question mark in a word.
_BROKEN: Final = re.compile(
    r"(?:[\ufffd\u0080-\u009f]|â€[™œž˜¦“”\u009d\u0080-\u00bf]?|[ÃÂ][\u0080-\u00bf‚„…†‡ˆ‰Š‹ŒŽ•–—˜™š›œžŸ]|"
    r"(?<=[^\W\d_])\?(?=[^\W\d_]))+"
)
_MOST_PER_STRETCH: Final = 3


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
        parts += [_literal(source[at : match.start()]), rf"[^\s]{{0,{_MOST_PER_STRETCH}}}"]
        at = match.end()
    parts.append(_literal(source[at:end]))
    return re.fullmatch("".join(parts), output, re.DOTALL) is not None


def _literal(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", text))


def _as_utf8(text: str) -> str:
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return ""
