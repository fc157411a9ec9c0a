"""The two-agent debate of DREAM, pure: no Django, no network, no clock, no chance."""

from .asking import Answer, Question, Steps, ask, fault
from .prompting import adjudication_prompt, default_prompt, load_prompt
from .protocol import debate
from .types import (
    ADJUDICATOR,
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
    line_up,
)

__all__ = [
    "ADJUDICATOR",
    "MAX_AGENTS",
    "MAX_ROUNDS",
    "NO_STANCE",
    "Agent",
    "Answer",
    "Config",
    "Label",
    "Pair",
    "Question",
    "Quote",
    "Response",
    "Stance",
    "Status",
    "Steps",
    "Turn",
    "Verdict",
    "adjudication_prompt",
    "ask",
    "debate",
    "default_prompt",
    "fault",
    "line_up",
    "load_prompt",
]
