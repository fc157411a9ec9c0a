"""How long a zip's list of entries is, before anything reads the list into memory.

APPNOTE.TXT of the format, sections 4.3.14 to 4.3.16: the last record of the file states it.
"""

import struct
from pathlib import Path

_END = b"PK\x05\x06"
_LOCATOR = b"PK\x06\x07"
_END_64 = b"PK\x06\x06"
_END_SIZE, _LOCATOR_SIZE, _END_64_SIZE = 22, 20, 56
# The end record and the longest comment behind it.
_TAIL = _END_SIZE + 65535
_IN_END_64 = 0xFFFFFFFF


def directory_size(archive: Path) -> int:
    """Bytes of the list of entries as stated; 0 for a file that is no zip."""
    try:
        with archive.open("rb") as file:
            size = file.seek(0, 2)
            start = file.seek(max(0, size - _TAIL - _LOCATOR_SIZE))
            tail = file.read()
            found = tail.rfind(_END)
            if found < 0 or len(tail) < found + _END_SIZE:
                return 0
            stated = int(struct.unpack_from("<L", tail, found + 12)[0])
            locator = tail[max(0, found - _LOCATOR_SIZE) : found]
            if not locator.startswith(_LOCATOR) or len(locator) < _LOCATOR_SIZE:
                return stated
            # Readers believe the larger record where there is one, and look for it right before.
            places = struct.unpack_from("<Q", locator, 8)[0], start + found - 76
            return max(stated % _IN_END_64, *(_in_end_64(archive, each) for each in places))
    except OSError:
        return 0


def _in_end_64(archive: Path, offset: int) -> int:
    with archive.open("rb") as file:
        if not 0 <= offset <= archive.stat().st_size - _END_64_SIZE:
            return 0
        file.seek(offset)
        record = file.read(_END_64_SIZE)
    return int(struct.unpack_from("<Q", record, 40)[0]) if record.startswith(_END_64) else 0
