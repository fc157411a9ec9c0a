"""Reading the chunks out of a splitter's reply (docs/protocol.md 4.4)."""

import re
from dataclasses import dataclass
from typing import Final

_LABEL: Final = re.compile(
    r"^[^\S\n]*+[*#_ \t]*+chunk\s+([A-Z]{1,2})[*_ \t]*:[*_]*", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Chunks:
    """The texts in order; `flags` name what was odd: unlabelled, renumbered, preamble, empty."""

    texts: tuple[str, ...]
    flags: tuple[str, ...] = ()


def read_chunks(reply: str, *, source: str = "") -> Chunks:
    """The chunks of a reply, labelled `Chunk A:`, `CHUNK B:`, `**Chunk C**:` and so on.

    Without a label the whole reply is one chunk. Labels out of order or repeated count by their
    places. Text before the first label belongs to it if it stands in `source`, else it is
    dropped; so are empty chunks.
    """
    found = list(_LABEL.finditer(reply))
    if not found:
        whole = reply.strip()
        return Chunks((whole,) if whole else (), ("unlabelled",) if whole else ("empty",))
    flags = []
    names = [match[1].upper() for match in found]
    if names != [label(n) for n in range(len(names))]:
        flags.append("renumbered")
    ends = [match.start() for match in found[1:]] + [len(reply)]
    texts = [reply[m.end() : end].strip() for m, end in zip(found, ends, strict=True)]
    preamble = reply[: found[0].start()].strip()
    if preamble:
        flags.append("preamble")
        if " ".join(preamble.split()) in " ".join(source.split()):
            texts[0] = f"{preamble}\n{texts[0]}"
    kept = tuple(text for text in texts if text)
    if len(kept) < len(texts):
        flags.append("empty")
    return Chunks(kept, tuple(flags))


def label(number: int) -> str:
    """The label of the chunk at that place from 0: A to Z, AA, AB and so on."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
