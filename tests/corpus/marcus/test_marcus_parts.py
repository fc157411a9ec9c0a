"""Pages taken apart, labels read, chunks laid over what they came from."""

import pytest

from corpus.marcus.alignment import MAX_CELLS
from corpus.marcus.figures import (
    PUBLISHED,
    distance,
    histogram,
    relative_gain,
    retention,
)
from corpus.marcus.inheritance import MIN_TOKENS, inherit, inherited_label, overlaps
from corpus.marcus.parts import GOLD, OTHER, Source, page_of, take_apart
from corpus.marcus.splitting import label, read_chunks, windows


def page(*texts: str) -> list[Source]:
    return [Source(n, f"f/p_{n}.txt", text) for n, text in enumerate(texts)]


def test_ids_of_pages() -> None:
    assert page_of("folder/page_7.txt") == ("folder/page.txt", 7)
    assert page_of("vision/light_9_0.txt") == ("vision/light_9.txt", 0)
    assert page_of("plain") == ("plain", 0)
    # Passages that experts collected for a query, each from a page of its own.
    assert page_of("biology-1/extraction_4.txt") == ("biology-1/extraction_4.txt", 0)
    assert page_of("gold-extraction/extraction_4.txt") == ("gold-extraction/extraction_4.txt", 0)
    assert page_of("extraction/extraction_4.txt") == ("extraction/extraction.txt", 4)


def test_scattered_gold_makes_a_segment_for_each_neighbourhood() -> None:
    found = take_apart(page("a", "b", "c", "d", "e"), {1: [9], 2: [9, 8], 4: [7]})
    assert [part.kind for part in found.parts] == [GOLD, GOLD, OTHER]
    assert [part.text for part in found.parts] == ["b\nc", "e", "a\nd"]
    assert found.parts[0].queries == (8, 9)
    for part in found.parts:
        for span in part.spans:
            assert part.text[span.start : span.end] == "abcde"[span.key]


def test_one_span_is_an_option() -> None:
    found = take_apart(page("a", "b", "c"), {0: [1], 2: [1]}, single_span=True)
    assert [part.text for part in found.parts] == ["a\nc", "b"]


ASPECTS = {0: [(1, 10)], 1: [(1, 10)], 2: [(1, 11)], 3: [(1, 10), (2, 20)]}


def test_no_segment_holds_two_aspects_of_a_query() -> None:
    gold = {n: [1] for n in range(4)}
    found = take_apart(page("a", "b", "c", "d"), gold, ASPECTS)
    assert [part.text for part in found.parts] == ["a\nb", "c", "d"]
    found = take_apart(page("a", "b", "c", "d"), gold, ASPECTS, single_span=True)
    assert [part.text for part in found.parts] == ["a\nb\nd", "c"]


def test_gold_of_two_aspects_that_overlaps_on_its_page_is_cut_twice() -> None:
    text = "One sentence. Two of them. Three now. The rest."
    rows = [
        Source(0, "p_0.txt", "One sentence. Two of them."),
        Source(2, "p_1.txt", "Two of them. Three now."),
        Source(1, "p_2.txt", "One sentence."),
    ]
    found = take_apart(rows, {0: [1], 1: [1], 2: [1]}, ASPECTS, page_text=text)
    assert [(part.kind, part.text) for part in found.parts] == [
        (GOLD, "One sentence. Two of them."),
        (GOLD, "Two of them. Three now."),
        (OTHER, " The rest."),
    ]
    assert [[span.key for span in part.spans] for part in found.parts] == [[1, 0], [2], []]


def test_positions_are_numbers_gaps_are_allowed_and_the_first_of_one_id_counts() -> None:
    rows = [Source(1, "p_10.txt", "ten"), Source(2, "p_9.txt", "nine"), Source(3, "p_9.txt", "x")]
    found = take_apart(rows, {})
    assert found.parts[0].text == "nine\nten"
    assert found.repeated == (3,)


def test_gold_is_found_in_its_page_exactly_and_by_alignment() -> None:
    text = (
        "Menu\n<p>Ferns  have <b>no</b> seeds. They spread by spores.</p>\n<p>The rest is this.</p>"
    )
    rows = [Source(1, "p_0.txt", "Ferns have no seeds. They spread by spores.")]
    found = take_apart(rows, {1: [5]}, page_text=text)
    gold, rest = found.parts
    assert gold.text == "Ferns  have <b>no</b> seeds. They spread by spores."
    assert "The rest is this." in rest.text
    assert "spores" not in rest.text
    assert found.unplaced == ()


def test_gold_that_its_page_does_not_hold_is_a_segment_of_its_own() -> None:
    rows = [Source(1, "p_0.txt", "Nothing of this stands there at all.")]
    found = take_apart(rows, {1: [5]}, page_text="A page about moths.")
    assert found.unplaced == (1,)
    assert found.parts[0].text == "Nothing of this stands there at all."


@pytest.mark.parametrize(
    "reply",
    [
        "Chunk A: one\nChunk B: two",
        "CHUNK A:\none\n\nCHUNK B:\ntwo",
        "**Chunk A**: one\n**Chunk B:** two",
        "**Chunk A:**\none\n  chunk b :two",
    ],
)
def test_variants_of_labels(reply: str) -> None:
    assert read_chunks(reply) == (["one", "two"], [])


