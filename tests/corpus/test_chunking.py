"""Cleaning by rules, and DChunk's cuts and overlaps."""

from collections.abc import Sequence

import pytest

from corpus.chunking.rules import clean
from corpus.chunking.semantic import MOST_TOKENS, OVERLAP, Chunk, chunks_of, cosine, units_of
from corpus.chunking.sentences import sentences
from corpus.marcus.splitting import cut_fixed
from corpus.marcus.verify import verify
from llm.practice.completion import embed
from tests.corpus.real_texts import noisy_texts


def dchunk(text, embed, *, most: int = MOST_TOKENS, overlap: float = OVERLAP) -> list[Chunk]:
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


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_cleaning_twice_changes_nothing_and_loses_no_word_but_furniture(every: int) -> None:
    for text in noisy_texts()[::every]:
        cleaned = clean(text)
        assert clean(cleaned) == cleaned
        lost = verify(text, cleaned).violations
        assert not lost, [(text[p.start : p.end], cleaned[p.out_start : p.out_end]) for p in lost]


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


def test_a_fifth_of_the_chunk_before_goes_in_front() -> None:
    text = "moth " * 100 + "ends. " + "Ferns " * 20
    first, second = dchunk(text, by_topic)
    assert second.overlap == int(0.2 * (first.end - first.start))
    assert second.text.startswith("moth")
    plain = dchunk(text, by_topic, overlap=0)
    assert second.text.endswith(plain[1].text)


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
