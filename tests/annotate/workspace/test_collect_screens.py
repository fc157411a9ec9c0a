"""The Collect screens: what is brought appears, what is cut shows, what was typed stays."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from lxml import html

from annotate.models import Aspect, GoldPassage
from annotate.workspace import collecting
from annotate.workspace.collecting import add_segment
from corpus.models import PageFetch, Role
from evaluation.content.reading import read_documents, read_queries
from evaluation.content.view import view_of
from tests.annotate.workspace.test_collecting import TEXT, worked
from tests.corpus.extraction.test_extraction import ARTICLE, PAGE
from tests.factories import make_benchmark, make_member, make_query
from tests.markup import one_line

pytestmark = pytest.mark.django_db
HX = {"HX-Request": "true", "HX-Target": "kept"}


@pytest.fixture
def expert(benchmark):
    return make_member(benchmark, "expert", Role.ANNOTATOR)


@pytest.fixture
def aspect(query):
    return Aspect.objects.create(query=query, k=1, position=1, content="They tilt.")


@pytest.fixture
def page(query, expert):
    return collecting.collect_text(query=query, text=TEXT, actor=expert, title="Moths")


@pytest.fixture
def client(expert):
    browser = Client()
    browser.force_login(expert)
    return browser


def url(name: str, query, *more: object) -> str:
    return reverse(name, args=["demo", query.pk, *more])


def test_an_empty_list_says_what_to_do(client, query) -> None:
    page = one_line(client.get(url("collect", query)))
    assert "paste its address" in page


def test_an_address_is_queued_and_its_progress_asked_for(client, query) -> None:
    answer = client.post(url("collect-url", query), {"url": "moths.example/a"})
    assert answer.url == url("collect", query)
    page = one_line(client.get(answer.url))
    assert "https://moths.example/a" in page
    assert "every 1s" in page
    client.post(url("fetch-stop", query, PageFetch.objects.get().pk))
    assert "every 1s" not in one_line(client.get(answer.url))


def test_pasted_text_leads_to_its_page(client, query) -> None:
    answer = client.post(url("collect-text", query), {"text": TEXT, "title": "Moths"})
    page = one_line(client.get(answer.url))
    assert "Second line about lamps." in page


@pytest.mark.slow
def test_what_cannot_be_kept_comes_back_as_it_was(client, query) -> None:
    answer = client.post(url("collect-text", query), {"text": "  \n ", "title": "My title"})
    assert answer.status_code == 422
    assert "My title" in one_line(answer)


@pytest.mark.slow
def test_the_text_on_the_page_is_the_document_to_the_last_blank(client, query, expert) -> None:
    page = upload(client, query, PAGE)
    answer = client.get(url("collect-page", query, page.pk))
    text = html.fromstring(answer.content).get_element_by_id("page-text")
    document = page.document
    assert text.text_content() == document.text
    hidden = {each.text_content() for each in text.find_class("left-out")}
    assert "Shop all lamps" in hidden
    assert not hidden & set(ARTICLE)


@pytest.mark.slow
def test_a_piece_is_cut_and_taken_back(client, query, page, aspect) -> None:
    where = url("segment-add", query, page.pk)
    answer = client.post(where, {"start": 0, "end": 23, "aspect": aspect.pk}, headers=HX)
    shown = one_line(answer)
    assert "biology-7/extraction_1.txt" in shown
    assert 'data-start="0" data-end="23"' in shown
    assert "segment:added" in answer.headers["HX-Trigger"]
    gold = GoldPassage.objects.standing().get()
    answer = client.post(url("segment-undo", query, page.pk, gold.passage_id), headers=HX)
    assert not GoldPassage.objects.standing().exists()
    assert "extraction_1" not in one_line(answer)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"aspect": "{aspect}"}, "Choose a piece"),
        ({"start": 0, "end": 5}, "Choose the aspect"),
        ({"start": 0, "end": 99_999, "aspect": "{aspect}"}, "Choose a piece"),
        ({"start": 0, "end": 5, "aspect": 0}, "is gone"),
    ],
)
def test_a_refused_piece_says_why_and_cuts_nothing(
    client, query, page, aspect, sent, words
) -> None:
    filled = {key: aspect.pk if value == "{aspect}" else value for key, value in sent.items()}
    answer = client.post(url("segment-add", query, page.pk), filled, headers=HX)
    assert words in one_line(answer)
    assert "HX-Trigger" not in answer.headers
    assert not GoldPassage.objects.exists()


@pytest.mark.slow
def test_lines_that_were_left_out_stay_out_unless_wanted(client, query, aspect) -> None:
    page = upload(client, query, PAGE)
    sent = {"start": 0, "end": len(page.document.text), "aspect": aspect.pk}
    client.post(url("segment-add", query, page.pk), {**sent, "main_only": "on"}, headers=HX)
    client.post(url("segment-add", query, page.pk), sent, headers=HX)
    one, two = (gold.passage for gold in GoldPassage.objects.standing().order_by("pk"))
    assert "Shop all lamps" not in one.text
    assert ARTICLE[2] in one.text
    assert two.text == page.document.text.strip()


def test_a_page_of_another_benchmark_is_not_there(client, query, expert) -> None:
    other = make_benchmark("other")
    stranger = make_member(other, "stranger", Role.ANNOTATOR)
    foreign = collecting.collect_text(query=make_query(other, "1"), text="Theirs.", actor=stranger)
    assert client.get(url("collect-page", query, foreign.pk)).status_code == 404


def test_a_release_holds_what_was_collected_and_kept(
    benchmark, query, page, aspect, expert
) -> None:
    def add(start: int, end: int) -> GoldPassage:
        return add_segment(
            query=query, page=page, start=start, end=end, aspect=aspect, actor=expert
        )[0]

    kept, given_up = add(0, 23), add(25, 49)
    browser = Client()
    browser.force_login(expert)
    browser.post(
        reverse("passage-discard", args=["demo", query.pk, given_up.passage_id]),
        {"reason": "noise"},
    )
    view = view_of(benchmark)
    [(pid, text, title, url, day)] = read_documents(view, query.domain)
    assert (pid, text) == ("biology-7/extraction_1.txt", "First line about moths.")
    # A page that was pasted was fetched on a day that nobody told.
    assert (title, url, day) == (page.document.title, page.document.source_url, None)
    (record,) = read_queries(view, query.domain)
    assert [label.passage for label in record.labels] == [kept.passage.pid]
    assert record.aspects[0].passages == (kept.passage.pid,)


def upload(client, query, text: str):
    """The page of an uploaded file, which is shown as waiting until a worker had it."""
    file = {"upload": SimpleUploadedFile("moths.html", text.encode())}
    answer = client.post(url("collect-file", query), file)
    waiting = one_line(client.get(answer.url))
    assert "moths.html" in waiting
    assert "every 1s" in waiting
    page = worked(PageFetch.objects.get()).page
    shown = one_line(client.get(answer.url))
    assert url("collect-page", query, page.pk) in shown
    assert "every 1s" not in shown
    return page


@pytest.mark.slow
def test_the_structure_of_the_page_leads_into_its_text(client, query) -> None:
    headed = PAGE.replace("<body>", "<body><h1>Lamps and moths</h1>", 1)
    page = upload(client, query, headed)
    tree = html.fromstring(client.get(url("collect-page", query, page.pk)).content)
    links = tree.xpath("//ol[contains(@class,'outline')]//a")
    assert "Lamps and moths" in [link.text_content() for link in links]
    for link in links:
        block = tree.get_element_by_id(link.get("href").removeprefix("#"))
        assert block.text_content().startswith(link.text_content()[:40])
    assert page.sha256[:12] in tree.text_content()


def test_a_piece_moves_to_another_aspect(client, query, page, aspect) -> None:
    other = Aspect.objects.create(query=query, k=2, position=2, content="They roll.")
    client.post(
        url("segment-add", query, page.pk), {"start": 0, "end": 23, "aspect": aspect.pk}, headers=HX
    )
    gold = GoldPassage.objects.standing().get()
    where = url("segment-move", query, page.pk, gold.passage_id)
    answer = one_line(client.post(where, {"aspect": other.pk}, headers=HX))
    assert GoldPassage.objects.standing().get().aspect == other
    assert "to a1" in answer
    assert "is gone" in one_line(client.post(where, {"aspect": 0}, headers=HX))


@pytest.mark.slow
def test_a_piece_is_cut_anew_in_its_place(client, query, page, aspect) -> None:
    where = url("segment-add", query, page.pk)
    client.post(where, {"start": 0, "end": 10, "aspect": aspect.pk}, headers=HX)
    old = GoldPassage.objects.standing().get().passage_id
    sent = {"start": 0, "end": 23, "recut": old}
    answer = one_line(client.post(where, sent, headers=HX))
    gold = GoldPassage.objects.standing().get()
    assert (gold.passage.text, gold.aspect) == ("First line about moths.", aspect)
    assert "extraction_2.txt" in answer
    assert "This passage is gone" in one_line(client.post(where, sent, headers=HX))


def test_what_was_edited_and_what_overlaps_is_shown(client, query, page, aspect) -> None:
    where = url("segment-add", query, page.pk)
    sent = {"start": 0, "end": 23, "aspect": aspect.pk, "text": "First line on moths."}
    client.post(where, sent, headers=HX)
    client.post(where, {"start": 11, "end": 49, "aspect": aspect.pk}, headers=HX)
    answer = client.get(url("collect-page", query, page.pk)).content
    tree = html.fromstring(answer)
    assert tree.xpath("//*[@id='kept']//del")
    assert "overlaps biology-7/extraction_2.txt" in tree.get_element_by_id("kept").text_content()


def test_who_collected_a_page_before_and_for_what_is_told(
    client, benchmark, query, page, aspect
) -> None:
    second = make_query(benchmark, "8")
    client.post(
        url("segment-add", query, page.pk), {"start": 0, "end": 23, "aspect": aspect.pk}, headers=HX
    )
    shown = one_line(client.get(url("collect-page", second, page.pk)))
    assert "Passages were cut from this page for" in shown
    address = "https://moths.example/a"
    client.post(url("collect-text", query), {"text": "About moths.", "url": address})
    answer = client.post(url("collect-url", second), {"url": address}, follow=True)
    assert "This page was collected by expert on" in one_line(answer)


def test_a_collected_passage_has_a_page_of_its_own(client, query, page, aspect, expert) -> None:
    gold = add_segment(query=query, page=page, start=0, end=23, aspect=aspect, actor=expert)[0]
    answer = client.get(reverse("passage", args=["demo", gold.passage_id]))
    assert "Passage 1 of 1 on this page" in one_line(answer)
