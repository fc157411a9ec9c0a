"""Pages that experts bring and the passages cut from them: nothing bent, lost or doubled."""

import gzip
from collections.abc import Iterator

import pytest
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import GoldPassage
from annotate.workspace import collecting
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import undo_verdict
from annotate.workspace.remaking import remake, undo_with_sources
from corpus.models import (
    CollectedPage,
    CorpusVersion,
    Document,
    Judgment,
    PageFetch,
    Passage,
    Role,
    VersionState,
)
from corpus.pages import fetching
from corpus.pages import services as pages
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus
from tests.annotate.world import apply_edits
from tests.corpus.extraction.test_extraction import ARTICLE, PAGE, pdf
from tests.factories import make_member, make_passage
from tests.local_site import Site, serving

pytestmark = pytest.mark.django_db
TEXT = "First line about moths.\n\nSecond line about lamps.\n\nThird line about the sky 🦋."


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as number:
        yield number


@pytest.fixture
def expert(benchmark):
    return make_member(benchmark, "expert", Role.ANNOTATOR)


@pytest.fixture
def aspect(query, expert):
    return add_aspect(query=query, actor=expert, content="They tilt toward light.")


@pytest.fixture
def page(query, expert):
    return collecting.collect_text(query=query, text=TEXT, actor=expert, title="Moths")


def cut(query, page, aspect, expert, words, **more):
    start = page.document.text.index(words)
    return collecting.add_segment(
        query=query,
        page=page,
        start=start,
        end=start + len(words),
        aspect=aspect,
        actor=expert,
        **more,
    )


def test_pasted_text_is_kept_as_it_is(page, expert) -> None:
    assert page.document.text == TEXT
    assert gzip.decompress(pages._raw_path(page.sha256).read_bytes()) == TEXT.encode()
    assert (page.document.version, page.origin, str(page)) == (None, "pasted", "Moths")
    assert Event.objects.filter(verb="collect page", actor=expert).count() == 1


def test_the_same_bytes_are_one_page(query, page, expert) -> None:
    again = collecting.collect_text(query=query, text=TEXT, actor=expert)
    assert again.pk == page.pk
    assert Document.objects.count() == 1


def fetched(query, expert, settings, address, port):
    settings.ASSAY_FETCH_ALSO = [f"127.0.0.1:{port}"]
    return worked(collecting.collect_url(query=query, url=address, actor=expert))


def uploaded(query, expert, name: str, body: bytes) -> PageFetch:
    upload = SimpleUploadedFile(name, body)
    return worked(collecting.collect_file(query=query, upload=upload, actor=expert))


def worked(run: PageFetch) -> PageFetch:
    """The run after a worker had it."""
    if run.claim():
        fetching.run_fetch(run)
    run.refresh_from_db()
    return run


@pytest.mark.slow
def test_uploaded_html_keeps_what_was_dropped(query, expert) -> None:
    page = uploaded(query, expert, "moths.html", PAGE.encode()).page
    text = page.document.text
    main = [text[a:b] for a, b, _, _, is_main in page.spans if is_main]
    assert [piece for piece in main if len(piece) > 40] == ARTICLE
    assert "Shop all lamps" in text
    assert page.document.title == "Why moths circle"
    assert gzip.decompress(pages._raw_path(page.sha256).read_bytes()) == PAGE.encode()
    upload = SimpleUploadedFile("again.html", PAGE.encode())
    assert collecting.collect_file(query=query, upload=upload, actor=expert).page == page


@pytest.mark.slow
def test_uploaded_pdf_is_read_and_a_broken_one_refused(query, expert) -> None:
    page = uploaded(query, expert, "scan.bin", pdf("Moths roll their backs")).page
    assert "roll their backs" in page.document.text
    assert str(page) == "scan.bin"
    bad = uploaded(query, expert, "scan.pdf", b"%PDF-1.4 broken")
    assert (bad.status, bad.page) == (RunStatus.FAILED, None)
    assert "not a PDF" in bad.error
    assert not pages._raw_path(bad.given["sha256"]).exists()


