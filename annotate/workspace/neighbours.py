"""Passages of one page that touch or overlap (Bright-Pro's reconciling of old positives). Pure."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from corpus.marcus.following import ENDED, overlap
from corpus.marcus.parts import page_of


@dataclass(frozen=True)
class Piece:
    """A passage on a page: [start, end) of its text where known, else the number in its id.

    `is_numbered`: ids of its corpus version number the pieces of pages, and its page is one.
    `aspect` is the one that it supports, None where nobody has said.
    """

    pk: int
    pid: str
    text: str
    page: Hashable | None = None
    start: int | None = None
    end: int | None = None
    aspect: int | None = None
    is_numbered: bool = True

    @property
    def number(self) -> int | None:
        """Its place among the page's passages, as its id says."""
        page, number = page_of(self.pid)
        return number if self.is_numbered and page != self.pid else None

    @property
    def key(self) -> Hashable | None:
        """What pieces of one page have in common; None where no page is known."""
        if self.page is not None:
            return self.page
        return None if self.number is None else page_of(self.pid)[0]


def groups(pieces: Iterable[Piece], pages: Mapping[Hashable, str]) -> list[list[Piece]]:
    """Runs of two or more pieces of one page, each touching or overlapping the one before.

    No run has pieces of two aspects.
    `pages` gives the texts of pages that are known, to see whether only blanks lie between.
    """
    of_page: dict[Hashable, list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.key is not None:
            of_page[piece.key].append(piece)
    found = []
    for key, members in of_page.items():
        runs: list[list[Piece]] = []
        before: Piece | None = None
        aspect: int | None = None
        for piece in sorted(members, key=_order):
            is_other = None not in (aspect, piece.aspect) and aspect != piece.aspect
            touches = before is not None and _touches(before, piece, pages.get(key, ""))
            aspect = piece.aspect if is_other or not touches else aspect or piece.aspect
            if before is not None and touches and not is_other:
                runs[-1].append(piece)
                # The one that reaches furthest: a short piece may lie wholly inside a long one.
                before = max(before, piece, key=_reach)
            else:
                runs.append([piece])
                before = piece
        found += [run for run in runs if len(run) > 1]
    return found


def joined(pieces: Sequence[Piece]) -> str:
    """The texts of a run as one, what both of two neighbours hold only once."""
    whole = ""
    for piece in sorted(pieces, key=_order):
        text = piece.text.strip()
        if not whole or text in whole:
            whole = whole or text
            continue
        shared = overlap(whole, text)
        if shared:
            whole += text[shared:]
        else:
            # What ends without a stop was cut in the middle of a sentence.
            whole += ("\n\n" if whole.endswith(ENDED) else " ") + text
    return whole


def _touches(before: Piece, piece: Piece, page: str) -> bool:
    if before.end is not None and piece.start is not None:
        return piece.start <= before.end or not page[before.end : piece.start].strip()
    if overlap(before.text, piece.text):
        return True
    one, other = before.number, piece.number
    return one is not None and other is not None and other - one == 1


def _reach(piece: Piece) -> tuple[int, int]:
    return piece.end or -1, piece.number or -1


def _order(piece: Piece) -> tuple[int, int, int]:
    first = piece.start if piece.start is not None else -1
    return (first, piece.number if piece.number is not None else -1, piece.pk)
