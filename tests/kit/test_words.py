"""How stored words are shown."""

import pytest

from kit.templatetags.assay import in_words, kind, named, p_words


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("running", "running"),
        ("escalated", "disputed"),
        ("skipped_no_answer", "skipped no answer"),
        ("expert", "for an expert"),
    ],
)
def test_states_are_shown_in_plain_lower_case(status: str, shown: str) -> None:
    assert in_words(status) == shown


def test_a_disputed_pair_is_no_failure() -> None:
    assert [kind(status) for status in ("agreed", "escalated", "failed")] == ["good", "warn", "bad"]


def test_unknown_names_stand_for_themselves() -> None:
    assert named("bright", {"bright": "BRIGHT"}) == "BRIGHT"
    assert named("gone", {"bright": "BRIGHT"}) == "gone"


def test_a_p_value_is_never_zero() -> None:
    assert [p_words(p) for p in (0.03125, 0.0001, 0.00004, 0.0, None)] == [
        "p = 0.0312",
        "p = 0.0001",
        "p < 0.0001",
        "p < 0.0001",
        "–",
    ]
