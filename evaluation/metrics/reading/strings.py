"""JSON whose objects name nothing twice, read fast."""

from typing import Any

import numpy as np
import orjson

_BOM = b"\xef\xbb\xbf"
_QUOTE = ord('"')
_PART = 256 * 1024


def parsed(content: bytes) -> Any:
    """The value; raises orjson.JSONDecodeError."""
    return orjson.loads(content.removeprefix(_BOM))


def string_count(content: bytes) -> int:
    """How many texts valid JSON holds, names included.

    A parser that builds dicts drops a name that comes again; fewer texts in its result than here
    show it, at the cost of looking for a byte.
    """
    codes = np.frombuffer(content, np.uint8)
    # In parts that stay in the processor's cache; several times as fast as bytes.count.
    parts = (codes[start : start + _PART] for start in range(0, len(codes), _PART))
    quotes = sum(int(np.count_nonzero(part == _QUOTE)) for part in parts)
    if b"\\" in content:
        # Pairs of backslashes stand for themselves; what is left before a quote escapes it.
        quotes -= content.replace(b"\\\\", b"").count(b'\\"')
    return quotes // 2
