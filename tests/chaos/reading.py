"""What the rules make of answers from the grammars: `python -m tests.chaos.reading`."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final

from debate.dream import Config, Pair, Verdict, debate, default_prompt, line_up
from debate.dream.turns import read_turn
from debate.dream.types import Turn
from tests.chaos.replies import Readable, readable, stream, unreadable

PAIR: Final = Pair(
    query="Why do moths circle lamps?",
    answers=("They roll their backs toward the light.",),
    passage="Moths roll. They keep their backs to the light, and so they fly loops.",
)
_SEAT: Final = ("model-1", "practice")
CONFIG: Final = Config(agents=line_up([_SEAT, _SEAT]), prompt=default_prompt())
_GOOD: Final = '{"reference": [], "reason": "So it reads.", "response": "yes"}'


def labels_from_unreadable(count: int, *, seed: int = 0) -> list[tuple[str, ...]]:
    """Hold debates over so many unreadable answers; those that got a label after all.

    In turn both agents cannot be read, twice each, and one cannot beside one who can.
    """
    answers = stream(unreadable, seed=seed, count=count)
    bad: list[tuple[str, ...]] = []
    number = 0
    while group := tuple(islice(answers, (4, 2)[number % 2])):
        is_both = number % 2 == 0
        verdict = _hold(_both(group) if is_both else _one(group))
        if (verdict.status, verdict.label, _labels(verdict)) != ("unreadable", None, not is_both):
            bad.append(group)
        number += 1
    return bad


def read_alone(count: int, *, seed: int = 0) -> list[str]:
    """Read so many unreadable answers as a turn; those that were read."""
    answers = stream(unreadable, seed=seed, count=count)
    return [text for text in answers if isinstance(_turn(text), Turn)]


def misread(count: int, *, seed: int = 0) -> list[Readable]:
    """Read so many readable answers; those that were not, or not as they were meant."""
    return [given for given in stream(readable, seed=seed, count=count) if not _is_right(given)]


def tally(count: int, *, seed: int = 0) -> Counter[str]:
    """How often each answer of the readable grammar says what, to see that it says both."""
    return Counter(given.response for given in stream(readable, seed=seed, count=count))


def _both(group: Sequence[str]) -> list[list[str]]:
    one, two, three, four = (*group, *group, *group, *group)[:4]
    return [[one, two], [three, four]]


def _one(group: Sequence[str]) -> list[list[str]]:
    return [[_GOOD, group[0]], [group[-1]]]


def _hold(script: list[list[str]]) -> Verdict:
    steps = iter(script)
    loop = debate(PAIR, CONFIG, b"a key for tests")
    try:
        next(loop)
        while True:
            loop.send(list(next(steps)))
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict


def _labels(verdict: Verdict) -> int:
    """Turns with a label."""
    return sum(turn.label is not None for turn in verdict.turns)


def _turn(text: str) -> object:
    return read_turn(text, PAIR, agent=CONFIG.agents[0], round=1)


def _is_right(given: Readable) -> bool:
    turn = _turn(given.text)
    return isinstance(turn, Turn) and (turn.response, turn.reason) == (given.response, given.reason)


def main() -> int:
    """Both grammars at their full number; exit code 1 if anything was read wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.reading", description=__doc__)
    parser.add_argument("--unreadable", type=int, default=50_000)
    parser.add_argument("--readable", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    bad = labels_from_unreadable(options.unreadable, seed=options.seed)
    wrong = misread(options.readable, seed=options.seed)
    sys.stdout.write(
        f"{options.unreadable:,} unreadable answers: {len(bad)} labels\n"
        f"{options.readable:,} readable answers: {len(wrong)} read wrong\n"
    )
    for shown in [*bad[:5], *wrong[:5]]:
        sys.stdout.write(f"{shown!r}\n")
    return 1 if bad or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
