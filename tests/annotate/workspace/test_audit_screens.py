"""Old gold beside its page, merging by key, problems, and the list that counts them."""

import pytest
from django.urls import reverse
from lxml import html

from annotate.models import GoldPassage
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import discard_passage
from tests.annotate.workspace.test_remaking import FIRST, PAGE, SECOND
from tests.annotate.world import hx
from tests.factories import make_document, make_gold, make_passage
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(world):
    document = make_document(
        world.benchmark, "lamps.html", "biology", text=PAGE, source_url="https://lamps.example/a"
    )
    world.pair = [
        make_passage(
            world.benchmark,
            f"lamps/page_{number}.txt",
            "biology",
            text=text,
            document=document,
            start=PAGE.index(text),
            end=PAGE.index(text) + len(text),
        )
        for number, text in enumerate((FIRST, SECOND))
    ]
    make_gold(world.query, *world.pair)
    world.aspect = add_aspect(
        query=world.query, actor=world.voters[0], content="Backs to the light.", weight=5
    )
    return world


def at(world, name: str, *more: object) -> str:
    return reverse(name, args=[world.benchmark.slug, *more])


def page_of(world, number: int = 0) -> str:
    return at(world, "passage-remake", world.query.pk, world.pair[number].pk)


def test_the_workspace_offers_what_touches(world, me):
    page = html.fromstring(me.get(at(world, "query", world.query.pk)).content)
    (merge,) = page.xpath("//article[contains(@class,'open')]//a[@data-key='m']")
    assert merge.get("href") == f"{page_of(world)}?with={world.pair[1].pk}"
    assert "Merge with page_1.txt" in merge.text_content()


def test_a_passage_stands_beside_its_page_with_what_it_touches(world, me):
    page = html.fromstring(me.get(f"{page_of(world)}?with={world.pair[1].pk}").content)
    assert page.get_element_by_id("page-text").text_content() == PAGE
    assert page.get_element_by_id("proposal").text_content() == f"{FIRST} {SECOND}"
    (box,) = page.xpath("//input[@name='with']")
    assert (box.get("value"), box.get("checked")) == (str(world.pair[1].pk), "checked")
    marks = page.xpath("//*[@id='on-page']//*[@data-start]")
    assert [int(each.get("data-start")) for each in marks] == [each.start for each in world.pair]


@pytest.mark.slow
def test_merging_leads_back_and_shows_what_became_of_the_old(world, me):
    sent = {"with": world.pair[1].pk, "aspect": world.aspect.pk}
    page = one_line(me.post(page_of(world), sent, follow=True))
    assert "biology-12/extraction_1.txt supports a1." in page
    assert page.count("part of extraction_1.txt") == 2
    gold = GoldPassage.objects.standing().get()
    undo = reverse("passage-undo", args=["garden", world.query.pk, gold.passage_id])
    assert "0 of 2 decided" in one_line(me.post(undo, **hx("passages")))
    assert not GoldPassage.objects.standing().exists()


def test_a_refused_merge_keeps_what_was_typed(world, me):
    answer = me.post(page_of(world), {"text": "My trimmed words.", "with": world.pair[1].pk})
    assert answer.status_code == 422
    page = html.fromstring(answer.content)
    assert page.get_element_by_id("remake-text").text_content() == "My trimmed words."
    assert "Choose the aspect" in one_line(answer)


def test_a_passage_without_a_page_is_shown_alone(world, me):
    make_gold(world.query, world.passage)
    address = at(world, "passage-remake", world.query.pk, world.passage.pk)
    page = one_line(me.get(address))
    assert "Its source page is not here" in page
    assert world.passage.text in page


def test_a_note_is_kept_while_it_is_typed(world, me):
    page = html.fromstring(me.get(at(world, "query", world.query.pk)).content)
    (note,) = page.xpath("//textarea[@name='note']")
    assert note.get("data-draft") == f"discard-note-{world.pair[0].pk}"


def test_problems_are_toggled_in_place(world, me):
    sent = {"passage": world.pair[0].pk, "problem": "structural_noise"}
    on, off = (at(world, name, world.query.pk) for name in ("problem-tag", "problem-untag"))
    body = one_line(me.post(on, sent, **hx("passages")))
    assert 'aria-pressed="true"' in body
    assert 'aria-pressed="true"' not in one_line(me.post(off, sent, **hx("passages")))
    assert me.post(on, {"problem": "incomplete_gold"}).status_code == 302
    assert "incomplete gold" in one_line(me.get(at(world, "query", world.query.pk)))


@pytest.mark.slow
def test_the_audit_counts_and_filters(world, me):
    discard_passage(
        query=world.query,
        passage=world.pair[1],
        reason="noise",
        note="only menus",
        actor=world.voters[0],
    )
    audit = at(world, "audit")
    page = html.fromstring(me.get(audit).content)
    counts = [each.text_content().split() for each in page.xpath("//ul[@class='plain']/li")]
    assert ["Undecided", "1"] in counts
    assert ["Structural", "noise", "1"] in counts
    for params in ("verdict=noise", "problem=structural_noise"):
        rows = html.fromstring(me.get(f"{audit}?{params}").content).xpath("//tbody/tr")
        assert ["only menus" in row.text_content() for row in rows] == [True]
    assert "Nothing matches" in one_line(me.get(f"{audit}?problem=incomplete_gold"))


def test_an_audit_page_asks_the_same_questions_whatever_its_length(
    world, me, django_assert_num_queries
):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    audit = at(world, "audit")
    with CaptureQueriesContext(connection) as short:
        me.get(audit)
    make_gold(
        world.query,
        *(make_passage(world.benchmark, f"more/{n}.txt", "biology") for n in range(5)),
    )
    with django_assert_num_queries(len(short)):
        me.get(audit)
