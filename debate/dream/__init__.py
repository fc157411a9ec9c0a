"""The two-agent debate of DREAM, pure: no Django, no network, no clock, no chance."""

from .asking import Answer, Asked, Steps, ask, fault
from .lineup import line_up, seat_adjudicator
from .prompting import adjudication_prompt, default_prompt, load_prompt
from .protocol import Debate, debate
from .requests import TurnRequest
from .types import (
    MAX_AGENTS,
    MAX_ROUNDS,
    NO_STANCE,
    Agent,
    Config,
    Label,
    Pair,
    Quote,
    Response,
    Stance,
    Status,
    Turn,
    Verdict,
)

__all__ = [
    "MAX_AGENTS",
    "MAX_ROUNDS",
    "NO_STANCE",
    "Agent",
    "Answer",
    "Asked",
    "Config",
    "Debate",
    "Label",
    "Pair",
    "Quote",
    "Response",
    "Stance",
    "Status",
    "Steps",
    "Turn",
    "TurnRequest",
    "Verdict",
    "adjudication_prompt",
    "ask",
    "debate",
    "default_prompt",
    "fault",
    "line_up",
    "load_prompt",
    "seat_adjudicator",
]
