"""Drafts: kept by name, private, never written over unseen, gone when the form was accepted."""

import datetime
import json

import pytest
from django.utils import timezone

from annotate.drafts import services as drafts
from annotate.drafts.middleware import COOKIE, FIELD
from annotate.models import Draft
from annotate.workspace.aspects import add_aspect
from kit.errors import Conflict, Refused
from tests.annotate.world import signed_in
from tests.factories import make_gold

PLACE = {"place": "/b/garden/queries/1/collect/text/", "name": "text"}
URL = "/api/drafts/"


@pytest.fixture
def me(world):
    return world.voters[0]


def put(client, **body):
    return client.put(URL, json.dumps(PLACE | body), content_type="application/json")


def test_a_draft_is_written_over_the_version_it_began_from(me) -> None:
    first = drafts.keep_draft(person=me, **PLACE, text="one")
    second = drafts.keep_draft(person=me, **PLACE, text="one two", expected=first.version)
    assert (second.pk, second.version, second.text) == (first.pk, 2, "one two")
    with pytest.raises(Conflict) as conflict:
        drafts.keep_draft(person=me, **PLACE, text="of another tab", expected=1)
    assert conflict.value.current.text == "one two"
    assert drafts.keep_draft(person=me, **PLACE, text="one two", expected=0) == second


def test_an_empty_text_takes_the_draft_away(me) -> None:
    assert drafts.keep_draft(person=me, **PLACE, text="  ") is None
    kept = drafts.keep_draft(person=me, **PLACE, text="x")
    assert drafts.keep_draft(person=me, **PLACE, text="", expected=kept.version) is None
    assert not Draft.objects.exists()


def test_limits_are_refused_in_words(me, monkeypatch) -> None:
    monkeypatch.setattr(drafts, "MOST", 1)
    drafts.keep_draft(person=me, **PLACE, text="x")
    with pytest.raises(Refused, match="Discard some"):
        drafts.keep_draft(person=me, place="/elsewhere/", name="text", text="x")
    with pytest.raises(Refused, match="at most"):
        drafts.keep_draft(person=me, **PLACE, text="x" * (drafts.LONGEST + 1))


def test_old_drafts_are_swept_when_new_ones_begin(me) -> None:
    drafts.keep_draft(person=me, **PLACE, text="old")
    Draft.objects.update(updated_at=timezone.now() - datetime.timedelta(days=91))
    drafts.keep_draft(person=me, place="/new/", name="text", text="new")
    assert Draft.objects.get().text == "new"


def test_nobody_sees_or_touches_anothers_draft(world, me) -> None:
    mine = drafts.keep_draft(person=me, **PLACE, text="private words")
    other = signed_in(world.voters[1])
    assert b"private words" not in other.get("/drafts/").content
    assert other.get(URL).json()["results"] == []
    assert other.delete(f"{URL}{mine.pk}/").status_code == 404
    assert other.post(f"/drafts/{mine.pk}/discard/").status_code == 404
    assert put(other, text="theirs").status_code == 200
    assert set(Draft.objects.values_list("user", "text")) == {
        (me.pk, "private words"),
        (world.voters[1].pk, "theirs"),
    }


def test_api_keeps_lists_and_tells_of_conflicts(me) -> None:
    client = signed_in(me)
    text = " blanks and\r\nlines stay \n"
    kept = put(client, text=text, page="/b/garden/").json()["draft"]
    assert (kept["text"], kept["version"]) == (text, 1)
    stale = put(client, text="stale", expected=0)
    assert (stale.status_code, stale.json()["draft"]["text"]) == (409, text)
    assert [each["id"] for each in client.get(URL).json()["results"]] == [kept["id"]]
    assert client.get(f"{URL}?page=/nowhere/").json()["count"] == 0
    assert put(client, text="", expected=1).json() == {"draft": None}
    for wrong in ({"place": "https://evil.test/"}, {"page": "//evil.test"}, {"name": ""}):
        assert put(client, text="x", **wrong).status_code == 400


def test_list_leads_back_and_discards(me) -> None:
    kept = drafts.keep_draft(person=me, **PLACE, text="<b>typed</b>", page="/b/garden/queries/1/")
    client = signed_in(me)
    page = client.get("/drafts/").content.decode()
    assert "&lt;b&gt;typed&lt;/b&gt;" in page
    assert 'href="/b/garden/queries/1/"' in page
    assert "1 draft not sent" in client.get("/home/annotate/").content.decode()
    client.post(f"/drafts/{kept.pk}/discard/")
    assert not Draft.objects.exists()


@pytest.fixture
def note(world, me):
    """The note of a discard, being typed."""
    make_gold(world.query, world.passage)
    add_aspect(query=world.query, actor=me)
    place = world.url(f"queries/{world.query.pk}/passages/{world.passage.pk}/discard/")
    drafts.keep_draft(person=me, place=place, name="note", text="cut off in mid-sentence")
    return place


def test_accepted_form_takes_its_drafts_along(me, note) -> None:
    elsewhere = drafts.keep_draft(person=me, **PLACE, text="stays")
    answer = signed_in(me).post(note, {"reason": "fragment", "note": "cut off", FIELD: "note"})
    assert Draft.objects.get() == elsewhere
    assert "discard" in answer.cookies[COOKIE].value


def test_refused_form_leaves_them(me, note) -> None:
    answer = signed_in(me).post(note, {"reason": "", "note": "cut off", FIELD: "note"})
    assert COOKIE not in answer.cookies
    assert Draft.objects.get().text == "cut off in mid-sentence"


def test_form_with_errors_leaves_them(world, me) -> None:
    place = world.url(f"queries/{world.query.pk}/collect/text/")
    drafts.keep_draft(person=me, place=place, name="text", text="pasted")
    client = signed_in(me)
    assert client.post(place, {"text": "", FIELD: "text"}).status_code == 422
    assert Draft.objects.count() == 1
    assert client.post(place, {"text": "pasted", FIELD: "text"}).status_code == 302
    assert Draft.objects.count() == 0


def test_form_sent_after_the_sign_in_expired_leaves_them(me, note, client) -> None:
    assert client.post(note, {"reason": "noise", "note": "x", FIELD: "note"}).status_code == 302
    assert Draft.objects.get().user == me
