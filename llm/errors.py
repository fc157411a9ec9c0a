"""What can go wrong with a call, and what the caller has to decide about it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final


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


# 401 and 403 for a wrong key, 402 for an empty account, 404 for an unknown model or address.
SETUP_STATUS: Final = frozenset({401, 402, 403, 404})


class LLMError(Exception):
    """A call that brought no answer.

    `permanent` says whether sending the same request again is pointless. `maybe_paid` says
    whether the endpoint may have charged for it although no answer arrived. `status` is the
    HTTP status of the answer, None where there was none; `endpoint` and `model` are names, set
    by the gateway for whoever tells people about it.
    """

    permanent: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        maybe_paid: bool = False,
        status: int | None = None,
        error_class: ErrorClass | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.maybe_paid = maybe_paid
        self.status = status
        self.endpoint = self.model = ""
        # What a refusal names, in the endpoint's words; and whether the model is asked in another
        # way since (llm.profiles), so that the same request may be sent again.
        self.refusal = ""
        self.is_mended = False
        self._error_class = error_class

    @property
    def error_class(self) -> ErrorClass:
        """What kind of failure it is: as given, else by the status."""
        return self._error_class or class_of_status(self.status, permanent=self.permanent)


class Transient(LLMError):
    """Worth another try, not before `retry_after` seconds where the endpoint named a time."""

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        maybe_paid: bool = False,
        status: int | None = None,
        error_class: ErrorClass | None = None,
    ) -> None:
        super().__init__(message, maybe_paid=maybe_paid, status=status, error_class=error_class)
        self.retry_after = retry_after


class Outage(Transient):
    """The endpoint answered nobody for a while: not this request's fault, ask again later.

    With `refusals` it answers, and refused so many requests in a row.
    """

    def __init__(self, message: str, *, refusals: int = 0, **more: Any) -> None:
        super().__init__(message, **more)
        self.refusals = refusals


class Permanent(LLMError):
    """The endpoint will refuse this request every time."""

    permanent: ClassVar[bool] = True


class Refusal(Permanent):
    """The model would not answer; the message is what it, or a filter, said instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message or "No reason was given.", error_class=ErrorClass.REFUSAL)


class OverBudget(LLMError):
    """Nothing was sent: the call's upper bound does not fit into what is left of the budget."""

    def __init__(self, message: str) -> None:
        super().__init__(message, error_class=ErrorClass.BUDGET)


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """An answer that cannot be read: a value, because it is a result and not an accident.

    `raw` is the answer as it came; `reason` is for the person who has to decide instead.
    """

    reason: str
    raw: str


def class_of_status(status: int | None, *, permanent: bool) -> ErrorClass:
    """The kind of failure that an HTTP status stands for; None is a line without an answer."""
    if status == 429:
        return ErrorClass.RATE_LIMIT
    if permanent:
        return ErrorClass.SETUP if status in SETUP_STATUS else ErrorClass.REFUSED
    if status == 408:
        return ErrorClass.TIMEOUT
    return ErrorClass.CONNECTION if status is None else ErrorClass.SERVER
