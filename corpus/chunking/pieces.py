"""Cutting by size alone."""

FIXED_TOKENS = 512


def cut_fixed(text: str, *, most: int = FIXED_TOKENS) -> list[str]:
    """Pieces of at most `most` words, cut at line ends (MARCUS-C, docs/protocol.md 4.6).

    A longer line is cut between words. Where the paper truncates, nothing is dropped here.
    """
    pieces: list[str] = []
    current: list[str] = []
    size = 0
    for line in text.split("\n"):
        words = len(line.split())
        if current and size + words > most:
            pieces.append("\n".join(current))
            current, size = [], 0
        if words > most:
            parts = line.split()
            pieces += [" ".join(parts[at : at + most]) for at in range(0, words, most)]
            continue
        current.append(line)
        size += words
    if current:
        pieces.append("\n".join(current))
    return [piece.strip() for piece in pieces if piece.strip()]
