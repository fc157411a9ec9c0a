"""Cleaning by rules, and DChunk's cuts and overlaps."""

from collections.abc import Sequence

import pytest

from corpus.chunking.rules import clean, without_spans
from corpus.chunking.semantic import (
    MAX_TOKENS,
    OVERLAP,
    Chunk,
    Lsa,
    blocks_of,
    chunks_of,
    cosine,
    units_of,
)
from corpus.chunking.sentences import sentences
from corpus.marcus.splitting import cut_fixed
from corpus.marcus.verify import verify
from kit.boilerplate import inline_boilerplate
from llm.practice.completion import embed
from tests.corpus.real_texts import clean_pages, noisy_texts


def dchunk(text, embed, *, most: int = MAX_TOKENS, overlap: float = OVERLAP) -> list[Chunk]:
    units = units_of(text, most=most)
    vectors = embed([text[start:end] for start, end in units])
    return chunks_of(text, units, vectors, most=most, overlap=overlap)


def by_topic(texts: Sequence[str]) -> list[list[float]]:
    """Moths point one way, ferns the other."""
    return [[1.0, 0.0] if "moth" in text.lower() else [0.0, 1.0] for text in texts]


MOTHS = "Moths fly at night. A moth has scales. Every moth hears bats. "
FERNS = "Ferns have no seeds. They spread by spores. The wind takes them."


def test_rules_of_diver() -> None:
    text = "Jump to content\n\n\n\nFerns  have no\nseeds. They spread by\nspores.\n\n\n"
    text += "- one\n- two\t x\nPrivacy policy"
    assert clean(text) == "Ferns have no seeds. They spread by spores.\n\n- one\n- two x"


def test_code_tables_and_headings_keep_their_lines() -> None:
    text = "# A title\nit begins here.\n\n```\nif x:\n\n    go  on\n```\n| a | b |\n| c | d |"
    assert clean(text) == text


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_cleaning_twice_changes_nothing_and_loses_no_word_but_boilerplate(every: int) -> None:
    for text in noisy_texts()[::every]:
        for is_gold in (True, False):
            cleaned = clean(text, is_gold=is_gold)
            assert clean(cleaned, is_gold=is_gold) == cleaned
            source = text if is_gold else without_spans(text, inline_boilerplate(text))
            lost = verify(source, cleaned).violations
            assert not lost, [source[piece.start : piece.end] for piece in lost]


def test_sentences_are_the_text() -> None:
    text = "Dr. Miller came. He saw 3.5 ferns, e.g. bracken. Why? \n\nNobody knows."
    spans = sentences(text)
    assert "".join(text[a:b] for a, b in spans) == text
    assert [text[a:b].strip() for a, b in spans] == [
        "Dr. Miller came.",
        "He saw 3.5 ferns, e.g. bracken.",
        "Why?",
        "Nobody knows.",
    ]


def test_a_document_is_cut_where_its_subject_changes() -> None:
    chunks = dchunk(MOTHS + FERNS, by_topic, overlap=0)
    assert [each.text for each in chunks] == [MOTHS.strip(), FERNS]


def test_sentences_that_begin_in_the_last_fifth_go_in_front() -> None:
    # 62 letters of moths, twice; a fifth of 124 is 24: "Every moth hears bats. " has 23.
    first, second = dchunk(MOTHS * 2 + FERNS, by_topic)
    assert (len(first.text), second.overlap) == (2 * len(MOTHS) - 1, 23)
    assert second.text == "Every moth hears bats. " + FERNS
    # Two of its sentences begin in the last 60 %; with a cap of 19 words there is room for one.
    assert dchunk(MOTHS * 2 + FERNS, by_topic, overlap=0.3)[1].overlap == 23
    _, second, *_ = dchunk(MOTHS + FERNS, by_topic, overlap=0.75, most=16)
    assert second.text == "Every moth hears bats. " + FERNS


def test_no_chunk_begins_inside_a_sentence() -> None:
    text = "moth " * 100 + "ends. " + "Ferns " * 20
    assert [each.overlap for each in dchunk(text, by_topic)] == [0, 0]
    texts = [*noisy_texts()[:40], MOTHS * 9 + FERNS * 9]
    for text in texts:
        starts = {start for start, _ in sentences(text)}
        for each in dchunk(text, lambda parts: [embed(part) for part in parts], overlap=0.4):
            assert each.start - each.overlap in starts


@pytest.mark.slow
def test_lsa_finds_where_a_subject_ends_better_than_hashed_words() -> None:
    """Eight texts after one another: of the places where one ends, most begin a chunk."""
    texts = clean_pages(240)[::3]
    analysis = Lsa.fit(block for text in texts for block in blocks_of(text, most=50))
    assert analysis is not None
    found = {"lsa": [0, 0, 0], "words": [0, 0, 0]}
    for at in range(0, 80, 8):
        text = "\n\n".join(texts[at : at + 8])
        ends = {len("\n\n".join(texts[at : at + n])) + 2 for n in range(1, 8)}
        for name, vectors in (
            ("lsa", analysis.embed),
            ("words", lambda all: list(map(embed, all))),
        ):
            starts = {each.start for each in dchunk(text, vectors)[1:]}
            for place, n in enumerate((len(starts & ends), len(starts), len(ends))):
                found[name][place] += n
    hits, starts, ends = found["lsa"]
    assert hits >= 0.8 * ends
    assert hits / starts > 1.2 * found["words"][0] / found["words"][1]


def test_lsa_is_the_same_each_time_and_needs_some_text() -> None:
    texts = [f"{MOTHS} {n}. {FERNS}" for n in range(20)]
    first, again = Lsa.fit(texts), Lsa.fit(texts)
    assert first is not None
    assert again is not None
    assert (first.embed([MOTHS, "zzz"]) == again.embed([MOTHS, "zzz"])).all()
    assert not first.embed(["zzz"]).any()
    assert Lsa.fit(texts[:19]) is None
    assert Lsa.fit(f"word{n}" for n in range(30)) is None


def test_overlap_begins_with_a_sentence_where_it_can() -> None:
    _, second = dchunk(MOTHS * 3 + FERNS, by_topic)
    assert second.text.startswith("Every moth hears bats.")
    assert second.overlap <= 0.2 * 3 * len(MOTHS)


@pytest.mark.parametrize("most", [5, 12, 40])
def test_the_cap_holds_with_the_overlap(most: int) -> None:
    text = MOTHS * 4 + "moth " * 90 + ". " + FERNS * 3
    chunks = dchunk(text, by_topic, most=most)
    assert all(len(each.text.split()) <= most for each in chunks)
    assert [each.start for each in chunks[1:]] == [each.end for each in chunks[:-1]]
    assert (chunks[0].start, chunks[-1].end) == (0, len(text))


def test_the_offline_embedder_gives_fixed_cuts() -> None:
    chunks = dchunk(MOTHS + FERNS, lambda texts: [embed(text) for text in texts])
    assert chunks == dchunk(MOTHS + FERNS, lambda texts: [embed(text) for text in texts])
    assert cosine([1, 0], [0, 0]) == 0


def test_fixed_pieces_lose_nothing() -> None:
    text = "one two three\nfour\nfive six seven eight nine\n\nten"
    pieces = cut_fixed(text, most=4)
    assert " ".join(pieces).split() == text.split()
    assert all(len(piece.split()) <= 4 for piece in pieces)
