"""Who is asked in a cleaning: a model that a person chose, or those of the roles."""

from dataclasses import dataclass
from typing import Final

from corpus.models import CleaningPreset
from llm import endpoints
from llm.endpoints import Endpoint

# The role of each preset's model; the rules ask nobody.
_ROLES: Final = {
    CleaningPreset.MARCUS: "cleaner",
    CleaningPreset.MARCUS_C: "cleaner",
    CleaningPreset.MARCUS_S: "splitter",
    CleaningPreset.DCHUNK: "embedder",
}


@dataclass(frozen=True)
class Seats:
    """The run's endpoint with its model, and the splitter's where another one cuts."""

    endpoint: Endpoint | None
    model: str = ""
    splitter: Endpoint | None = None

    @property
    def is_practice(self) -> bool:
        """Whether any of them is the practice model."""
        return any(each.is_practice for each in (self.endpoint, self.splitter) if each)


def take_seats(preset: str, endpoint: Endpoint | None, model: str = "") -> Seats:
    """The chosen endpoint for every agent; without one, each role's own where any is set up."""
    role = _ROLES.get(CleaningPreset(preset)) if preset in CleaningPreset.values else None
    if role is None:
        return Seats(None)
    if endpoint is not None:
        return Seats(endpoint, model.strip() or endpoints.in_role(endpoint, role).default_model)
    if not by_role():
        return Seats(None)
    placed = endpoints.for_role(role)
    splitter = endpoints.named_for("splitter") if preset == CleaningPreset.MARCUS else None
    main = model.strip() or placed.default_model
    is_other = splitter and (splitter.name, splitter.default_model) != (placed.name, main)
    return Seats(placed, main, splitter if is_other else None)


def by_role() -> str:
    """The models that are asked without a chosen endpoint, in words; "" where no role has one."""
    mine = dict.fromkeys(_ROLES.values())
    if not endpoints.roles().keys() & mine.keys():
        return ""
    return ", ".join(f"{role} {endpoints.for_role(role).default_model}" for role in mine)
