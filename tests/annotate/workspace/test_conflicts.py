"""Two people write one aspect: what does not clash is merged, and no word of either is lost.

`mine` and `theirs` are two forms that were opened on the same aspect; each keeps, as a browser
does, its fields and the bases that the page and the answers to its saves gave it.
"""

import html
import re
from typing import Any

import pytest

from annotate.workspace.aspects import add_aspect, save_aspect
from kit.models import Event
from tests.annotate.world import hx, signed_in
from tests.markup import one_line

FIELDS = ("content", "rationale", "weight")


class Form:
    """The form of an aspect in one person's browser, without a script that follows others."""

    def __init__(self, world, person, aspect) -> None:
        self.client, self.url = signed_in(person), world.url(f"aspects/{aspect.pk}/")
        page = self.client.get(world.url(f"queries/{world.query.pk}/")).content.decode()
        self.hidden = read_hidden(page)
        self.values = {name: self.hidden[f"base_{name}"] for name in FIELDS}

    def save(self, *, htmx: bool = True, **typed: Any) -> Any:
        """Type and let the draft be saved."""
        self.values |= typed
        posted = self.values | self.hidden | {"intent": "draft"}
        headers = hx() if htmx else {}
        response = self.client.post(self.url, posted, **headers)
        if response.status_code == 200:
            self.hidden |= read_hidden(response.content.decode())
        return response

    def save_anyway(self, response) -> Any:
        """The button of a conflict: its version and the values shown as theirs become the base."""
        page = response.content.decode()
        self.hidden["version"] = re.search(r'data-version="(\d+)"', page)[1]
        self.hidden |= {f"base_{name}": value for name, value in shown_theirs(page).items()}
        return self.save()


def read_hidden(page: str) -> dict[str, str]:
    found = re.findall(
        r'<input\s+type="hidden"\s+name="(version|base_\w+)"[^>]*?\svalue="([^"]*)"', page
    )
    return {name: html.unescape(value) for name, value in found}


def shown_theirs(page: str) -> dict[str, str]:
    found = re.findall(r'data-theirs="(\w+)">([^<]*)<', page)
    return {name: html.unescape(value) for name, value in found}


@pytest.fixture
def aspect(world):
    return add_aspect(query=world.query, actor=world.voters[0], content="old")


@pytest.fixture
def mine(world, aspect):
    return Form(world, world.voters[0], aspect)


@pytest.fixture
def theirs(world, aspect):
    return Form(world, world.voters[1], aspect)


def stored(aspect):
    aspect.refresh_from_db()
    return aspect.content, aspect.rationale, aspect.weight


@pytest.mark.few
@pytest.mark.parametrize("order", [("mine", "theirs"), ("theirs", "mine")])
def test_content_of_one_and_rationale_of_the_other_both_stand(mine, theirs, aspect, order) -> None:
    saves = {
        "mine": lambda: mine.save(content="new"),
        "theirs": lambda: theirs.save(rationale="long work"),
    }
    assert [saves[name]().status_code for name in order] == [200, 200]
    assert stored(aspect) == ("new", "long work", 3)


def test_three_fields_of_three_hands_need_no_question(world, mine, theirs, aspect) -> None:
    third = Form(world, world.voters[2], aspect)
    for form, typed in (
        (theirs, {"rationale": "why"}),
        (third, {"weight": "5"}),
        (mine, {"content": "new"}),
    ):
        assert form.save(**typed).status_code == 200
    assert stored(aspect) == ("new", "why", 5)


@pytest.mark.slow
def test_field_i_left_alone_stays_theirs_however_often_i_save(mine, theirs, aspect) -> None:
    theirs.save(rationale="first")
    mine.save(content="n")
    theirs.save(rationale="first and second")
    for text in ("ne", "new", "newer"):
        assert mine.save(content=text).status_code == 200
    assert stored(aspect) == ("newer", "first and second", 3)


def test_their_value_comes_with_the_answer_for_the_field_i_left_alone(mine, theirs) -> None:
    theirs.save(rationale='they "wrote" & more')
    page = one_line(mine.save(content="new"))
    assert page.count("data-theirs-now") == 1
    assert (
        'name="base_rationale" value="" data-theirs-now="they &quot;wrote&quot; &amp; more"' in page
    )
    assert 'name="base_content" value="new">' in page


def test_field_that_i_begin_late_on_their_newer_words_is_asked_about(mine, theirs, aspect) -> None:
    """The page still showed it empty when I typed: a silent save would lose their words."""
    theirs.save(rationale="long work")
    mine.save(content="new")
    response = mine.save(rationale="mine too")
    assert response.status_code == 409
    assert shown_theirs(response.content.decode()) == {"rationale": "long work"}
    assert stored(aspect) == ("new", "long work", 3)


