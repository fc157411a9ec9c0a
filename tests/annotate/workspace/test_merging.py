"""Three-way merge of fields: every combination of who changed what."""

import pytest

from annotate.workspace.changes import merge, plain


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "changed", "clashes"),
    [
        ("a", "a", "a", False, False),
        ("a", "b", "a", True, False),  # only I wrote
        ("a", "a", "b", False, False),  # only they wrote: theirs stays
        ("a", "b", "b", False, False),  # both wrote the same
        ("a", "b", "c", True, True),
        ("a", "", "b", True, True),  # taking away is a change too
        (3, 4, 5, True, True),
        (3, 3, 5, False, False),
        ("a\nb", "a\nb", " a\r\nb\n", False, False),  # as the form sends back what is stored
        ("a\nb", "c", " a\r\nb\n", True, False),
    ],
)
def test_field_is_decided_by_base_mine_and_theirs(base, mine, theirs, changed, clashes) -> None:
    merged = merge(base={"f": base}, mine={"f": mine}, theirs={"f": theirs})
    assert merged == ({"f": mine} if changed else {}, ["f"] if clashes else [])


def test_field_without_a_known_base_counts_as_changed_by_both() -> None:
    theirs = {"f": "c", "g": 1}
    assert merge(base={}, mine={"f": "b", "g": 1}, theirs=theirs) == ({"f": "b"}, ["f"])


def test_plain_text_is_what_a_form_sends_back() -> None:
    assert plain(" a\r\nb\rc\n") == "a\nb\nc"
    assert plain(4) == 4
