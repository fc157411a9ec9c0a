"""The query workspace: verdicts, aspects, autosave and conflict, with and without JavaScript."""

import pytest

from annotate.models import Aspect, GoldPassage
from annotate.workspace.aspects import add_aspect, save_aspect
from annotate.workspace.gold import assign_passage, discard_passage
from corpus.models import Judgment
from tests.annotate.world import hx, signed_in
from tests.factories import index_texts, make_gold, make_passage, make_query
from tests.markup import one_line


@pytest.fixture
def world(world):
    make_gold(world.query, world.passage)
    return world


@pytest.fixture
def aspect(world):
    return add_aspect(query=world.query, actor=world.voters[0], content="Backs to the light.")


def here(world, more=""):
    return world.url(f"queries/{world.query.pk}/{more}")


def verdict(world, verb):
    return here(world, f"passages/{world.passage.pk}/{verb}/")


def draft(**fields):
    values = {"intent": "draft", "content": "typed", "rationale": "", "weight": "4", "version": "1"}
    return values | fields


def test_first_undecided_passage_is_open(world, me, aspect):
    page = one_line(me.get(here(world)))
    assert f'class="passage open" id="passage-{world.passage.pk}"' in page
    assert "0 of 1 decided" in page
    assert 'data-key="1"' in page


def test_assign_by_htmx_swaps_passages_and_numbers(world, me, aspect):
    response = me.post(verdict(world, "assign"), {"aspect": aspect.pk}, **hx("passages"))
    body = one_line(response)
    assert body.lstrip().startswith('<section class="stack" id="passages"')
    assert "1 of 1 decided" in body
    assert "1 passage</span>" in body
    assert "<html" not in body
    assert GoldPassage.objects.standing().get().aspect == aspect


def test_assign_without_javascript_redirects(world, me, aspect):
    response = me.post(verdict(world, "assign"), {"aspect": aspect.pk})
    assert (response.status_code, response.url) == (302, here(world))
    assert GoldPassage.objects.standing().get().passage == world.passage


def test_discard_and_take_back(world, me):
    me.post(verdict(world, "discard"), {"reason": "fragment", "note": "ends early"})
    page = one_line(me.get(here(world)))
    assert "discarded: fragment" in page
    response = me.post(verdict(world, "undo"), **hx("passages"))
    assert "0 of 1 decided" in one_line(response)
    assert not Judgment.objects.standing().exists()


def test_discard_without_reason_says_what_to_do(world, me):
    response = me.post(verdict(world, "discard"), **hx("passages"))
    assert "Choose why" in one_line(response)
    assert not Judgment.objects.standing().exists()


def test_passage_of_the_domain_can_be_found_opened_and_attached(world, me, aspect):
    extra = make_passage(world.benchmark, "moths/9.txt", "biology", text="Owls hunt by ear.")
    make_passage(world.benchmark, "moths/w.txt", "weather", text="Owls in the rain.")
    index_texts(world.benchmark)
    found = one_line(me.get(here(world) + "?find=owls", **hx("found")))
    assert "moths/9.txt" in found
    assert "moths/w.txt" not in found
    opened = one_line(me.get(here(world) + f"?passage={extra.pk}", **hx("passages")))
    assert "Not attached yet" in opened
    assert "Owls hunt by ear." in opened
    me.post(here(world, f"passages/{extra.pk}/assign/"), {"aspect": aspect.pk})
    assert "<h2>Other gold</h2>" in one_line(me.get(here(world)))


def test_search_finds_twenty_at_most(world, me):
    for n in range(25):
        make_passage(world.benchmark, f"many/{n}.txt", "biology")
    assert len(me.get(here(world) + "?find=many").context["found"]) == 20


def test_text_not_loaded_is_shown_honestly(world, me):
    lost = make_passage(world.benchmark, "lost.txt", "biology", text=None)
    page = one_line(me.get(here(world) + f"?passage={lost.pk}"))
    assert "Text not loaded" in page


