"""How a cleaning is set up: presets, policies, and what the agents are asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from llm.prompts import PromptTemplate
from llm.requests import object_schema

SAFE_CLEAN: Final = "safe_clean"
FAST_CLEAN: Final = "fast_clean"
SPLITTER: Final = "splitter"
# The agents of each preset (docs/protocol.md 4.6 and 5.1); the two by rules have none.
AGENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "marcus": (SAFE_CLEAN, FAST_CLEAN, SPLITTER),
    "marcus_c": (SAFE_CLEAN, FAST_CLEAN),
    "marcus_s": (SPLITTER,),
    "diver_rules": (),
    "dchunk": (),
}
SCHEMA: Final = object_schema(text={"type": "string"})
WINDOW_TOKENS: Final = 6000
FIXED_TOKENS: Final = 512
ASK_FROM: Final = 25


@dataclass(frozen=True)
class Settings:
    """One run's agents. `window` bounds what is sent at once, in tokens of about four letters."""

    preset: str
    # What is done where an agent changed gold text: repair, original, or person.
    policy: str = "repair"
    endpoint: str = ""
    model: str = ""
    temperature: float = 0.0
    reasoning_effort: str = ""
    site: str = "the web"
    window: int = WINDOW_TOKENS
    fixed: int = FIXED_TOKENS
    single_span: bool = False
    # Words of gold left out in one go about which a person is asked; fewer are put back.
    ask_from: int = 0
    prompts: Mapping[str, PromptTemplate] = field(default_factory=dict)
    # Endpoint and model of the splitter, where it is another one.
    splitter: tuple[str, str] | None = None

    def asked_of(self, role: str) -> tuple[str, str]:
        """Endpoint and model that are asked in this role."""
        own = self.splitter if role == SPLITTER else None
        return own or (self.endpoint, self.model)

    @property
    def cleans(self) -> bool:
        """Whether texts are cleaned by agents."""
        return SAFE_CLEAN in AGENTS[self.preset]

    @property
    def splits(self) -> bool:
        """Whether the splitter cuts them."""
        return SPLITTER in AGENTS[self.preset]
