"""Passages of one page that touch or overlap become one; the old ids stay its provenance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import GoldPassage
from annotate.workspace.aspects import add_aspect
from annotate.workspace.checklist import missing
from annotate.workspace.gold import assign_passage, discard_passage
from annotate.workspace.neighbours import Piece, groups, joined, overlap
from annotate.workspace.remaking import remake, touching, undo_with_sources
from corpus.models import Judgment, VersionState
from kit.errors import Refused
from tests.annotate.world import apply_edits
from tests.factories import make_document, make_gold, make_passage

PAGE = "Home | Shop\n\nMoths keep their backs to the light. The path bends round it.\n\nAbout us"
FIRST, SECOND = "Moths keep their backs to the light.", "The path bends round it."


def piece(pk: int, text: str, start: int | None = None, pid: str = "", page: object = "p") -> Piece:
    end = None if start is None else start + len(text)
    return Piece(pk, pid or f"page/p_{pk}.txt", text, page, start, end)  # type: ignore[arg-type]


def runs(*pieces: Piece, text: str = "") -> list[list[int]]:
    return [[each.pk for each in run] for run in groups(pieces, {"p": text})]


def test_pieces_touch_where_only_blanks_lie_between() -> None:
    text = "One.  Two. and Three."
    pieces = piece(1, "One.", 0), piece(2, "Two.", 6), piece(3, "Three.", 15)
    assert runs(*pieces, text=text) == [[1, 2]]


def test_pieces_that_overlap_are_one_run_whatever_their_order() -> None:
    assert runs(piece(3, "c" * 10, 15), piece(1, "a" * 10, 0), piece(2, "b" * 10, 8)) == [[1, 2, 3]]
    inside = piece(1, "a" * 30, 0), piece(2, "b", 5), piece(3, "c", 30), piece(4, "d", 40)
    assert runs(*inside, text="a" * 31 + "x" * 20) == [[1, 2, 3]]


def test_collected_passages_of_one_query_are_no_neighbours() -> None:
    pieces = [Piece(n, f"biology-1/extraction_{n}.txt", f"Text {n}.") for n in range(1, 5)]
    assert groups(pieces, {}) == []
    assert groups([Piece(n, f"msmarco_passage_05_{n}", "Text.") for n in (1, 2)], {}) == []


def test_no_run_has_pieces_of_two_aspects() -> None:
    aspects = (7, None, 8, None, 8)
    pieces = [
        Piece(n, f"f/a_{n}.txt", f"text {n}", aspect=aspect) for n, aspect in enumerate(aspects)
    ]
    assert [[each.pk for each in run] for run in groups(pieces, {})] == [[0, 1], [2, 3, 4]]


def test_numbers_in_ids_tell_neighbours_where_no_page_is_known() -> None:
    one, two, four, other = (
        piece(pk, f"text {pk}", pid=pid, page=None)
        for pk, pid in enumerate(("f/a_1.txt", "f/a_2.txt", "f/a_4.txt", "f/b_3.txt"))
    )
    assert runs(one, two, four, other) == [[0, 1]]
    assert runs(piece(1, "x", pid="no number", page=None), piece(2, "y", pid="z", page=None)) == []


def test_shared_text_stands_once() -> None:
    shared = "and this is said in both of them"
    one, two = piece(1, f"First {shared}"), piece(3, f"{shared} before the end.")
    assert runs(one, two) == [[1, 3]]
    assert joined([one, two]) == f"First {shared} before the end."


def test_a_sentence_cut_in_two_is_joined_by_a_blank() -> None:
    assert joined([piece(1, "The path"), piece(2, "bends. Then")]) == "The path bends. Then"
    assert joined([piece(1, "It ends."), piece(2, "Next.")]) == "It ends.\n\nNext."


@given(st.text(alphabet="ab ", max_size=60), st.text(alphabet="ab ", max_size=60))
def test_overlap_is_an_end_and_a_beginning(one: str, other: str) -> None:
    length = overlap(one, other)
    assert length == 0 or (length >= 20 and one[-length:] == other[:length])


@pytest.fixture
def aspect(world, expert):
    return add_aspect(query=world.query, actor=expert, content="Backs to the light.", weight=5)


@pytest.fixture
def document(world):
    return make_document(
        world.benchmark, "lamps.html", "biology", text=PAGE, source_url="https://lamps.example/a"
    )


@pytest.fixture
def pair(world, document):
    """Two originals that stand side by side on their page."""
    pages = []
    for number, text in enumerate((FIRST, SECOND)):
        start = PAGE.index(text)
        pages.append(
            make_passage(
                world.benchmark,
                f"lamps/page_{number}.txt",
                "biology",
                text=text,
                document=document,
                start=start,
                end=start + len(text),
            )
        )
    make_gold(world.query, *pages)
    return pages


def standing(world):
    return {gold.passage.pid for gold in GoldPassage.objects.standing().select_related("passage")}


def test_merged_passages_are_one_verbatim_slice(world, expert, aspect, pair, document):
    assert [[each.pk for each in run] for run in touching(pair, {})] == [[each.pk for each in pair]]
    gold = remake(query=world.query, passages=pair, aspect=aspect, actor=expert)
    new = gold.passage
    assert (new.pid, new.text) == ("biology-12/extraction_1.txt", f"{FIRST} {SECOND}")
    assert document.text[new.start : new.end] == new.text
    assert [each["pid"] for each in new.extra["sources"]] == [each.pid for each in pair]
    assert (new.version.state, new.source_url) == (VersionState.GROWING, "https://lamps.example/a")
    assert standing(world) == {new.pid}


def test_labels_of_the_old_say_what_became_of_them(world, expert, aspect, pair):
    assign_passage(query=world.query, passage=pair[0], aspect=aspect, actor=expert)
    new = remake(query=world.query, passages=pair, aspect=aspect, actor=expert).passage
    for old in pair:
        label = Judgment.objects.standing().get(query=world.query, passage=old)
        assert (label.label, label.provenance["into"]) == (0, new.pid)
    assert Judgment.objects.original().filter(query=world.query, label=1).count() == 2
    assert missing(query=world.query) == [
        each for each in missing(query=world.query) if not each.blocking
    ]


def test_taking_the_new_one_back_brings_the_old_ones_back(world, expert, aspect, pair):
    assign_passage(query=world.query, passage=pair[0], aspect=aspect, actor=expert)
    new = remake(query=world.query, passages=pair, aspect=aspect, actor=expert).passage
    with pytest.raises(Refused, match="part of biology-12/extraction_1"):
        undo_with_sources(query=world.query, passage=pair[0], actor=expert)
    undo_with_sources(query=world.query, passage=new, actor=expert)
    assert standing(world) == {pair[0].pid}
    assert [item.kind for item in missing(query=world.query) if item.blocking] == ["undecided"]
    assert not Judgment.objects.standing().filter(passage=new).exists()


def test_a_moved_new_one_is_taken_back_step_by_step(world, expert, aspect, pair):
    other = add_aspect(query=world.query, actor=expert, content="Other.", weight=1)
    new = remake(query=world.query, passages=pair, aspect=aspect, actor=expert).passage
    assign_passage(query=world.query, passage=new, aspect=other, actor=expert)
    undo_with_sources(query=world.query, passage=new, actor=expert)
    assert GoldPassage.objects.standing().get().aspect == aspect
    undo_with_sources(query=world.query, passage=new, actor=expert)
    assert standing(world) == set()


def test_trimming_keeps_the_difference_to_the_slice(world, expert, aspect, pair, document):
    text = "Moths keep their backs to the light. It bends."
    new = remake(query=world.query, passages=pair, aspect=aspect, actor=expert, text=text).passage
    slice_ = document.text[new.start : new.end]
    assert apply_edits(slice_, new.extra["edits"]) == new.text == text


def test_one_passage_is_cut_again_from_its_page(world, expert, aspect, pair):
    start = PAGE.index("keep")
    new = remake(
        query=world.query,
        passages=pair[:1],
        aspect=aspect,
        actor=expert,
        start=start,
        end=PAGE.index(" The path"),
    ).passage
    assert new.text == "keep their backs to the light."
    assert standing(world) == {new.pid}


def test_one_passage_that_stays_as_it_was_is_only_assigned(world, expert, aspect, pair):
    gold = remake(query=world.query, passages=pair[:1], aspect=aspect, actor=expert)
    assert gold.passage == pair[0]


def test_a_page_that_is_known_by_its_ids_alone_is_merged_too(world, expert, aspect):
    pages = [
        make_passage(world.benchmark, f"moths/m_{n}.txt", "biology", text=text)
        for n, text in enumerate(("The path", "bends round."))
    ]
    make_gold(world.query, *pages)
    new = remake(query=world.query, passages=pages, aspect=aspect, actor=expert).passage
    assert (new.text, new.document, new.start) == ("The path bends round.", None, None)


def test_passages_of_two_pages_are_refused(world, expert, aspect, pair):
    make_gold(world.query, world.passage)
    with pytest.raises(Refused, match="one page"):
        remake(query=world.query, passages=[pair[0], world.passage], aspect=aspect, actor=expert)


def test_passages_of_two_aspects_are_neither_offered_nor_merged(world, expert, aspect, pair):
    other = add_aspect(query=world.query, actor=expert, content="Other.", weight=1)
    for passage, supported in zip(pair, (aspect, other), strict=True):
        assign_passage(query=world.query, passage=passage, aspect=supported, actor=expert)
    assert touching(pair, {pair[0].pk: aspect.pk, pair[1].pk: other.pk}) == []
    with pytest.raises(Refused, match="two aspects"):
        remake(query=world.query, passages=pair, aspect=aspect, actor=expert)
    assert GoldPassage.objects.standing().filter(query=world.query).count() == 2


def test_what_is_no_gold_of_the_query_is_refused(world, expert, aspect, pair, document):
    stray = make_passage(
        world.benchmark, "lamps/page_9.txt", "biology", text="About us", document=document
    )
    with pytest.raises(Refused, match="not gold"):
        remake(query=world.query, passages=[pair[0], stray], aspect=aspect, actor=expert)
    remake(query=world.query, passages=pair, aspect=aspect, actor=expert)
    with pytest.raises(Refused, match="not gold"):
        remake(query=world.query, passages=pair, aspect=aspect, actor=expert)


def test_a_discarded_original_can_still_be_merged(world, expert, aspect, pair):
    discard_passage(query=world.query, passage=pair[1], reason="fragment", actor=expert)
    new = remake(query=world.query, passages=pair, aspect=aspect, actor=expert).passage
    undo_with_sources(query=world.query, passage=new, actor=expert)
    label = Judgment.objects.standing().get(query=world.query, passage=pair[1])
    assert label.provenance["reason"] == "fragment"


@pytest.mark.parametrize("place", [(0, 0), (5, 2), (0, 10_000)])
def test_a_slice_outside_the_page_is_refused(world, expert, aspect, pair, place):
    with pytest.raises(Refused, match="Choose a piece"):
        remake(
            query=world.query,
            passages=pair[:1],
            aspect=aspect,
            actor=expert,
            start=place[0],
            end=place[1],
        )
    assert standing(world) == set()