def test_new_aspect_comes_as_a_card(world, me):
    response = me.post(here(world, "aspects/"), **hx("aspect-list"))
    body = one_line(response)
    added = Aspect.objects.get()
    assert body.lstrip().startswith(f'<article class="aspect n1" id="aspect-{added.pk}"')
    assert 'id="verdicts"' in body
    assert me.post(here(world, "aspects/")).url == here(world)


def test_autosave_answers_with_version_and_shares(world, me, aspect):
    response = me.post(world.url(f"aspects/{aspect.pk}/"), draft(), **hx())
    body = one_line(response)
    assert response.status_code == 200
    assert response["HX-Reswap"] == "none"
    assert f'id="version-{aspect.pk}" value="2"' in body
    assert f'id="share-{aspect.pk}"' in body
    assert "<textarea" not in body
    aspect.refresh_from_db()
    assert (aspect.content, aspect.weight) == ("typed", 4)


def test_a_new_aspect_has_no_weight_until_one_is_chosen(world, me):
    me.post(here(world, "aspects/"))
    aspect = Aspect.objects.get()
    card = one_line(me.get(here(world))).split(f'id="aspect-{aspect.pk}"')[1]
    fields = card.split("</fieldset>")[0]
    assert 'name="base_weight" value=""' in fields
    assert "checked" not in fields
    assert "no weight yet" in fields
    unchosen = {key: value for key, value in draft().items() if key != "weight"}
    body = one_line(me.post(world.url(f"aspects/{aspect.pk}/"), unchosen, **hx()))
    # Words were saved; the form is not told a weight that nobody chose.
    assert '<input type="hidden" name="base_weight" value="">' in body
    aspect.refresh_from_db()
    assert (aspect.content, aspect.chosen_weight) == ("typed", None)
    # Whoever read it before those words still chooses what nobody chose.
    late = unchosen | {"content": "typed", "base_content": "typed", "base_weight": "", "weight": 4}
    assert me.post(world.url(f"aspects/{aspect.pk}/"), late, **hx()).status_code == 200
    aspect.refresh_from_db()
    assert aspect.chosen_weight == 4
    # Two who choose differently see both.
    other = late | {"weight": 2}
    assert me.post(world.url(f"aspects/{aspect.pk}/"), other, **hx()).status_code == 409


def test_save_without_javascript_redirects(world, me, aspect):
    response = me.post(world.url(f"aspects/{aspect.pk}/"), draft())
    assert (response.status_code, response.url) == (302, here(world))


def test_stale_autosave_shows_both_versions(world, me, aspect):
    theirs = {"content": "theirs", "rationale": "", "weight": 3}
    save_aspect(aspect=aspect, actor=world.voters[1], expected=1, **theirs)
    response = me.post(world.url(f"aspects/{aspect.pk}/"), draft(content="mine"), **hx())
    body = one_line(response)
    assert response.status_code == 409
    assert f'id="conflict-aspect-{aspect.pk}"' in body
    assert "theirs" in body
    assert "mine" in body
    assert "annotator-2" in body
    assert 'data-version="2"' in body
    aspect.refresh_from_db()
    assert aspect.content == "theirs"


def test_stale_autosave_shows_every_field_that_differs(world, me, aspect):
    theirs = {"content": "theirs", "rationale": "their reason", "weight": 5}
    save_aspect(aspect=aspect, actor=world.voters[1], expected=1, **theirs)
    url = world.url(f"aspects/{aspect.pk}/")
    for request in (hx(), {}):
        body = one_line(me.post(url, draft(content="mine", weight="2"), **request))
        for name, value in theirs.items():
            assert f'data-theirs="{name}">{value}</div>' in body


def test_stale_save_without_javascript_is_a_page_with_both(world, me, aspect):
    theirs = {"content": "theirs", "rationale": "", "weight": 3}
    save_aspect(aspect=aspect, actor=world.voters[1], expected=1, **theirs)
    url = world.url(f"aspects/{aspect.pk}/")
    response = me.post(url, draft(content="mine", intent=""))
    assert response.status_code == 409
    again = me.post(url, draft(content="mine", intent="", version="2"))
    assert again.status_code == 302
    aspect.refresh_from_db()
    assert aspect.content == "mine"