@pytest.mark.slow
def test_a_page_is_fetched_once(query, expert, settings, port) -> None:
    address = f"http://127.0.0.1:{port}/good?utm_source=mail#part"
    run = fetched(query, expert, settings, address, port)
    assert (run.status, run.error) == (RunStatus.DONE, "")
    assert "toward the lamp. Größe 7 µm" in run.page.document.text
    assert run.page.document.fetched_on == run.page.created_at.date()
    Site.seen.clear()
    again = fetched(query, expert, settings, f"http://127.0.0.1:{port}/good", port)
    assert (again.status, again.page) == (RunStatus.DONE, run.page)
    assert Site.seen == []


@pytest.mark.parametrize(
    ("path", "words"),
    [("missing", "answered 404"), ("image", "image/gif"), ("to?http://10.0.0.1/", "public web")],
)
def test_a_page_that_does_not_come_says_why(
    query,
    expert,
    settings,
    port,
    path,
    words,
) -> None:
    run = fetched(query, expert, settings, f"http://127.0.0.1:{port}/{path}", port)
    assert run.status == RunStatus.FAILED
    assert words in run.error
    assert not CollectedPage.objects.exists()


def test_loopback_is_closed_unless_opened(query, expert, port) -> None:
    run = collecting.collect_url(query=query, url=f"http://127.0.0.1:{port}/good", actor=expert)
    assert run.claim()
    fetching.run_fetch(run)
    run.refresh_from_db()
    assert run.status == RunStatus.FAILED


def test_a_fetch_can_be_stopped(query, expert) -> None:
    run = collecting.collect_url(query=query, url="moths.example/page", actor=expert)
    assert run.url == "https://moths.example/page"
    collecting.stop_fetch(fetch=run, actor=expert)
    assert PageFetch.objects.get().status == RunStatus.CANCELLED
    assert not run.claim()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www.Moths.example/a/", "http://moths.example/a#top"),
        ("https://moths.example/a?utm_source=x&id=3", "https://moths.example/a?id=3&fbclid=9"),
    ],
)
def test_two_spellings_of_one_address(one: str, other: str) -> None:
    assert pages.url_key(one) == pages.url_key(other) != ""


def test_other_addresses_stay_other() -> None:
    keys = {pages.url_key(f"https://moths.example/{x}") for x in ("a", "b", "a?id=1", "a?id=2")}
    assert len(keys) == 4
    assert pages.url_key("no address") == pages.url_key("") == ""


def test_nearly_the_same_text_is_pointed_out(query, expert) -> None:
    long = " ".join(f"word{n} of the page about moths and lamps number {n}" for n in range(200))
    one, two, three = (
        collecting.collect_text(query=query, text=text, actor=expert)
        for text in (long, f"{long} And a footer.", " ".join(reversed(long.split())))
    )
    assert [found.pk for found, _ in pages.pages_like(one)] == [two.pk]
    assert pages.pages_like(three) == []


def test_a_segment_is_a_gold_passage_of_one_aspect(query, page, aspect, expert) -> None:
    gold = cut(query, page, aspect, expert, "Second line about lamps.")[0]
    passage = gold.passage
    assert passage.text == "Second line about lamps."
    assert page.document.text[passage.start : passage.end] == passage.text
    assert (passage.pid, passage.extra) == ("biology-7/extraction_1.txt", None)
    assert (passage.version.state, gold.aspect) == (VersionState.GROWING, aspect)
    label = Judgment.objects.standing().get(query=query, passage=passage)
    assert (label.label, label.source) == (1, "expert")


def test_numbers_count_on_and_are_never_used_again(query, page, aspect, expert, benchmark) -> None:
    make_passage(benchmark, "biology-7/extraction_4.txt")
    first = cut(query, page, aspect, expert, "First line about moths.")[0]
    undo_verdict(query=query, passage=first.passage, actor=expert)
    second = cut(query, page, aspect, expert, "Second line about lamps.")[0]
    assert first.passage.pid == "biology-7/extraction_5.txt"
    assert second.passage.pid == "biology-7/extraction_6.txt"


