"""Citations read out of an answer, and what the checks say of them."""

import pytest

from annotate.answers.citing import Evidence, brackets, check_answer, foreign_citations, renamed
from evaluation.exporters.records import AspectRecord, QueryRecord

GOLD = Evidence(
    {1: ["bio-1/extraction_1.txt"], 2: ["bio-1/extraction_2.txt", "word"]},
    {
        "bio-1/extraction_1.txt": "Plants close their stomata when water becomes scarce.",
        "bio-1/extraction_2.txt": "Roots signal drought with abscisic acid.",
    },
)
ONE, TWO = "[bio-1/extraction_1.txt]", "[doc bio-1/extraction_2.txt]"


def found(text: str, known=()) -> list[tuple[str, int, str]]:
    report = check_answer(text, GOLD, known=known)
    return [
        (each.check, each.sentence, each.cited)
        for each in report.findings
        if each.check not in ("length", "never_cited")
    ]


def test_an_answer_that_cites_every_aspect_is_sound() -> None:
    text = f"Plants close stomata when water is scarce {ONE}. Roots signal drought with acid. {TWO}"
    report = check_answer(text, GOLD)
    assert report.is_sound
    assert report.coverage == ((1, 1), (2, 1))
    assert report.cited == ("bio-1/extraction_1.txt", "bio-1/extraction_2.txt")
    assert (report.sentences, report.words) == (2, 12)
    assert [each.check for each in report.findings] == ["never_cited", "length"]
    assert report.findings[0].cited == "word"


@pytest.mark.parametrize(
    ("cited", "why"),
    [
        ("bio-2/extraction_1.txt", "there is no passage of that id"),
        ("other", "no gold of this query"),
        ("doc_4", "no gold passage of that number"),
        ("doc_0", "no gold passage of that number"),
    ],
)
def test_a_foreign_citation_is_an_error_named_by_its_place(cited, why) -> None:
    text = f"Plants close stomata {ONE}. Roots signal drought {TWO}[{cited}]."
    report = check_answer(text, GOLD, known={"other"})
    assert not report.is_sound
    (error,) = report.errors
    assert (error.sentence, error.cited) == (2, cited)
    assert why in error.message
    assert "Sentence 2" in error.message


def test_numbers_count_the_gold_as_a_release_lists_it() -> None:
    """Aspect by aspect, in the order of assignment, each once: not by ids."""
    evidence = Evidence({2: ["a", "c"], 1: ["d", "b", "c"]})
    record = QueryRecord(
        pk=1,
        qid="1",
        text="?",
        aspects=tuple(
            AspectRecord(k, "x", 3, "likert5", tuple(evidence.aspects[k])) for k in (1, 2)
        ),
    )
    assert evidence.gold == list(record.gold_ids) == ["d", "b", "c", "a"]
    assert check_answer("Roots signal [doc_4].", evidence).cited == ("a",)
    # Without aspects it is what the expert view accepts.
    assert Evidence({}, accepted=["b", "c"]).gold == ["b", "c"]


def test_a_number_is_read_with_and_without_its_line() -> None:
    assert check_answer("Roots signal drought [doc_3].", GOLD).cited == ("word",)
    assert check_answer("Roots signal drought [doc1].", GOLD).cited == (GOLD.gold[0],)


def test_brackets_around_other_words_are_no_citation() -> None:
    assert found(f"Plants [as said] close stomata {ONE}. Roots signal {TWO}.") == []
    assert found("Plants [as said] close.")[0] == ("uncited", 1, "")


def test_sentences_without_a_citation_are_listed_and_aspects_without_one() -> None:
    text = f"Plants wilt. They close stomata when water is scarce {ONE}."
    assert found(text) == [("uncited", 1, ""), ("uncovered", 0, "")]
    assert check_answer(text, GOLD).covered == 1


def test_stops_inside_ids_end_no_sentence_and_a_trailing_citation_belongs_to_its_sentence() -> None:
    text = f"Stomata close. {ONE} Roots signal drought {TWO}.\n\nA paragraph of its own."
    assert found(text) == [("uncited", 3, "")]


def test_low_overlap_is_a_hint_only() -> None:
    text = f"Volcanoes erupt because magma rises quickly {ONE}. Roots signal drought {TWO}."
    report = check_answer(text, GOLD)
    assert (report.findings[0].check, report.findings[0].sentence) == ("overlap", 1)
    assert report.is_sound
    # Nothing is said where a text is not loaded.
    checks = [check for check, _, _ in found("Volcanoes erupt as magma rises [word].")]
    assert "overlap" not in checks


def test_empty_answers_and_queries_without_aspects() -> None:
    report = check_answer("", GOLD)
    assert (report.words, report.sentences, report.covered) == (0, 0, 0)
    assert not report.is_sound
    assert not check_answer("Anything.", Evidence({})).is_sound


def test_ids_with_any_character_are_read_as_they_are() -> None:
    odd = Evidence({1: ["a b/c(1).txt", "ünï/ç_0.txt"]})
    text = "One says so [a b/c(1).txt]. Another too [doc ünï/ç_0.txt]."
    assert check_answer(text, odd).is_sound


def test_labels_become_ids() -> None:
    text = "So it is [doc_1][doc_2], see [above]."
    names = {"doc_1": "a/b_1.txt", "doc_2": "c"}
    assert renamed(text, names) == "So it is [a/b_1.txt][c], see [above]."
    assert brackets(text) == ["doc_1", "doc_2", "above"]


def test_the_release_check_says_the_same() -> None:
    text = f"One {ONE}. Two [other] [bio-2/extraction_1.txt] [as said] [doc_9]."
    cited = [each.cited for each in check_answer(text, GOLD, known={"other"}).errors]
    assert foreign_citations(text, GOLD.gold, {"other"}) == cited == [
        "other", "bio-2/extraction_1.txt", "doc_9",
    ]  # fmt: skip


def test_long_texts_are_read_in_proportion() -> None:
    text = "[" * 50_000 + "a]" + "x" * 50_000
    assert check_answer(text, GOLD).sentences == 1
