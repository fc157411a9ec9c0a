"""Calls that brought no answer: who is to blame, and what people are told.

The words name the endpoint and never where it listens or with which key: they are stored in
rows and shown on screens.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final
from urllib.parse import urlsplit

from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, Outage

# Names of schemes and hosts are short: nobody looks further than that from each of their letters.
_ADDRESS: Final = re.compile(
    r"\w{1,40}://\S+|\[(?=[0-9a-f]*:)[0-9a-f:]*+\](:\d+)?|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?"
    r"|\blocalhost(:\d+)?|\b[a-z][\w.-]{0,252}+:\d{2,5}\b",
    re.IGNORECASE,
)
# With their prefixes, or half hidden as endpoints quote them back; "key provided" is none.
_KEY: Final = re.compile(
    r"\b((sk|pk|key|bearer)[-_]|(sk|pk|bearer) |key (?=[\w.*-]{0,200}[\d*]))[\w.*-]{6,}"
    r"|(?<![\w-])[\w-]*+\*{3,}[\w*-]*",
    re.IGNORECASE,
)
# A debate that failed although nothing was asked.
NO_TEXT_CLASS: Final = "no_text"


class Blame(Enum):
    """What a failed call says about the calls after it, from the passing to the lasting."""

    OUTAGE = auto()  # the endpoint gave this request no answer, however often it was asked
    PAIR = auto()  # the endpoint answers, and refuses this request
    SETUP = auto()  # every request will be refused until somebody mends the settings
    AWAY = auto()  # the endpoint answers nobody: the pair has no part in it
    BUDGET = auto()  # the money is used up: the pair has no part in it


# The item goes on waiting, and the run waits with it for a person.
HALTS: Final = frozenset({Blame.AWAY, Blame.BUDGET, Blame.SETUP})


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a debate failed; `was_taken` says whether the endpoint may have had the request."""

    blame: Blame
    words: str
    was_taken: bool = True
    error_class: str = ""
    is_refusal: bool = False


class CannotGoOn(Exception):
    """The run has to stop with these words; its unfinished pairs keep waiting.

    `pauses`: nothing has to be mended here, it can be resumed later as it is.
    """

    def __init__(self, words: str, *, pauses: bool = False) -> None:
        super().__init__(words)
        self.pauses = pauses


def worst(errors: Sequence[LLMError]) -> LLMError:
    """Of the errors of one debate the one that decides: the most lasting."""
    return max(errors, key=lambda error: blame(error).value)


def read_failure(errors: Sequence[LLMError], *, endpoint: Endpoint, model: str) -> Failure | None:
    """The failure that the calls of one debate come to: of several the most lasting one."""
    if not errors:
        return None
    error = worst(errors)
    return Failure(
        blame(error),
        in_words(error, endpoint=endpoint, model=model),
        was_taken=any(each.maybe_paid for each in errors),
        error_class=error.error_class.value,
        is_refusal=isinstance(error, Outage) and error.refusals > 0,
    )


def blame(error: LLMError) -> Blame:
    """Whether this request, this hour, the settings or the money are at fault."""
    if error.error_class is ErrorClass.BUDGET:
        return Blame.BUDGET
    if isinstance(error, Outage):
        return Blame.AWAY
    if not error.permanent:
        return Blame.OUTAGE
    return Blame.SETUP if error.error_class is ErrorClass.SETUP else Blame.PAIR


def in_words(error: LLMError, *, endpoint: Endpoint, model: str) -> str:
    """The error for people, without address or key."""
    name = f"The endpoint “{endpoint.name}”"
    match blame(error):
        case Blame.BUDGET:
            return error.message
        case Blame.SETUP:
            return _setup_words(name, error.status, model, without_secrets(error.message, endpoint))
        case Blame.PAIR if error.error_class is ErrorClass.REFUSAL:
            said = without_secrets(error.message, endpoint)
            return f"The model “{model}” would not answer: {said}"
        case Blame.PAIR if error.error_class is ErrorClass.CUT_OFF:
            return error.message
        case Blame.PAIR:
            return f"{name} refused this request: {without_secrets(error.message, endpoint)}"
    if isinstance(error, Outage) and error.refusals:
        said = without_secrets(error.message, endpoint)
        return f"{name} refused {error.refusals} requests in a row, at last with: {said}"
    if error.status:
        return f"{name} answered HTTP {error.status}."
    if error.error_class is ErrorClass.TIMEOUT:
        return f"{name} gave no answer in time."
    if not error.maybe_paid and error.error_class is ErrorClass.CONNECTION:
        return f"{name} cannot be reached."
    return f"{name} gave no usable answer."


def without_secrets(message: str, endpoint: Endpoint) -> str:
    """The message without whatever looks like an address or a key."""
    host = urlsplit(endpoint.base_url).hostname or ""
    for secret, name in ((endpoint.api_key, "[key]"), (endpoint.base_url, "[address]")):
        message = message.replace(secret, name) if secret else message
    message = _KEY.sub("[key]", _ADDRESS.sub("[address]", message))
    return re.sub(re.escape(host), "[address]", message, flags=re.IGNORECASE) if host else message


def _setup_words(name: str, status: int | None, model: str, said: str) -> str:
    unknown = f"knows no model “{model}”, or its address is wrong"
    paid = "asks for payment: its quota or credit is used up"
    # A 400 is counted among these only where it says that there is no such model.
    why = {400: unknown, 402: paid, 404: unknown, 429: paid}.get(status or 0, "refuses the key")
    said = said.removeprefix(f"HTTP {status}: ").rstrip(".")
    return f"{name} {why} (HTTP {status}: {said}). Mend the settings, then resume the run."