def test_weight_off_the_scale_is_refused_without_losing_words(world, me, aspect):
    response = me.post(world.url(f"aspects/{aspect.pk}/"), draft(weight="9"), **hx())
    assert response.status_code == 422
    assert "Choose a weight from 1 to 5." in one_line(response)


def test_remove_offers_to_bring_it_back(world, me, aspect):
    body = one_line(me.post(world.url(f"aspects/{aspect.pk}/remove/"), **hx()))
    assert "a1 was removed" in body
    me.post(world.url(f"aspects/{aspect.pk}/restore/"), **hx())
    assert Aspect.objects.present().get() == aspect


def test_remove_without_javascript_offers_to_bring_it_back(world, me, aspect):
    response = me.post(world.url(f"aspects/{aspect.pk}/remove/"), follow=True)
    assert "a1 was removed" in one_line(response)


def test_aspect_with_passages_stays_and_says_why(world, me, aspect):
    assign_passage(query=world.query, passage=world.passage, aspect=aspect, actor=world.voters[0])
    response = me.post(world.url(f"aspects/{aspect.pk}/remove/"), **hx())
    assert response.status_code == 422
    assert "a1 still has 1 passage." in one_line(response)
    assert Aspect.objects.present().exists()


def test_move_gives_the_list_in_its_new_order(world, me, aspect):
    second = add_aspect(query=world.query, actor=world.voters[0], content="second")
    body = one_line(me.post(world.url(f"aspects/{second.pk}/move/"), {"to": "up"}, **hx()))
    assert body.index(f'id="aspect-{second.pk}"') < body.index(f'id="aspect-{aspect.pk}"')


def test_others_read_but_do_not_write(world, aspect):
    discard_passage(query=world.query, passage=world.passage, reason="noise", actor=world.voters[0])
    for person in (world.reviewer, world.admin, world.outsider):
        page = one_line(signed_in(person).get(here(world)))
        assert "Backs to the light." in page
        assert "discarded: noise" in page
        assert "read only" in page
        assert "data-autosave" not in page
        assert "/assign/" not in page


@pytest.mark.few(3)
@pytest.mark.parametrize("verb", ["add", "save", "remove", "restore", "move", "assign", "undo"])
def test_writing_is_for_annotators_of_the_domain(world, aspect, verb):
    url = {
        "add": here(world, "aspects/"),
        "save": world.url(f"aspects/{aspect.pk}/"),
        "assign": verdict(world, "assign"),
        "undo": verdict(world, "undo"),
    }.get(verb, world.url(f"aspects/{aspect.pk}/{verb}/"))
    people = [world.reviewer, world.admin, world.outsider, world.stranger]
    answers = [signed_in(who).post(url, draft()).status_code for who in people]
    assert answers == [403, 403, 403, 404]
    assert signed_in(world.voters[0]).get(url).status_code == 405


def test_query_of_another_benchmark_is_not_found(world):
    url = f"/b/elsewhere/queries/{world.query.pk}/"
    assert signed_in(world.stranger).get(url).status_code == 404


def test_hostile_text_is_escaped(world, me):
    evil = "<img src=x onerror=alert(1)>"
    answers = [{"text": evil, "url": "javascript:alert(1)", "score": 3, "accepted": True}]
    query = make_query(
        world.benchmark, "evil", "biology", text=f"{evil}\nrest", community_answers=answers
    )
    passage = make_passage(world.benchmark, f"{evil}.txt", "biology", text=evil)
    make_gold(query, passage)
    add_aspect(query=query, actor=world.voters[0], content=evil)
    page = one_line(me.get(world.url(f"queries/{query.pk}/")))
    assert evil not in page
    assert 'href="javascript' not in page
    assert "&lt;img src=x" in page
