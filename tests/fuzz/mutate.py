"""Breaking bytes: small damage that keeps most of a file sound, so that readers get far into it."""

import gzip
import zlib
from random import Random

# What readers have special eyes for.
WORDS = [
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\t", b" ", b'"', b"\\", b"\\ud800",
    b"\\u0000", b"{", b"}", b"[", b"]", b":", b",", b"null", b"NaN", b"1e999", b"-1", b"true",
    b"9" * 40, b'""',
    b'"id":1,', b"N/A", b"<top>", b"</top>", b"<DOC>", b"</DOC>", b"<TEXT>", b"</TEXT>", b"<num>",
    b"<", b">", b".I 3", b".W", b"#", b"Q0", b"[" * 3000, b"\x1f\x8b", b"PK\x03\x04", b"PAR1",
    "\u2028\u0130\ufeff".encode(),
]  # fmt: skip


def broken(content: bytes, rng: Random) -> bytes:
    """The content with one to five damages; a gzip file is damaged inside half of the time."""
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.5:
        return gzip.compress(broken(_unzipped(content), rng))
    for _ in range(rng.randint(1, 5)):
        content = rng.choice(_DAMAGES)(content, rng)
    return content[: 1 << 20]


def _unzipped(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return content


def _flip(content: bytes, rng: Random) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def _insert(content: bytes, rng: Random) -> bytes:
    at = rng.randint(0, len(content))
    return content[:at] + rng.choice(WORDS) + content[at:]


def _cut(content: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randint(0, len(content)) for _ in range(2))
    return content[:start] + content[end:]


def _end_early(content: bytes, rng: Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def _repeat(content: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randint(0, len(content)) for _ in range(2))
    times = rng.choice((2, 2, 3, 50))
    return content[:start] + content[start:end] * times + content[end:]


def _swap_lines(content: bytes, rng: Random) -> bytes:
    rows = content.split(b"\n")
    rng.shuffle(rows)
    return b"\n".join(rows)


_DAMAGES = (_flip, _insert, _insert, _cut, _end_early, _repeat, _swap_lines)
