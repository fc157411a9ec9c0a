"""One trial: broken files in a folder, read to the end by a format's reader."""

import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from types import FrameType

from corpus.importers.archive import BadArchive, unpack
from corpus.importers.formats import FORMATS, RUN_FORMATS
from tests.fuzz.mutate import broken
from tests.fuzz.samples import SAMPLES, zipped

NAMES = [*SAMPLES, "zip"]
READERS = {name: each.read for name, each in {**FORMATS, **RUN_FORMATS}.items()}
_MOST_SECONDS = 20
_MOST_BYTES = 8 << 20
# No reader gets to yield more than this from a megabyte of file.
_MOST_ROWS = 2_000_000


class TooSlowError(Exception):
    """A reader did not end in time."""


def files_of(name: str, rng: Random) -> dict[str, bytes]:
    """A sample of the format with at least one file of it broken."""
    if name == "zip":
        sample = rng.choice(SAMPLES[rng.choice(list(SAMPLES))])
        return {"a.zip": broken(zipped(sample), rng)}
    files = dict(rng.choice(SAMPLES[name]))
    for each in rng.sample(list(files), rng.randint(1, len(files))):
        files[each] = broken(files[each], rng)
    return files


def run(name: str, files: Mapping[str, bytes]) -> int:
    """Read the files to the end; the number of rows. Whatever is raised is a finding."""
    with tempfile.TemporaryDirectory() as folder, _in_time():
        root = Path(folder)
        write(root, files)
        if name == "zip":
            return _unpack(root)
        return sum(1 for _ in islice(READERS[name](root), _MOST_ROWS))


def write(root: Path, files: Mapping[str, bytes]) -> None:
    """The files under the folder."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def _unpack(root: Path) -> int:
    target = root / "target"
    target.mkdir()
    try:
        found = unpack(root / "a.zip", target, most_bytes=_MOST_BYTES)
    except BadArchive:
        return 0
    assert {each.name for each in root.iterdir()} == {"a.zip", "target"}
    return sum(sum(1 for _ in read(found)) for read in READERS.values())


@contextmanager
def _in_time() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"not done after {_MOST_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