def test_both_change_the_content_and_see_both_versions(mine, theirs, aspect) -> None:
    theirs.save(content="theirs")
    response = mine.save(content="mine <b>")
    page = response.content.decode()
    assert (response.status_code, response["HX-Reswap"]) == (409, "none")
    assert "mine &lt;b&gt;" in page
    assert shown_theirs(page) == {"content": "theirs"}
    assert "annotator-2" in page
    assert "<textarea" not in page  # the field with the typed text is not touched
    assert stored(aspect) == ("theirs", "", 3)


def test_both_change_the_weight_and_see_both(mine, theirs, aspect) -> None:
    theirs.save(weight="5")
    response = mine.save(weight="1")
    assert shown_theirs(response.content.decode()) == {"weight": "5"}
    assert mine.save_anyway(response).status_code == 200
    assert stored(aspect) == ("old", "", 1)


def test_every_field_that_both_changed_is_shown_and_no_other(mine, theirs) -> None:
    theirs.save(content="theirs", rationale="their reason", weight="5")
    response = mine.save(content="mine", weight="1")
    assert shown_theirs(response.content.decode()) == {"content": "theirs", "weight": "5"}


def test_save_mine_anyway_writes_what_i_changed_only(mine, theirs, aspect) -> None:
    theirs.save(content="theirs", rationale="their reason")
    response = mine.save(content="mine", weight="4")
    assert mine.save_anyway(response).status_code == 200
    assert stored(aspect) == ("mine", "their reason", 4)


def test_save_mine_anyway_asks_again_when_they_wrote_again(mine, theirs, aspect) -> None:
    theirs.save(content="theirs")
    response = mine.save(content="mine")
    theirs.save(content="theirs, better")
    again = mine.save_anyway(response)
    assert again.status_code == 409
    assert shown_theirs(again.content.decode()) == {"content": "theirs, better"}
    assert stored(aspect) == ("theirs, better", "", 3)


def test_words_typed_while_a_save_is_under_way_follow_it(mine, aspect) -> None:
    """The answer to the first save comes back to a field that says more by then."""
    mine.save(content="one")
    mine.save(content="one two")
    assert stored(aspect) == ("one two", "", 3)


def test_both_write_the_same_and_nobody_is_asked(mine, theirs, aspect) -> None:
    theirs.save(content="same")
    assert mine.save(content="same").status_code == 200
    assert Event.objects.filter(verb="save aspect").count() == 1


def test_line_ends_and_outer_blanks_are_no_change_of_mine(world, mine, aspect) -> None:
    """A browser sends other line ends than are stored."""
    save_aspect(
        aspect=aspect,
        actor=world.voters[1],
        expected=1,
        content=" one\ntwo ",
        rationale="",
        weight=3,
    )
    form = Form(world, world.voters[0], aspect)
    form.save(content="one\r\ntwo", rationale="why")
    assert stored(aspect) == (" one\ntwo ", "why", 3)


def test_conflict_without_javascript_keeps_every_field_on_its_page(mine, theirs, aspect) -> None:
    theirs.save(content="theirs", rationale="their reason", weight="5")
    response = mine.save(htmx=False, content="mine", weight="1")
    page = response.content.decode()
    assert response.status_code == 409
    assert shown_theirs(page) == {"content": "theirs", "weight": "5"}
    assert "\nmine</textarea>" in page
    assert '<input id="conflict-weight" name="weight" value="1">' in page
    form = page[page.index('<form method="post" action="/b/') :]
    hidden = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', form))
    hidden.pop("csrfmiddlewaretoken")
    again = mine.client.post(mine.url, hidden | {"content": "mine", "weight": "1"})
    assert again.status_code == 302
    assert stored(aspect) == ("mine", "their reason", 1)


def test_base_that_makes_no_sense_is_not_known(mine, theirs, aspect) -> None:
    theirs.save(weight="5")
    mine.hidden["base_weight"] = "9" * 5000
    assert mine.save(weight="1").status_code == 409
    assert stored(aspect) == ("old", "", 5)


def test_removed_aspect_keeps_the_typed_words_in_the_field(mine, theirs, aspect) -> None:
    theirs.client.post(f"{theirs.url}remove/")
    response = mine.save(content="typed")
    assert response.status_code == 422
    assert "Restore it" in response.content.decode()
    assert stored(aspect)[0] == "old"
