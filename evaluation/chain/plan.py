"""Plans of a chain: steps in their order, read from TOML or JSON. Pure: no database."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final

from corpus.pools.services import MAX_DEPTH
from evaluation.holes.next_labels import MOST as MOST_NEXT
from kit.errors import Refused


@dataclass(frozen=True)
class Spec:
    """A kind of step: what people call it, the settings that it takes besides `do` and
    `budget_usd`, the step that has to come before it, and whether it pays for calls."""

    label: str
    takes: str = ""
    needs: str = ""
    pays: bool = False

    @property
    def settings(self) -> list[str]:
        """The names of its settings."""
        return sorted(self.takes.split())


SPECS: Final[Mapping[str, Spec]] = {
    "clean": Spec(
        "Clean the corpus", "preset policy endpoint model name options current", pays=True
    ),
    "systems": Spec("Run the systems", "systems", pays=True),
    "expand": Spec("Word the queries anew", "endpoint method retriever name options", pays=True),
    "rerank": Spec("Rerank what they found", "endpoint method runs options", pays=True),
    "pipeline": Spec(
        "Run a version of DIVER",
        "preset retriever expander reranker profile depth repeats skip_probe name",
        pays=True,
    ),
    "pool": Spec("Pool what they found", "runs depth name aspects"),
    "filter": Spec("Filter the pool", "endpoint settings", "pool", pays=True),
    "debate": Spec("Debate the pairs", "endpoint preset settings adopt", "pool", pays=True),
    "people": Spec("People decide disputes", needs="debate"),
    "holes": Spec("Look for what is missing", "next name"),
    "aspects": Spec("Experts write aspects", "share"),
    "review": Spec("Second reviews", "share"),
    "references": Spec("Write reference answers", "endpoint domain again", pays=True),
    "agents": Spec("Search agents", "endpoint runs rounds repetitions domain sample", pays=True),
    "judge": Spec("Judge their answers", "endpoint mode repetitions", "agents", pays=True),
    "answers": Spec(
        "Answer from what was found", "endpoint runs harness k baselines domain", pays=True
    ),
    "grade": Spec("Grade these answers", "endpoint profile", "answers", pays=True),
    "support": Spec("Judge citations", "endpoint of per_sentence", pays=True),
    "release": Spec("Release", "version final agreement_bar"),
}
# A pool may also be of the next labels.
_SERVE: Final[Mapping[str, set[str]]] = {"pool": {"holes"}}
MOST_STEPS: Final = 50
_MOST_WHOLE: Final = 10_000
_MOST_USD: Final = 1_000_000
DEFAULT: Final = """\
# From a noisy corpus to a release. Leave out what you do not need; the order is yours.

[[step]]
do = "clean"
preset = "diver_rules"      # or marcus, which asks models

[[step]]
do = "systems"
systems = [{ method = "bm25" }, { method = "tfidf" }]

[[step]]
do = "pool"
depth = 10

[[step]]
do = "debate"
# budget_usd = 10.0         # of this step alone

[[step]]
do = "people"               # waits until every dispute is decided

[[step]]
do = "agents"
rounds = 3

[[step]]
do = "judge"

[[step]]
do = "answers"
k = 10

[[step]]
do = "grade"

