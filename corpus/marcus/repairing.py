"""Putting back what a cleaner took from its source, and taking out what it put in."""

import re
from collections.abc import Collection, Sequence

from corpus.chunking.markup import Span, markup, without_markup
from corpus.marcus.verify import Piece, Verdict


def repair(
    source: str,
    output: str,
    verdict: Verdict,
    *,
    accepted: Collection[int] = (),
    cuts: Sequence[int] = (),
) -> list[str]:
    """The output with every violation undone but those accepted (their places among the pieces).

    The source's words are put in as they stand there, the rest of the output stays as it is.
    `cuts` are places in the output at which it is cut; the parts come back in order.
    """
    parts: list[list[str]] = [[]]
    tags = markup(source)
    pending = [*sorted(cuts), len(output) + 1]
    at = 0

    def copy(upto: int) -> None:
        nonlocal at
        while pending[0] <= upto and pending[0] >= at and pending[0] <= len(output):
            cut = pending.pop(0)
            parts[-1].append(output[at:cut])
            parts.append([])
            at = cut
        if at < upto:
            parts[-1].append(output[at:upto])
            at = upto

    undone = [
        piece
        for number, piece in enumerate(verdict.pieces)
        if piece.is_violation and number not in accepted
    ]
    for piece in sorted(undone, key=lambda each: (each.out_start, each.out_end, each.start)):
        copy(piece.out_start)
        if piece.start < piece.end:
            before = parts[-1][-1][-1:] if parts[-1] else output[at - 1 : at] if at else ""
            words = _put_in(source, output, piece, before, tags)
            parts[-1] += [words] if words else []
        at = max(at, piece.out_end)
    copy(len(output))
    return [_tidy("".join(part)) for part in parts]


def _put_in(source: str, output: str, piece: Piece, before: str, tags: Sequence[Span]) -> str:
    words = without_markup(source, tags, piece.start, piece.end)
    is_new = piece.out_start == piece.out_end
    lead = _gap_before(source, piece.start) if is_new else ""
    if not lead and before and not before.isspace() and not _touches(source, piece.start):
        lead = " "
    after = output[piece.out_end : piece.out_end + 1]
    tail = ""
    if after and not after.isspace() and not _touches(source, piece.end):
        match = re.compile(r"\s*").match(source, piece.end)
        tail = "\n" if "\n" in (match[0] if match else "") else " "
    return lead + words + tail


def _gap_before(source: str, start: int) -> str:
    """White space, markup and list marks right before a token."""
    at = start
    while (
        at
        and not source[at - 1].isalnum()
        and (source[at - 1].isspace() or source[at - 1] in "#>*-")
    ):
        at -= 1
    gap = source[at:start]
    return gap if not gap or gap[0].isspace() or at == 0 else gap.lstrip("#>*-")


def _touches(source: str, place: int) -> bool:
    """Whether two signs stand at this place without white space between them."""
    if not 0 < place < len(source):
        return False
    around = source[place - 1 : place + 1]
    return not any(char.isspace() or char in "<>" for char in around)


def _tidy(text: str) -> str:
    text = re.sub(r"(?<=\S) {2,}(?=\S)", " ", text)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<![ \t])[ \t]+\n", "\n", text)).strip()
