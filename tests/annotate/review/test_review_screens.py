"""The screens and the API of second reviews: one review from start to acceptance, and refusals."""

import re

import pytest

from annotate.models import Aspect, Review, WeightScore
from tests.annotate.world import hx, signed_in
from tests.factories import make_member
from tests.markup import one_line


def text(response):
    assert response.status_code == 200, response.status_code
    return one_line(response)


def post(desk, person, path, **body):
    """Press a button; the page after it."""
    client = signed_in(person)
    answer = client.post(desk.url(path), body)
    assert answer.status_code == 302, one_line(answer)[-2000:]
    return text(client.get(answer.url))


def take(desk):
    post(desk, desk.reviewer, f"queries/{desk.query.pk}/review/")
    return f"reviews/{Review.objects.latest('pk').pk}/"


def score(desk, base):
    weights = {f"weight-{pk}": value for pk, value in desk.weights.items()}
    return post(desk, desk.reviewer, f"{base}scores/", **weights)


def press_ones(desk, base, person, most=20):
    """What the key 1 does, until nothing waits any more."""
    client = signed_in(person)
    for _ in range(most):
        page = text(client.get(desk.url(base)))
        ringed = re.search(r'<article class="[^"]*\bopen"', page)
        if not ringed:
            return page
        found = re.compile(r'<button class="small"([^>]*) data-key="1"').search(page, ringed.end())
        form = page[page.rindex("<form", 0, found.start()) : page.index("</form>", found.start())]
        body = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        name = re.search(r'name="(\w+)" value="(\w+)"', found[1])
        body |= {name[1]: name[2]} if name else {}
        client.post(re.search(r'action="([^"]*)"', form)[1], body)
    raise AssertionError("it never ends")


@pytest.mark.slow
def test_lists_show_what_waits_and_for_whom(desk):
    page = text(signed_in(desk.reviewer).get(desk.url("reviews/")))
    assert f"queries/{desk.query.pk}/review/" in page
    assert "No finished query" in text(signed_in(desk.outsider).get(desk.url("reviews/")))
    assert "Waiting for a reviewer" not in text(signed_in(desk.author).get(desk.url("reviews/")))
    assert "Queries to review" in text(signed_in(desk.reviewer).get("/home/annotate/"))
    base = take(desk)
    assert base in text(signed_in(desk.author).get(desk.url("reviews/")))
    assert base not in text(signed_in(desk.third).get(desk.url("reviews/")))
    assert f"queries/{desk.query.pk}/review/" not in text(
        signed_in(desk.third).get(desk.url("reviews/"))
    )


def test_blind_page_has_no_weight_and_keeps_what_was_chosen_on_an_error(desk):
    base = take(desk)
    client = signed_in(desk.reviewer)
    page = text(client.get(desk.url(base)))
    assert "Point 1." in page
    assert "checked" not in page
    first = desk.aspects[0].pk
    answer = client.post(desk.url(f"{base}scores/"), {f"weight-{first}": "4"})
    assert answer.status_code == 422
    page = one_line(answer)
    assert "Choose a weight from 1 to 5 for a2." in page
    assert f'name="weight-{first}" value="4" checked' in page
    assert not WeightScore.objects.exists()


def test_both_weights_are_shown_side_by_side_after_scoring(desk):
    page = score(desk, take(desk))
    assert '<span class="tag warn">author 5, blind 4</span>' in page
    assert page.count('<span class="tag good">both ') == len(desk.aspects) - 1
    # Where both agree their weight is chosen already, where they differ none is.
    cards = page.split('aria-label="Weight of a')[1:]
    chosen = [re.findall(r'value="(\d)" checked', card) for card in cards]
    assert [len(each) for each in chosen] == ["author 5, blind 4" not in card for card in cards]


@pytest.mark.slow
def test_a_review_without_objections_is_a_handful_of_keys(desk):
    base = take(desk)
    score(desk, base)
    page = press_ones(desk, base, desk.reviewer)
    assert "0 to look at" in page
    assert "Accepted" in post(desk, desk.reviewer, f"{base}move/accept/")
    assert Review.objects.get().status == "accepted"


@pytest.mark.slow
def test_changes_asked_for_answered_and_accepted(desk):
    base = take(desk)
    score(desk, base)
    heavy, gone = desk.aspects[0], desk.passages[1]
    post(desk, desk.reviewer, f"{base}weights/{heavy.pk}/", weight="3", note="Not the core.")
    post(
        desk, desk.reviewer, f"{base}passages/{gone.pk}/",
        lacks=["relevant"], reason="topic_only", note="It only names it.",
    )  # fmt: skip
    press_ones(desk, base, desk.reviewer)
    page = post(desk, desk.reviewer, f"{base}move/ask/", text="Two things.")
    assert "with the author" in page
    page = text(signed_in(desk.author).get(desk.url(base)))
    for shown in ("weight 5 → 3", "Not the core.", "removed: topic only", "It only names it."):
        assert shown in page
    assert "Changes requested" in text(signed_in(desk.author).get("/home/annotate/"))
    page = press_ones(desk, base, desk.author)
    post(desk, desk.author, f"{base}move/answer/")
    page = text(signed_in(desk.reviewer).get(desk.url(base)))
    assert "2 agreed" in page
    # The second aspect has no passage now, yet everything that stands was looked at.
    assert "Accepted" in post(desk, desk.reviewer, f"{base}move/accept/")
    assert Aspect.objects.get(pk=heavy.pk).weight == 3


