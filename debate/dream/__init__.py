"""The two-agent debate of DREAM, pure: no Django, no network, no clock, no chance."""

from .asking import Answer, Question, Steps
from .prompting import adjudication_prompt, aspect_prompts, default_prompt, load_prompt
from .protocol import debate
from .types import (
    ADJUDICATOR,
    MAX_AGENTS,
    MAX_ROUNDS,
    NO_STANCE,
    Agent,
    Config,
    Pair,
    Quote,
    Turn,
    Verdict,
    line_up,
)
