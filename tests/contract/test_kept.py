"""A list of the contract notices what is new, gone or changed, unless a reason is given."""

import pytest

from tests.contract.kept import against, as_text, read

KEPT = {("GET /a/", "200 name*: string"), ("GET /a/", "200 id*: integer"), ("GET /b/", "200 x: y")}
NAME = "GET /a/ 200 name*: string"


def without(*beginnings: str) -> set[tuple[str, str]]:
    return {line for line in KEPT if not " ".join(line).startswith(beginnings)}


def test_lists_are_read_as_they_are_written() -> None:
    text = as_text(KEPT)
    assert text == "GET /a/\n  200 id*: integer\n  200 name*: string\nGET /b/\n  200 x: y\n"
    assert set(read(text)) == KEPT


@pytest.mark.parametrize(
    ("today", "reasons"),
    [(KEPT, {}), (without(NAME), {NAME: "Gone."}), (without("GET /a/"), {"GET /a/": "Gone."})],
)
def test_what_is_kept_or_left_out_with_a_reason_is_the_same(today, reasons) -> None:
    assert against(KEPT, today, reasons) == []


@pytest.mark.parametrize(
    ("today", "reasons", "words"),
    [
        (without(NAME), {}, f"- {NAME}"),
        (KEPT | {("GET /b/", "200 z: y")}, {}, "+ GET /b/ 200 z: y"),
        (without("GET /a/"), {NAME: "Gone."}, "- GET /a/ 200 id*: integer"),
        (KEPT, {NAME: "Gone."}, f"+ {NAME}"),
        (KEPT, {"GET /c/": "Gone."}, "LEFT_OUT, not kept: GET /c/"),
        (without(NAME), {NAME: ""}, f"LEFT_OUT, without a reason: {NAME}"),
    ],
)
def test_what_differs_is_named(today, reasons, words: str) -> None:
    assert words in against(KEPT, today, reasons)
