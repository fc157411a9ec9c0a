"""Break files until the time is over: `python -m tests.fuzz --seconds 60 [--format NAME]`.

Every trial has a seed; one that fails is printed with it, its files are kept, and
`--format NAME --seed N --trials 1` runs it again.
"""

import argparse
import sys
import tempfile
import time
import traceback
from itertools import count, islice
from pathlib import Path
from random import Random

from tests.fuzz.trial import NAMES, files_of, run, write


def main() -> int:
    """Exit code 1 if anything was found."""
    options = _options()
    names = [options.format] if options.format else NAMES
    end = time.monotonic() + options.seconds
    found = trials = rows = 0
    _say(f"Breaking files of {', '.join(names)} from seed {options.seed} on.")
    for seed in islice(count(options.seed), options.trials):
        if time.monotonic() >= end or found >= options.most:
            break
        for name in names:
            trials += 1
            files = files_of(name, Random(f"{name} {seed}"))
            try:
                rows += run(name, files)
            except Exception:
                found += 1
                _report(name, seed, files)
    _say(f"{trials:,} trials, {rows:,} rows, {found} findings.")
    return 1 if found else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _report(name: str, seed: int, files: dict[str, bytes]) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-{seed}-"))
    write(folder, files)
    _say(f"\n{name}, seed {seed}; the files are in {folder}")
    traceback.print_exc(file=sys.stdout)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--format", choices=NAMES, help="this format only")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; else the clock's")
    parser.add_argument("--trials", type=int, default=None, help="stop after so many seeds")
    parser.add_argument("--most", type=int, default=5, help="stop after so many findings")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = time.time_ns() % 1_000_000_000
    return options


if __name__ == "__main__":
    sys.exit(main())
