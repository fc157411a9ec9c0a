"""The screens that split, merge, weigh anew and undo; with and without JavaScript."""

import pytest
from django.urls import reverse
from lxml import html

from annotate.models import Aspect, AspectChange
from annotate.workspace.aspects import add_aspect, save_aspect
from annotate.workspace.gold import assign_passage
from tests.annotate.world import hx, signed_in
from tests.factories import make_gold
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(world):
    make_gold(world.query, world.passage)
    return world


@pytest.fixture
def aspects(world):
    texts = ("Light bends the paths of moths.", "Heat is no lure at all.")
    return [
        add_aspect(query=world.query, actor=world.voters[0], content=text, weight=3)
        for text in texts
    ]


def at(world, name: str, *more: object) -> str:
    return reverse(name, args=[world.benchmark.slug, *more])


def here(world) -> str:
    return at(world, "query", world.query.pk)


def parts(*texts: str, version: int = 1, weight: str = "4") -> dict[str, str]:
    sent = {"version": str(version)}
    for number, text in enumerate(texts):
        sent |= {f"p{number}-content": text, f"p{number}-weight": weight}
    return sent


def present(world) -> list[str]:
    rows = Aspect.objects.filter(query=world.query).present()
    return [each.content for each in rows]


def test_a_split_page_begins_with_what_is_written(world, me, aspects):
    assign_passage(
        query=world.query, passage=world.passage, aspect=aspects[0], actor=world.voters[0]
    )
    page = one_line(me.get(at(world, "aspect-split", aspects[0].pk)))
    first = html.fromstring(page).get_element_by_id("id_p0-content")
    assert first.text_content().strip() == "Light bends the paths of moths."
    assert "1 passage will ask for its new aspect" in page


def test_a_split_leads_to_the_query_where_passages_ask(world, me, aspects):
    assign_passage(
        query=world.query, passage=world.passage, aspect=aspects[0], actor=world.voters[0]
    )
    answer = me.post(at(world, "aspect-split", aspects[0].pk), parts("One.", "Two."), follow=True)
    page = one_line(answer)
    assert "a1 was split into a3, a4." in page
    assert "a1 is gone: choose its aspect" in page
    assert f'class="passage open" id="passage-{world.passage.pk}"' in page
    assert "asks for a new aspect" in page
    assert present(world) == ["One.", "Two.", "Heat is no lure at all."]


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (parts("One."), "split into 2 to 6 parts"),
        (parts("One.", "Two.", weight=""), "Choose a weight"),
        (parts("One.", "Two.", weight="9"), "Choose a weight from 1 to 5."),
        (parts("One.", "Two.", version=7), "changed a1 meanwhile"),
    ],
)
def test_a_refused_split_keeps_what_was_typed(world, me, aspects, sent, words):
    answer = me.post(at(world, "aspect-split", aspects[0].pk), sent)
    assert answer.status_code == 422
    page = one_line(answer)
    assert words in page
    assert "One." in html.fromstring(page).get_element_by_id("id_p0-content").text_content()
    assert len(present(world)) == 2


def test_a_conflict_can_be_sent_again_once_it_was_seen(world, me, aspects):
    save_aspect(
        aspect=aspects[0],
        actor=world.voters[1],
        expected=1,
        content="Theirs.",
        rationale="",
        weight=3,
    )
    address = at(world, "aspect-split", aspects[0].pk)
    answer = me.post(address, parts("One.", "Two."))
    assert "annotator-2 changed a1 meanwhile; it says now: Theirs." in one_line(answer)
    version = answer.context["aspect"].version
    assert me.post(address, parts("One.", "Two.", version=version)).status_code == 302


def test_the_partner_of_a_merge_is_chosen_by_letter(world, me, aspects):
    address = at(world, "aspect-merge", aspects[0].pk)
    page = html.fromstring(me.get(address).content)
    (choice,) = page.xpath("//main//a[@data-key='a']")
    assert choice.get("href") == f"?with={aspects[1].pk}"
    form = one_line(me.get(address + choice.get("href")))
    assert "Light bends the paths of moths. Heat is no lure at all." in form
    sent = {"with": aspects[1].pk, "version": 1, "other": 1, "content": "Both.", "weight": 5}
    assert me.post(address, sent).url == here(world)
    assert present(world) == ["Both."]