def test_more_chunks_than_letters() -> None:
    labels = [label(n) for n in range(60)]
    assert labels[24:29] == ["Y", "Z", "AA", "AB", "AC"]
    reply = "\n".join(f"Chunk {name}:\ntext {n}" for n, name in enumerate(labels))
    texts, flags = read_chunks(reply)
    assert (len(texts), texts[59], flags) == (60, "text 59", [])


def test_odd_replies_of_a_splitter() -> None:
    assert read_chunks("no label")[0] == ["no label"]
    assert read_chunks("Chunk B: x\nChunk B: y")[1] == ["renumbered"]
    assert read_chunks("Sure!\nChunk A: x")[0] == ["x"]
    assert read_chunks("It began.\nChunk A: x", source="It  began. x")[0] == ["It began.\nx"]
    assert read_chunks("Chunk A:\n\nChunk B: y")[0] == ["y"]


def test_windows_are_the_text_and_are_cut_at_blank_lines() -> None:
    text = "\n\n".join("word " * 50 for _ in range(20)) + "\n\n" + "x" * 3000
    found = windows(text, 200)
    assert "".join(found) == text
    assert all(len(each) <= 800 for each in found)
    assert found[0].endswith("\n\n")


def test_a_chunk_is_gold_from_30_tokens_or_a_fifth_of_the_passage_on() -> None:
    words = " ".join(f"w{n}" for n in range(400))
    part = take_apart([Source(1, "p_0.txt", words)], {1: [3]}).parts[0]
    chunks = [" ".join(words.split()[a:b]) for a, b in ((0, 79), (79, 159), (159, 400))]
    inherited = inherit(overlaps(part, chunks)[0])
    assert [(c.tokens, c.carries) for c in inherited] == [
        (79, False),  # below a fifth of 400
        (80, True),
        (241, True),
    ]
    short = take_apart([Source(1, "p_0.txt", "ten words are fewer than thirty")], {1: [3]}).parts[0]
    assert MIN_TOKENS == 30
    assert inherit(overlaps(short, ["ten words are fewer than thirty"])[0])[0].carries


@pytest.mark.slow
def test_parts_too_long_for_one_alignment_are_laid_over_their_chunks() -> None:
    """60,000 tokens against as many: 450 MB as one table of a common subsequence."""
    words = [f"w{n}" for n in range(60_000)]
    sources = [
        Source(n, f"p_{n}.txt", " ".join(words[n * 20_000 : (n + 1) * 20_000])) for n in range(3)
    ]
    part = take_apart(sources, {n: [3] for n in range(3)}).parts[0]
    assert len(words) ** 2 > MAX_CELLS
    left = [word for n, word in enumerate(words) if n % 1_000]
    chunks = [" ".join(left[:30_000]), " ".join(left[30_000:])]
    found = {(o.key, o.chunk): o.tokens / o.of for o in overlaps(part, chunks)[0]}
    assert found == {
        (0, 0): pytest.approx(0.999),
        (1, 0): pytest.approx(0.501),
        (1, 1): pytest.approx(0.498),
        (2, 1): pytest.approx(0.999),
    }


def test_a_label_goes_to_the_best_chunk_where_none_has_enough() -> None:
    words = " ".join(f"w{n}" for n in range(100))
    part = take_apart([Source(1, "p_0.txt", words)], {1: [3]}).parts[0]
    pieces = [" ".join(words.split()[a : a + 12]) for a in range(0, 96, 12)]
    inherited = inherit(overlaps(part, pieces)[0])
    assert [c.carries for c in inherited].count(True) == 1


def test_chunks_with_text_of_no_passage_are_known() -> None:
    page = "Ferns have no seeds. * Moths fly at night. Bats eat them. * Owls sleep."
    sources = [Source(1, "p_0", "Ferns have no seeds."), Source(2, "p_1", "Owls sleep.")]
    (part,) = take_apart(sources, {}, page_text=page).parts
    chunks = ["Ferns have no seeds. *", "Moths fly at night. Bats eat them. * Owls sleep."]
    assert overlaps(part, chunks)[1] == {1}
    assert overlaps(part, ["Ferns have no seeds. * Owls sleep."])[1] == set()


def test_a_no_is_carried_only_where_all_of_the_chunk_was_judged() -> None:
    assert inherited_label({1: 2, 2: 0}, [(1, True), (2, True)]) == 2
    assert inherited_label({1: 2, 2: 0}, [(1, False), (2, True)]) is None
    assert inherited_label({1: 0, 2: 0}, [(1, True), (2, True)]) == 0
    assert inherited_label({1: 0}, [(1, True), (2, True)]) is None


def test_worked_numbers_of_the_protocol() -> None:
    assert retention(2102, 57359) == pytest.approx(3.66, abs=0.005)
    assert retention(18187, 511497) == pytest.approx(3.56, abs=0.005)
    assert relative_gain(*PUBLISHED) == pytest.approx(0.89, abs=0.005)


def test_histograms_and_their_distance() -> None:
    bins = histogram([0, 99, 100, 5000], (0, 100, 300), is_open=True)
    assert [each.count for each in bins] == [2, 1, 1]
    assert bins[-1].high is None
    other = histogram([0, 0, 0, 0], (0, 100, 300), is_open=True)
    assert distance(bins, other) == 0.5
