"""Which request meets which fault: by name and by a seeded share, the same in every run. Pure."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

# Turned away before anything is charged.
REFUSALS: Final = frozenset({"429", "429-seconds", "429-date", "503", "refused"})
# Charged, and then no usable answer.
LOST: Final = frozenset({"500", "502", "hang", "cut", "proxy-page", "empty-choices"})
# Charged and answered, in a way that no customer likes.
ODD: Final = frozenset(
    {"drip", "truncated", "fenced", "doubled", "length", "content-filter", "no-usage"}
)
ALL: Final = REFUSALS | LOST | ODD
# A bad day: many kinds at once, all of which a patient customer gets over. A filtered answer is not
# among them: a refusal stands (a state of the pair) and is not asked again.
STORM: Final = (
    "429:.01,429-seconds:.002,429-date:.002,503:.01,500:.01,502:.01,cut:.01,proxy-page:.01,"
    "empty-choices:.01,truncated:.01,fenced:.05,length:.01,no-usage:.05"
)
_SCRIPTS: Final = {"plain": "", "storm": STORM}


@dataclass
class Plan:
    """Faults in the order they are tried, each for a share of all turns.

    A turn is a question without its repairs. It meets its fault the first `times` times that it
    is asked (0: every time); which turns do is decided by the seed and nothing else.
    """

    shares: dict[str, float]
    seed: int = 0
    times: int = 1
    _asked: Counter[str] = field(default_factory=Counter)

    @classmethod
    def parse(cls, script: str, *, seed: int = 0, times: int = 1) -> "Plan":
        """From "plain", "storm" or "NAME[:SHARE],..."; raises ValueError naming what is unknown."""
        shares: dict[str, float] = {}
        for part in filter(None, _SCRIPTS.get(script, script).split(",")):
            name, _, share = part.partition(":")
            if name not in ALL:
                raise ValueError(f"No fault is called {name!r}; known: {', '.join(sorted(ALL))}.")
            shares[name] = float(share or 1)
        return cls(shares, seed, times)

    def next(self, body: Mapping[str, Any]) -> str:
        """The fault that this request meets, "" for none; counts the request."""
        turn = turn_of(body)
        self._asked[turn] += 1
        if self.times and self._asked[turn] > self.times:
            return ""
        drawn = (name for name, share in self.shares.items() if self._draw(name, turn) < share)
        return next(drawn, "")

    def _draw(self, name: str, turn: str) -> float:
        """A number in [0, 1) that depends on seed, fault and turn alone."""
        digest = hashlib.sha256(f"{self.seed} {name} {turn}".encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48


def turn_of(body: Mapping[str, Any]) -> str:
    """The question up to its first user message: a repair belongs to the turn it repairs."""
    messages = body.get("messages") or []
    first = next((i for i, m in enumerate(messages) if m.get("role") == "user"), len(messages))
    return json.dumps([body.get("model"), messages[: first + 1]], sort_keys=True)
