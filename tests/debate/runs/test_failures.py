"""What people are told of a call that failed, and what they are not."""

import itertools

import pytest

from llm.endpoints import Endpoint
from llm.errors import (
    ErrorClass,
    LLMError,
    Outage,
    OverBudget,
    Permanent,
    Transient,
    WrongSetup,
    without_secrets,
    worst,
)

ENDPOINT = Endpoint("main", "https://models.example:8443/v1", "k3y-of-ours", False, "m-1")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Transient("host models.example:8443 ssl"), "cannot be reached."),
        (
            Transient("No", maybe_paid=True, error_class=ErrorClass.TIMEOUT),
            "gave no answer in time.",
        ),
        (Transient("HTTP 502: x", status=502), "answered HTTP 502."),
        (Transient("broke", maybe_paid=True), "gave no usable answer."),
    ],
)
def test_outage_is_told_by_the_endpoints_name_alone(error: LLMError, expected: str) -> None:
    error.describe(ENDPOINT, "m-1")
    assert error.words == f"The endpoint “main” {expected}"


@pytest.mark.parametrize(
    "secret",
    [
        "https://models.example:8443/v1",
        "models.example",
        "MODELS.EXAMPLE:8443",
        "k3y-of-ours",
        "sk-proj-0123456789",
        "abcd****wxyz",
        "Bearer 0123456789abcdef",
        "http://10.1.2.3/x",
        "10.1.2.3:8000",
        "[::1]:9",
        "localhost:11434",
        "gpu-7:8000",
    ],
)
def test_no_address_and_no_key_is_left(secret: str) -> None:
    told = without_secrets(f"Too long ({secret}) for it.", ENDPOINT)
    assert secret.lower() not in told.lower()
    assert told.startswith("Too long (")
    assert told.endswith("for it.")


def test_harmless_words_stay() -> None:
    message = "HTTP 400: maximum context length is 8192 tokens, you asked for 9000 (at 12:30)."
    assert without_secrets(message, ENDPOINT) == message


def test_of_two_errors_the_lasting_one_counts() -> None:
    rising = [
        Transient("later"),
        Permanent("HTTP 400: no", status=400),
        WrongSetup("HTTP 401: no", status=401),
        Outage("HTTP 503: x", status=503),
        OverBudget("no room"),
    ]
    for passing, lasting in itertools.pairwise(rising):
        assert worst([lasting, passing]) is lasting
    assert [each.halts for each in rising] == [False, False, True, True, True]
    assert worst([]) is None
