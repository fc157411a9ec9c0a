"""CSV of item, rater, label: what is taken, and what is refused with its line and field."""

import pytest

from kit.stats.agreement import cohen_kappa, krippendorff_alpha
from kit.stats.reading import ReadError, decoded, read_ratings

HEADER = "item,rater,label\n"


def read(text, level="nominal", categories=None):
    return read_ratings(text.splitlines(keepends=True), level, categories=categories)


def test_rows_in_any_order_with_other_columns_and_gaps():
    text = "when,rater,label,item\n1,ann,yes,q1\n\n2,bob,no,q1\n3,bob, ,q2\n4,ann,yes,q2\n"
    found = read(text)
    assert found.ratings.items == ("q1", "q2")
    assert found.ratings.raters == ("ann", "bob")
    assert found.ratings.categories == ("no", "yes")
    assert found.ratings.codes.tolist() == [[1, 0], [1, -1]]
    assert found.n_missing == 1


def test_numbers_are_placed_at_their_value_above_nominal_level():
    text = HEADER + "".join(
        f"q{n},a,{a}\nq{n},b,{b}\n" for n, (a, b) in enumerate([(1, 1), ("1.0", 1), (5, 5), (5, 4)])
    )
    assert cohen_kappa(read(text, "ordinal").ratings, "linear").value == pytest.approx(0.875)
    assert read(text, "ordinal").ratings.categories == (1, 4, 5)
    assert read(text, "nominal").ratings.categories == ("1", "1.0", "4", "5")
    scale = ["1", "2", "3", "4", "5"]
    whole = read(text, "ordinal", scale).ratings
    assert cohen_kappa(whole, "linear").value == pytest.approx(0.875)
    assert whole.categories == (1, 2, 3, 4, 5)
    close = read(text, "ordinal", ["1", "4", "5"]).ratings
    assert cohen_kappa(close, "linear").value == pytest.approx(0.75)


def test_ten_comes_after_nine():
    text = HEADER + "".join(f"q{n},a,{n}\nq{n},b,{n}\n" for n in (9, 10, 2, 1))
    assert read(text, "ordinal").ratings.categories == (1, 2, 9, 10)


def test_words_can_be_ordinal_when_their_order_is_given():
    text = HEADER + "q1,a,low\nq1,b,low\nq2,a,high\nq2,b,mid\nq3,a,mid\nq3,b,high\n"
    ratings = read(text, "ordinal", ["low", "mid", "high"]).ratings
    # Observed (0 + 1 + 1) / 3 over expected distances of (low, mid, high) each third: 8 / 9.
    assert cohen_kappa(ratings, "linear").value == pytest.approx(1 - (2 / 3) / (8 / 9))
    assert krippendorff_alpha(ratings, "ordinal").value is not None


@pytest.mark.parametrize(
    ("text", "level", "line", "field", "message"),
    [
        ("", "nominal", 1, "item", "column is missing"),
        ("item,label\nq1,1\n", "nominal", 1, "rater", "column is missing"),
        ("item,rater,label,label\n", "nominal", 1, "label", "column is twice"),
        (HEADER, "nominal", 1, "", "no rating"),
        (HEADER + "q1,a,1\nq1,a,0\n", "nominal", 3, "rater", "'q1' in line 2 already"),
        (HEADER + "q1,a,\nq1,a,0\n", "nominal", 3, "rater", "'q1' in line 2 already"),
        (HEADER + ",a,1\n", "nominal", 2, "item", "empty"),
        (HEADER + "q1, ,1\n", "nominal", 2, "rater", "empty"),
        (HEADER + "q1,a\n", "nominal", 2, "", "2 fields"),
        (HEADER + "q1,a,1,2\n", "nominal", 2, "", "4 fields"),
        (HEADER + 'q1,a,"1\n', "nominal", 2, "", "not CSV"),
        (HEADER + 'q1,a,"1"2\n', "nominal", 2, "", "not CSV"),
        (HEADER + "q1,a,high\n", "ordinal", 2, "label", "or give the categories"),
        (HEADER + "q1,a,nan\n", "interval", 2, "label", "is no number"),
        (HEADER + "q1,a,1e999\n", "interval", 2, "label", "is no number"),
        (HEADER + "q1,a,1_0\n", "interval", 2, "label", "is no number"),
        (HEADER + "q1,a,٣\n", "interval", 2, "label", "is no number"),
        (HEADER + "".join(f"q{n},a,{n}\n" for n in range(300)), "nominal", None, "label", "300"),
        (HEADER + "q1,a," + "x" * 200_000 + "\n", "nominal", 2, "", "not CSV"),
        (
            HEADER + "".join(f"q{n},r{n},1\n" for n in range(10_001)),
            "nominal",
            None,
            "label",
            "10,001 items by 10,001 raters are too many",
        ),
    ],
)
def test_what_cannot_be_taken_names_line_and_field(text, level, line, field, message):
    with pytest.raises(ReadError, match=message) as caught:
        read(text, level)
    assert (caught.value.line, caught.value.field) == (line, field)


def test_labels_outside_the_categories_given_are_refused():
    with pytest.raises(ReadError, match="'2' is not one of") as caught:
        read(HEADER + "q1,a,1\nq1,b,2\n", "ordinal", ["0", "1"])
    assert (caught.value.line, caught.value.field) == (3, "label")
    for level, categories in (("interval", ["low", "high"]), ("ordinal", ["1", "1.0"])):
        with pytest.raises(ReadError, match=r"numbers|twice"):
            read(HEADER + "q1,a,1\n", level, categories)


def test_words_that_look_like_formulas_or_markup_stay_what_they_are():
    found = read(HEADER + '"=1+1","<b>",é\n"=1+1",b,é\n')
    assert (found.ratings.items, found.ratings.raters) == (("=1+1",), ("<b>", "b"))


def test_bytes_that_are_no_utf8_name_their_line():
    lines = ["\ufeffitem,rater,label\n".encode(), b"q1,a,x\n", b"q1,b,\xff\n"]
    with pytest.raises(ReadError, match="not UTF-8") as caught:
        read_ratings(decoded(lines), "nominal")
    assert caught.value.line == 3
    found = read_ratings(decoded([*lines[:2], "q1,b,ü\n".encode()]), "nominal")
    assert found.ratings.categories == ("x", "ü")