[[step]]
do = "release"
final = false
"""


@dataclass(frozen=True)
class PlannedStep:
    """One step: what it does, what it is told, and its own budget, None without one."""

    do: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget_usd: Decimal | None = None


def read_plan(text: str) -> list[PlannedStep]:
    """The steps of a plan in TOML: `[[step]]` with `do`, `budget_usd` and the step's settings.

    Raises Refused, naming the step by its number, for what cannot be carried out.
    """
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, endless lists
        raise Refused(f"The plan is no TOML: {error}.", field="plan") from None
    return checked(given)


def checked(given: Mapping[str, Any]) -> list[PlannedStep]:
    """The same of a plan that was read already, {"step": [{"do": ...}]}."""
    if unknown := sorted(set(given) - {"step"}):
        raise _refused(f"A plan holds steps alone, not {', '.join(unknown)}.")
    rows = given.get("step")
    if not isinstance(rows, list) or not rows:
        raise _refused("A plan needs at least one [[step]].")
    if len(rows) > MOST_STEPS:
        raise _refused(f"A plan has {MOST_STEPS} steps at most.")
    found: list[PlannedStep] = []
    for number, row in enumerate(rows, start=1):
        found.append(_step(f"Step {number}", row, {each.do for each in found}))
    return found


def _step(where: str, row: Any, before: set[str]) -> PlannedStep:
    if not isinstance(row, Mapping) or not isinstance(row.get("do"), str):
        raise _refused(f'{where} does not say what to do: do = "debate".')
    do = row["do"]
    if do not in SPECS:
        raise _refused(f"{where}: there is no step {do!r}. Steps are {', '.join(SPECS)}.")
    spec = SPECS[do]
    settings = {name: value for name, value in row.items() if name not in ("do", "budget_usd")}
    if unknown := sorted(set(settings) - set(spec.settings)):
        known = ", ".join(spec.settings) or "no settings"
        raise _refused(f"{where} ({do}) takes {known}, not {', '.join(unknown)}.")
    for name, value in settings.items():
        _check(f"{where} ({do})", name, value)
    if spec.needs and not before & ({spec.needs} | _SERVE.get(spec.needs, set())):
        raise _refused(f"{where} ({do}) needs a step “{spec.needs}” before it.")
    budget = row.get("budget_usd")
    if budget is not None and not spec.pays:
        raise _refused(f"{where} ({do}) asks no model, so it has no budget.")
    return PlannedStep(do, settings, _amount(where, budget))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_systems(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, Mapping)
        and all(isinstance(each.get(name, ""), str) for name in ("method", "name"))
        and _are_names(each.get("runs", []))
        for each in value
    )


# What a setting holds, wherever it stands: whether a value does, and in words.
_Holds = tuple[Callable[[Any], bool], str]
_WORDS: Final[_Holds] = (lambda value: isinstance(value, str), 'words in quotes, such as "bm25"')
_FLAG: Final[_Holds] = (lambda value: isinstance(value, bool), "true or false")
_NAMES: Final[_Holds] = (_are_names, 'a list of names, such as ["bm25"]')
_TABLE: Final[_Holds] = (lambda value: isinstance(value, Mapping), "a table, such as { k = 5 }")


def _whole(most: int = _MOST_WHOLE) -> _Holds:
    def is_whole(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most

    return is_whole, f"a whole number from 1 to {most:,}"


_HOLDS: Final[Mapping[str, _Holds]] = {
    "systems": (_are_systems, 'a list of tables, such as [{ method = "bm25" }]; runs are names'),
    "runs": _NAMES,
    "share": (lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"),
    "agreement_bar": (_is_number, "a number"),
    **dict.fromkeys(("settings", "options"), _TABLE),
    "depth": _whole(MAX_DEPTH),
    "next": _whole(MOST_NEXT),
    **dict.fromkeys(("k", "rounds", "repetitions", "repeats", "per_sentence"), _whole()),
    **dict.fromkeys(
        ("current", "adopt", "sample", "baselines", "final", "again", "aspects", "skip_probe"),
        _FLAG,
    ),
}


def _check(where: str, name: str, value: Any) -> None:
    """Raises Refused for a value of another kind than the setting's; most are words."""
    holds, words = _HOLDS.get(name, _WORDS)
    if not holds(value):
        raise _refused(f"{where}: {name} is {words}.")


def _amount(where: str, value: Any) -> Decimal | None:
    if value is None:
        return None
    try:
        amount = Decimal("NaN") if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= _MOST_USD or amount != round(amount, 2):
        raise _refused(f"{where}: budget_usd is dollars and cents, such as 2.50.")
    return amount


def _refused(message: str) -> Refused:
    return Refused(message, field="plan")
