"""What can go wrong with a call, and its words for people.

The words name the endpoint and never where it listens or with which key: they are stored in rows
and shown on screens.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Final

from llm.endpoints import Endpoint


class ErrorClass(StrEnum):
    """Kinds of failure that are counted, waited for and tried again apart from each other."""

    RATE_LIMIT = "rate_limit"  # 429: too much at a time
    SERVER = "server"  # 5xx: the endpoint is in trouble
    CONNECTION = "connection"  # not reached, or the line broke
    TIMEOUT = "timeout"  # no answer within the deadline
    BAD_ANSWER = "bad_answer"  # 200, but no chat completion
    SETUP = "setup"  # key, account, model or address: every request will fail so
    REFUSED = "refused"  # this request will fail every time
    REFUSAL = "refusal"  # the model, or a filter before or behind it, would not answer
    CUT_OFF = "cut_off"  # the answer does not fit into its longest length
    BUDGET = "budget"  # the next call does not fit into what is left
    CALLED_OFF = "called_off"  # ended by ourselves


_OF_STATUS = {None: ErrorClass.CONNECTION, 408: ErrorClass.TIMEOUT, 429: ErrorClass.RATE_LIMIT}


class LLMError(Exception):
    """A call that brought no answer.

    `maybe_paid` says whether the endpoint may have charged for it although no answer arrived.
    `status` is the HTTP status of the answer, None where there was none; `retry_after` the seconds
    that the endpoint asks to wait, where it named a time; `named` all that may say which parameter
    it does not take; `call_ids` are those of replies that nobody can use.
    """

    # What it says about the calls after it, from the passing to the lasting.
    weight: ClassVar[int] = 0
    # Whether the item goes on waiting, and the run waits with it for a person.
    halts: ClassVar[bool] = False
    kind: ClassVar[ErrorClass | None] = None

    def __init__(
        self,
        message: str,
        *,
        maybe_paid: bool = False,
        status: int | None = None,
        error_class: ErrorClass | None = None,
        retry_after: float | None = None,
        refusals: int = 0,
        named: str | None = None,
        call_ids: Sequence[int] = (),
    ) -> None:
        super().__init__(message)
        self.maybe_paid, self.status, self.retry_after = maybe_paid, status, retry_after
        by_status = _OF_STATUS.get(status, ErrorClass.SERVER)
        self.error_class = error_class or self.kind or by_status
        self.refusals, self.named, self.call_ids = refusals, named, call_ids
        # The second is for people, without address or key: see `describe`.
        self.message = self.words = message
        # Whether the model is asked in another way since (llm.profiles), so that the same request
        # may be sent again.
        self.is_adapted = False

    def describe(self, endpoint: Endpoint, model: str) -> None:
        """Put its words for people, without address or key."""
        message = without_secrets(self.message, endpoint)
        self.words = self._described(f"The endpoint “{endpoint.name}”", model, message)

    def _described(self, name: str, model: str, message: str) -> str:
        status, kind = self.status or 0, self.error_class
        if kind in (ErrorClass.BUDGET, ErrorClass.CUT_OFF):
            return self.message
        if kind is ErrorClass.REFUSAL:
            return f"The model “{model}” would not answer: {message}"
        if self.refusals:
            return f"{name} refused {self.refusals} requests in a row, at last with: {message}"
        if kind is ErrorClass.SETUP:
            unknown = f"knows no model “{model}”, or its address is wrong"
            paid = "asks for payment: its quota or credit is used up"
            # A 400 is counted among these only where it says that there is no such model.
            why = {400: unknown, 402: paid, 404: unknown, 429: paid}.get(status, "refuses the key")
            message = message.removeprefix(f"HTTP {status}: ").rstrip(".")
            return (
                f"{name} {why} (HTTP {status}: {message}). Fix the settings, then resume the run."
            )
        if kind is ErrorClass.REFUSED:
            return f"{name} refused this request: {message}"
        if status:
            return f"{name} answered HTTP {status}."
        if kind is ErrorClass.TIMEOUT:
            return f"{name} gave no answer in time."
        is_away = kind is ErrorClass.CONNECTION and not self.maybe_paid
        return f"{name} cannot be reached." if is_away else f"{name} gave no usable answer."


class Transient(LLMError):
    """Worth another try."""


class Permanent(LLMError):
    """The endpoint answers, and will refuse this request every time."""

    kind, weight = ErrorClass.REFUSED, 1


class Refusal(Permanent):
    """The model would not answer; the message is the answer of it, or of a filter, instead."""

    kind = ErrorClass.REFUSAL


class WrongSetup(Permanent):
    """Every request will be refused until somebody mends key, account, model or address."""

    kind, weight, halts = ErrorClass.SETUP, 2, True


class Outage(Transient):
    """The endpoint answered nobody for a while: not this request's fault, ask again later.

    With `refusals` it answers, and refused so many requests in a row.
    """

    weight, halts = 3, True


class OverBudget(LLMError):
    """Nothing was sent: the call's upper bound does not fit into what is left of the budget."""

    kind, weight, halts = ErrorClass.BUDGET, 4, True


def worst(errors: Sequence[LLMError]) -> LLMError | None:
    """Of the errors of one item the one that decides: the most lasting; of equals one that the
    endpoint may have had."""
    return max(errors, key=lambda error: (error.weight, error.maybe_paid), default=None)


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
_HOST: Final = re.compile(r"//(?:[^/@]*@)?\[?([^/\]:]+)")


def without_secrets(message: str, endpoint: Endpoint) -> str:
    """The message without whatever looks like an address or a key."""
    for secret, name in ((endpoint.api_key, "[key]"), (endpoint.base_url, "[address]")):
        message = message.replace(secret, name) if secret else message
    message = _KEY.sub("[key]", _ADDRESS.sub("[address]", message))
    host = _HOST.search(endpoint.base_url)
    return re.sub(re.escape(host[1]), "[address]", message, flags=re.I) if host else message
