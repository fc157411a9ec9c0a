"""Quotes marked in a passage: the text is never changed, offsets are code points."""

import random

from annotate.voting.snapshot import read_snapshot, segments
from tests.annotate.world import TEXT, make_snapshot
from tests.work import MOST, growth


def shape(text, spans):
    return [(part.text, part.css) for part in segments(text, spans)]


def test_text_without_quotes_is_one_plain_segment():
    assert shape("plain", []) == [("plain", "")]


def test_empty_text_has_no_segments():
    assert shape("", [(0, 1, "a")]) == []


def test_overlapping_quotes_are_cut_at_every_edge():
    assert shape("abcdef", [(1, 4, "a"), (3, 6, "b")]) == [
        ("a", ""),
        ("bc", "a"),
        ("d", "a b"),
        ("ef", "b"),
    ]


def test_offsets_count_code_points():
    assert shape("🐛🐛moth", [(2, 6, "a")]) == [("🐛🐛", ""), ("moth", "a")]


def test_span_outside_the_text_is_left_out():
    assert shape("abc", [(2, 9, "a"), (-1, 2, "b"), (2, 2, "a")]) == [("abc", "")]


def test_anchor_stands_where_a_quote_begins():
    parts = segments("abcdef", [(1, 4, "a"), (3, 6, "b")])
    assert [part.anchor for part in parts] == ["", "mark-1", "mark-3", ""]


def test_segments_joined_give_the_text():
    rng = random.Random(4)
    for _ in range(300):
        text = "".join(rng.choice("ab é🐛\n<&") for _ in range(rng.randrange(30)))
        spans = [(rng.randrange(-2, 32), rng.randrange(-2, 32), rng.choice("ab")) for _ in range(5)]
        parts = segments(text, spans)
        assert "".join(part.text for part in parts) == text
        assert all(part.text for part in parts)


def test_segments_are_marked_as_looking_at_every_quote_would_mark_them():
    rng = random.Random(5)
    for _ in range(100):
        starts = [rng.randrange(29) for _ in range(6)]
        spans = [(start, rng.randrange(start + 1, 31), rng.choice("ab")) for start in starts]
        place = 0
        for part in segments("x" * 30, spans):
            for side in "ab":
                covers = any(s <= place < e and side == of for s, e, of in spans)
                assert (side in part.css.split()) == covers
            place += len(part.text)


def quoted(count):
    return "word " * count, [(5 * n, 5 * n + 4, "a") for n in range(count)]


def test_ten_thousand_quotes_are_marked():
    assert sum(part.css == "a" for part in segments(*quoted(10_000))) == 10_000


def test_work_of_marking_grows_with_the_quotes():
    # Looking at every quote for every segment would grow with their square.
    assert growth(lambda given: segments(*given), quoted, first=200) <= MOST


def test_quote_that_stands_elsewhere_is_not_found():
    wrong = {"text": "They rolled", "start": 0, "end": 11}
    position = {"agent": "A", "response": "yes", "references": [wrong]}
    snapshot = read_snapshot({"positions": [position]}, TEXT)
    assert snapshot.spans == []
    assert not snapshot.positions[0].quotes[0].found


def test_white_space_in_a_quote_is_forgiven_but_letters_are_not():
    quote = {"text": "flies at night", "start": 2, "end": 17}
    data = {"positions": [{"agent": "A", "references": [quote]}]}
    assert read_snapshot(data, "a flies \nat night").spans == [(2, 17, "a")]
    assert read_snapshot(data, "a flies \nat Night").spans == []


def test_snapshot_is_read_as_written():
    snapshot = read_snapshot(make_snapshot(), TEXT)
    first, second = snapshot.positions
    assert (first.agent, first.side, first.response, first.earlier) == (
        "A",
        "a",
        "yes",
        ((1, "yes"),),
    )
    assert first.first_found == first.quotes[0]
    assert (second.side, second.first_found) == ("b", None)


def test_snapshot_of_nonsense_is_empty_but_readable():
    for data in ({}, {"positions": None}, {"positions": [3, {"references": "x", "earlier": [1]}]}):
        snapshot = read_snapshot(data, TEXT)
        assert snapshot.answers == ()
        assert snapshot.spans == []
