"""Break files until the time is over: `python -m tests.fuzz --seconds 60 [--format NAME]`.

Every trial has a seed; one that fails is printed with it, its files are kept, and
`--format NAME --seed N --trials 1` runs it again.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.trial import NAMES, files_of, run, write

# What is counted, in memory that the trials' process shares.
_DONE, _ROWS, _FOUND = range(3)


def main() -> int:
    """Exit code 1 if anything was found."""
    options = _options()
    names = [options.format] if options.format else NAMES
    _say(f"Breaking files of {', '.join(names)} from seed {options.seed} on.")
    tally = multiprocessing.Array("q", 3, lock=False)
    end = time.monotonic() + options.seconds
    # In a process of their own: a parser that ends it is a finding, and the last trial is at fault.
    while _is_going_on(tally, names, options, end):
        child = multiprocessing.Process(target=_try, args=(tally, names, options, end))
        child.start()
        child.join()
        if child.exitcode:
            _report(*_trial(tally[_DONE], names, options), f"Ended with {child.exitcode}.\n")
            tally[_FOUND] += 1
            tally[_DONE] += 1
    _say(f"{tally[_DONE]:,} trials, {tally[_ROWS]:,} rows, {tally[_FOUND]} findings.")
    return 1 if tally[_FOUND] else 0


def _try(tally: Any, names: Sequence[str], options: argparse.Namespace, end: float) -> None:
    """Trials until there is no more time or enough was found."""
    while _is_going_on(tally, names, options, end):
        name, seed, files = _trial(tally[_DONE], names, options)
        try:
            tally[_ROWS] += run(name, files)
        except Exception:
            tally[_FOUND] += 1
            _report(name, seed, files, traceback.format_exc())
        tally[_DONE] += 1


def _is_going_on(tally: Any, names: Sequence[str], options: argparse.Namespace, end: float) -> bool:
    return (
        time.monotonic() < end
        and tally[_FOUND] < options.most
        and (options.trials is None or tally[_DONE] < options.trials * len(names))
    )


def _trial(
    number: int, names: Sequence[str], options: argparse.Namespace
) -> tuple[str, int, dict[str, bytes]]:
    """The format, the seed and the broken files: each seed breaks one sample of every format."""
    seed, name = options.seed + number // len(names), names[number % len(names)]
    return name, seed, files_of(name, Random(f"{name} {seed}"))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _report(name: str, seed: int, files: dict[str, bytes], why: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-{seed}-"))
    write(folder, files)
    _say(f"\n{name}, seed {seed}; the files are in {folder}")
    _say(why)


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