def test_history_shows_every_change_and_undoes_it(world, me, aspects):
    save_aspect(
        aspect=aspects[0],
        actor=world.voters[1],
        expected=1,
        content="Light bends the flight of moths.",
        rationale="",
        weight=4,
    )
    page = html.fromstring(me.get(at(world, "aspect-history", world.query.pk)).content)
    assert [each.text for each in page.xpath("//main//p/del")] == ["paths"]
    assert [each.text for each in page.xpath("//main//p/ins")] == ["flight"]
    change = AspectChange.objects.first()
    address = at(world, "change-undo", world.query.pk, change.pk)
    answer = me.post(address, {"back": "history"}, follow=True)
    assert "Undone: a1 was written." in one_line(answer)
    assert present(world)[0] == "Light bends the paths of moths."
    again = me.post(address, {"back": "history"}, follow=True)
    assert "This was undone already." in one_line(again)


def test_readers_see_the_history_without_undo(world, aspects):
    page = signed_in(world.reviewer).get(at(world, "aspect-history", world.query.pk))
    assert "a2 was added." in one_line(page)
    assert "/undo/" not in one_line(page)


def test_an_empty_history_says_what_it_is_for(world, me):
    page = one_line(me.get(at(world, "aspect-history", world.query.pk)))
    assert "Nothing was changed yet" in page


def test_z_undoes_my_last_change_and_not_anothers(world, me, aspects):
    assert "Undo: a2 was added." in one_line(me.get(here(world)))
    other = one_line(signed_in(world.voters[1]).get(here(world)))
    assert "Undo: " not in other


def test_the_other_scale_wants_every_weight_anew(world, me, aspects):
    address = at(world, "query-scale", world.query.pk)
    page = html.fromstring(me.get(address).content)
    assert not page.xpath("//main//input[@type='radio'][@checked]")
    sent = {"to": "likert3", f"weight-{aspects[0].pk}": 3, f"version-{aspects[0].pk}": 1}
    answer = me.post(address, sent)
    assert (answer.status_code, "for a2" in one_line(answer)) == (422, True)
    sent |= {f"weight-{aspects[1].pk}": 1, f"version-{aspects[1].pk}": 1}
    assert me.post(address, sent).url == here(world)
    assert 'aria-label="3: Critical."' in one_line(me.get(here(world)))
    back = one_line(me.get(address + "?to=likert5"))
    assert "3 when it was on this scale" in back


def test_shares_are_typed_and_not_chosen_from_a_hundred_points(world, me, aspects):
    address = at(world, "query-scale", world.query.pk)
    first = aspects[0]
    page = html.fromstring(me.get(address + "?to=shares").content)
    assert page.xpath("//main//input[@type='number']/@name") == [
        f"weight-{each.pk}" for each in aspects
    ]
    sent = {"to": "shares"}
    for share, each in zip((40, 60), aspects, strict=True):
        sent |= {f"weight-{each.pk}": share, f"version-{each.pk}": each.version}
    assert me.post(address, sent).url == here(world)
    page = html.fromstring(me.get(here(world)).content)
    assert not page.xpath("//main//input[@type='radio'][@name='weight']")
    assert page.xpath("//main//input[@type='number'][@name='weight']/@value") == ["40", "60"]
    first.refresh_from_db()
    typed = {"version": first.version, "content": "x", "rationale": "", "weight": 35}
    me.post(at(world, "aspect-save", first.pk), typed | {"base_weight": 40})
    first.refresh_from_db()
    assert first.weight == 35


def test_admins_choose_the_scale_of_new_queries(world, me):
    admin = signed_in(world.admin)
    admin.post(at(world, "weight-scale"), {"scale": "likert3"})
    assert "Aspects of new queries are weighed 1 to 3" in one_line(me.get(at(world, "guidelines")))
    assert me.post(at(world, "weight-scale"), {"scale": "likert5"}).status_code == 403


def test_close_and_long_aspects_are_pointed_out_as_they_are_written(world, me, aspects):
    text = "Light bends the paths of many moths. They roll. They fall."
    sent = {"intent": "draft", "content": text, "rationale": "", "weight": "4", "version": "1"}
    body = one_line(me.post(at(world, "aspect-save", aspects[1].pk), sent, **hx()))
    assert f'id="hints-{aspects[1].pk}"' in body
    assert "close to a1" in body
    assert "3 sentences" in body


def test_the_checklist_follows_every_write(world, me, aspects):
    page = html.fromstring(me.get(here(world)).content)
    texts = [" ".join(each.text_content().split()) for each in page.xpath("//dialog//ol//a")]
    assert texts == [
        f"1 {world.passage.pid} is undecided",
        "2 a1 has no passage",
        "3 a2 has no passage",
    ]
    address = reverse("passage-assign", args=["garden", world.query.pk, world.passage.pk])
    body = one_line(me.post(address, {"aspect": aspects[0].pk}, **hx("passages")))
    assert 'id="checklist-items"' in body
    assert "is undecided" not in body