def test_an_edited_text_keeps_its_difference(query, page, aspect, expert) -> None:
    words = "Third line about the sky 🦋."
    gold = cut(query, page, aspect, expert, words, text="The line about a sky 🦋.")[0]
    assert gold.passage.text == "The line about a sky 🦋."
    assert apply_edits(words, gold.passage.extra["edits"]) == gold.passage.text


@pytest.mark.slow
@given(st.text(max_size=60), st.text(max_size=60))
def test_edits_make_the_text_of_the_slice(piece: str, wanted: str) -> None:
    changes = collecting.edits(piece, wanted)
    assert apply_edits(piece, changes) == wanted
    assert (changes == []) == (piece == wanted)


def test_overlaps_are_told_and_the_same_piece_twice_is_refused(query, page, aspect, expert) -> None:
    one = cut(query, page, aspect, expert, "First line about moths.")
    assert one[1] == []
    two = cut(query, page, aspect, expert, "about moths.\n\nSecond line")
    assert [g.pk for g in two[1]] == [one[0].pk]
    with pytest.raises(Refused, match="already"):
        cut(query, page, aspect, expert, "First line about moths.")


def test_cutting_anew_leaves_one_gold_and_can_be_undone(query, page, aspect, expert) -> None:
    old = cut(query, page, aspect, expert, "First line")[0]
    new = remake(query=query, passages=[old.passage], aspect=aspect, actor=expert, start=0, end=23)
    assert [g.pk for g in GoldPassage.objects.standing()] == [new.pk]
    assert new.passage.text == "First line about moths."
    labels = Judgment.objects.standing().filter(query=query, label=1)
    assert [label.passage_id for label in labels] == [new.passage_id]
    undo_with_sources(query=query, passage=new.passage, actor=expert)
    assert [g.passage for g in GoldPassage.objects.standing()] == [old.passage]


@pytest.mark.slow
def test_dropped_lines_can_be_left_out(query, expert) -> None:
    page = uploaded(query, expert, "moths.html", PAGE.encode()).page
    whole = collecting.main_text_of(page, 0, len(page.document.text))
    assert ARTICLE[0] in whole
    assert "Shop all lamps" not in whole


@pytest.mark.parametrize("place", [(0, 0), (5, 2), (-1, 4), (0, 10_000)])
def test_a_slice_outside_the_page_is_refused(query, page, aspect, expert, place) -> None:
    with pytest.raises(Refused):
        collecting.add_segment(
            query=query, page=page, start=place[0], end=place[1], aspect=aspect, actor=expert
        )
    assert not Passage.objects.exists()


def test_what_was_collected_is_no_corpus_version(query, page, aspect, expert, benchmark) -> None:
    before = CorpusVersion.objects.current(benchmark)
    cut(query, page, aspect, expert, "First line about moths.")
    assert CorpusVersion.objects.current(benchmark) == before
    assert CorpusVersion.objects.growing(benchmark).passages.count() == 1
    assert not Passage.objects.in_version(before).exists()


def test_only_experts_of_the_domain_collect(query, page, aspect, benchmark) -> None:
    for role in (Role.ADMIN, Role.REVIEWER):
        person = make_member(benchmark, f"a {role}", role)
        with pytest.raises(PermissionDenied):
            collecting.collect_url(query=query, url="https://moths.example", actor=person)
        with pytest.raises(PermissionDenied):
            cut(query, page, aspect, person, "First line about moths.")
    assert not GoldPassage.objects.exists()
    assert [fetch.page for fetch in PageFetch.objects.all()] == [page]  # the one that was pasted


def test_edits_of_a_slice_that_differs_everywhere_are_one_run() -> None:
    piece, wanted = f"Same. {'ab' * 15_000} End.", f"Same. {'cd' * 20_000} End."
    assert collecting.edits(piece, wanted) == [(6, 30_000, "cd" * 20_000)]
    assert apply_edits(piece, collecting.edits(piece, wanted)) == wanted
