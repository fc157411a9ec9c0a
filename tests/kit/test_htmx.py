"""Pages and fragments: what each kind of request gets from kit.htmx."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import path

from kit import htmx
from tests.markup import one_line

urlpatterns = [path("edit/", lambda request: HttpResponse(), name="edit")]
pytestmark = pytest.mark.urls(__name__)

PAGE = (
    "{% load partials %}<html>{% partialdef row inline %}<p id=row>{{ name }}</p>"
    "{% endpartialdef %}</html>"
)
LOADERS = [
    (
        "template_partials.loader.Loader",
        [("django.template.loaders.locmem.Loader", {"page.html": PAGE})],
    )
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "loaders": LOADERS,
            "libraries": {"partials": "template_partials.templatetags.partials"},
        },
    }
]
with_page = override_settings(TEMPLATES=TEMPLATES)

PART = "<p id=row>moth</p>"
WHOLE = f"<html>{PART}</html>"


def asked(method: str = "get", data: dict[str, Any] | None = None, **headers: str) -> HttpRequest:
    """A request as htmx sends it (HX_Target="row" is the header HX-Target)."""
    sent = {"HX-Request": "true"} | {k.replace("_", "-"): v for k, v in headers.items()}
    request = getattr(RequestFactory(), method)("/edit/", data or {}, headers=sent)
    request.user = AnonymousUser()
    return request


def plain(method: str = "get", data: dict[str, Any] | None = None) -> HttpRequest:
    request = getattr(RequestFactory(), method)("/edit/", data or {})
    request.user = AnonymousUser()
    return request


def shown(request: HttpRequest, **options: Any) -> str:
    return htmx.render(request, "page.html", {"name": "moth"}, **options).content.decode()


@with_page
def test_render_without_htmx_whole_page():
    assert shown(plain(), partial="row") == WHOLE


@with_page
def test_render_for_htmx_only_the_partial():
    assert shown(asked(), partial="row") == PART


@with_page
def test_render_for_htmx_without_partial_whole_page():
    assert shown(asked()) == WHOLE


@with_page
@pytest.mark.parametrize(
    ("target", "expected"),
    [("row", PART), ("p#row", PART), ("other", WHOLE), ("", WHOLE)],
    ids=["htmx 2", "htmx 4", "another target", "no target"],
)
def test_render_with_target_only_for_that_element(target: str, expected: str):
    assert shown(asked(HX_Target=target), partial="row", target="row") == expected


@with_page
@pytest.mark.parametrize("header", ["HX_Boosted", "HX_History_Restore_Request"])
def test_render_boosted_or_restored_whole_page(header: str):
    assert shown(asked(**{header: "true"}), partial="row") == WHOLE


@with_page
def test_render_varies_by_htmx():
    assert htmx.render(plain(), "page.html", {})["Vary"] == "HX-Request"


@with_page
def test_invalid_is_422_with_the_form():
    response = htmx.invalid(asked("post"), "page.html", {"name": "moth"}, partial="row")
    assert (response.status_code, response.content.decode()) == (422, PART)


def test_redirect_without_htmx_302():
    response = htmx.redirect(plain("post"), "/done/")
    assert (response.status_code, response["Location"]) == (302, "/done/")


def test_redirect_for_htmx_moves_the_whole_page():
    response = htmx.redirect(asked("post"), "/done/")
    assert (response.status_code, response["HX-Redirect"]) == (200, "/done/")
    assert "Location" not in response


def test_redirect_boosted_moves_the_whole_page():
    assert htmx.redirect(asked("post", HX_Boosted="true"), "/done/")["HX-Redirect"] == "/done/"


@pytest.mark.parametrize(("intent", "expected"), [("draft", True), ("submit", False), ("", False)])
def test_is_draft_by_intent(intent: str, expected: bool):
    assert htmx.is_draft(plain("post", {"intent": intent})) is expected


def test_saved_only_out_of_band():
    response = htmx.saved(asked("post"), version=4, version_id="version-7", slot="text-7")
    text = one_line(response)
    assert response["HX-Reswap"] == "none"
    assert '<output id="saved"' in text
    assert 'id="version-7" value="4" hx-swap-oob="true"' in text
    assert '<div id="conflict-text-7" hx-swap-oob="innerHTML"></div>' in text


def test_saved_without_version_sends_no_version_field():
    assert "<input" not in htmx.saved(asked("post")).content.decode()


CLASH = {"field": "text", "label": "Aspect 1", "theirs": "<b>theirs</b>", "version": 9}


def test_conflict_for_htmx_both_texts_escaped_and_form_left_alone():
    response = htmx.conflict(asked("post", {"text": "mine & ours", "version": "3"}), CLASH)
    text = one_line(response)
    assert (response.status_code, response["HX-Reswap"]) == (409, "none")
    assert text.startswith('<div id="conflict-text"')
    assert "mine &amp; ours" in text
    assert "&lt;b&gt;theirs&lt;/b&gt;" in text
    assert 'data-version="9"' in text
    assert "<form" not in text


def test_conflict_without_htmx_a_page_that_can_save_again():
    posted = {"text": "mine", "version": "3", "note": ["n1", "n2"], "csrfmiddlewaretoken": "t"}
    response = htmx.conflict(plain("post", posted), CLASH)
    text = response.content.decode()
    assert response.status_code == 409
    assert '<form method="post" action="/edit/"' in text
    assert '<input type="hidden" name="version" value="9">' in text
    assert '<input type="hidden" name="note" value="n1">' in text
    assert '<input type="hidden" name="note" value="n2">' in text
    assert 'value="3"' not in text


def test_conflict_context_caller_wins():
    own = htmx.conflict_context(plain("post", {"text": "as posted"}), CLASH | {"mine": "as parsed"})
    assert own["mine"] == "as parsed"


def test_trigger_names_the_event_and_keeps_earlier_ones():
    response = htmx.trigger(htmx.trigger(HttpResponse(), "queue-changed"), "run-over", run=7)
    assert json.loads(response["HX-Trigger"]) == {"queue-changed": {}, "run-over": {"run": 7}}


def test_stop_polling_286_keeps_the_body():
    response = htmx.stop_polling(HttpResponse("done"))
    assert (response.status_code, response.content) == (286, b"done")