@pytest.mark.slow
def test_objection_goes_to_a_third_person(desk):
    base = take(desk)
    score(desk, base)
    heavy = desk.aspects[0]
    post(desk, desk.reviewer, f"{base}weights/{heavy.pk}/", weight="3", note="Not the core.")
    press_ones(desk, base, desk.reviewer)
    post(desk, desk.reviewer, f"{base}move/ask/")
    point = Review.objects.get().points.get(status="raised")
    page = post(desk, desk.author, f"{base}points/{point.pk}/", do="object", text="")
    assert "Say why you object." in page
    post(desk, desk.author, f"{base}points/{point.pk}/", do="object", text="It is the core.")
    post(desk, desk.author, f"{base}move/answer/")
    assert signed_in(desk.third).get(desk.url(base)).status_code == 403
    page = text(signed_in(desk.reviewer).get(desk.url(base)))
    assert re.findall(r'<option value="(\d+)">', page.split('id="third"')[1]) == [
        str(desk.third.pk)
    ]
    assert "Choose who settles it." in post(desk, desk.reviewer, f"{base}move/third/")
    post(desk, desk.reviewer, f"{base}move/third/", third=str(desk.third.pk))
    page = text(signed_in(desk.third).get(desk.url(base)))
    assert "It is the core." in page
    post(desk, desk.third, f"{base}points/{point.pk}/", do="overrule", text="The author is right.")
    assert Aspect.objects.get(pk=heavy.pk).weight == 5
    assert "settled for the author" in text(signed_in(desk.author).get(desk.url(base)))
    back = "Take this decision back"
    for person, shown in ((desk.third, True), (desk.reviewer, False), (desk.author, False)):
        assert (back in text(signed_in(person).get(desk.url(base)))) is shown
    page = post(desk, desk.third, f"{base}points/{point.pk}/", do="unsettle")
    assert "the author objects" in page
    assert Aspect.objects.get(pk=heavy.pk).weight == 3


@pytest.mark.slow
def test_refusals_are_said_and_change_nothing(desk):
    base = take(desk)
    score(desk, base)
    page = post(desk, desk.reviewer, f"{base}weights/{desk.aspects[0].pk}/", weight="1")
    assert "Say why, so that the author can follow." in page
    assert "Still to look at" in post(desk, desk.reviewer, f"{base}move/accept/")
    assert "Choose 1" not in post(desk, desk.reviewer, f"{base}aspects/", key="nonsense", fine="1")
    assert Aspect.objects.get(pk=desk.aspects[0].pk).weight == 5
    answer = signed_in(desk.reviewer).post(desk.url(f"{base}move/nonsense/"))
    assert answer.status_code == 404


def test_htmx_gets_the_panel_and_the_deck(desk):
    base = take(desk)
    weights = {f"weight-{pk}": value for pk, value in desk.weights.items()}
    answer = signed_in(desk.reviewer).post(
        desk.url(f"{base}scores/"), weights, **hx("review-panel")
    )
    page = text(answer)
    assert page.lstrip().startswith('<div id="review-panel">')
    assert 'id="review-deck" class="row" hx-swap-oob="true"' in page


def test_api_goes_the_same_way(desk):
    client = signed_in(desk.reviewer)

    def send(path, body=None, status=200):
        answer = client.post(f"/api{desk.url(path)}", body or {}, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    taken = send(f"queries/{desk.query.pk}/review/", status=201)
    base = f"reviews/{taken['id']}/"
    assert [each["k"] for each in taken["to_score"]] == [1, 2]
    assert "weight" not in taken["to_score"][0]
    assert taken["points"] == taken["turns"] == []
    send(f"{base}scores/", {"weights": {"x": 1}}, 400)
    shown = send(f"{base}scores/", {"weights": {str(k): v for k, v in desk.weights.items()}})
    assert (shown["status"], shown["to_score"]) == ("checking", [])
    for key in ("comprehensive", "balanced", "sound", "granularity"):
        send(f"{base}aspects/", {"key": key, "fine": True})
    for aspect in desk.aspects:
        send(f"{base}weights/{aspect.pk}/", {"weight": aspect.weight})
    for passage in desk.passages:
        checks = dict.fromkeys(("explicit", "credible", "relevant"), True)
        send(f"{base}passages/{passage.pk}/", checks)
    refused = send(f"{base}move/ask/", {}, 409)
    assert refused["detail"].startswith("Nothing is asked for")
    assert send(f"{base}move/accept/")["status"] == "accepted"
    assert [each["verb"] for each in client.get(f"/api{desk.url(base)}").json()["turns"]][:2] == [
        "take",
        "score blind",
    ]


def test_who_writes_and_reviews_works_on_their_own_queries_only(desk):
    both = make_member(desk.benchmark, "both", "annotator", "reviewer")
    client = signed_in(both)
    page = text(client.get(desk.url(f"queries/{desk.query.pk}/")))
    assert "read only" in page
    answer = client.post(desk.url(f"queries/{desk.query.pk}/aspects/"))
    assert answer.status_code == 403
    assert "score its weights" in one_line(answer) or answer.status_code == 403
