"""Messages reach fragments, and an expired sign-in never lands inside a page."""

import logging
from collections.abc import Callable

import pytest
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.test import Client
from django.urls import path

from kit import htmx

FRAGMENT = "<p>part</p>"


def say(request: HttpRequest) -> None:
    messages.success(request, "Saved & sound.")


def fragment(request: HttpRequest, status: int) -> HttpResponse:
    say(request)
    return HttpResponse(FRAGMENT, status=status)


def quiet(request: HttpRequest) -> HttpResponse:
    return HttpResponse(FRAGMENT)


def whole(request: HttpRequest) -> HttpResponse:
    say(request)
    return render(request, "404.html")


def moved(request: HttpRequest) -> HttpResponse:
    say(request)
    return htmx.redirect(request, "/quiet/")


def data(request: HttpRequest) -> HttpResponse:
    say(request)
    return JsonResponse({})


def stream(request: HttpRequest) -> StreamingHttpResponse:
    say(request)
    return StreamingHttpResponse([FRAGMENT])


def expired(request: HttpRequest) -> HttpResponseBase:
    return redirect("/sign-in/?next=/expired/")


def elsewhere(request: HttpRequest) -> HttpResponseBase:
    return redirect("/quiet/")


def route(name: str, view: Callable[..., HttpResponseBase]) -> object:
    return path(f"{name}/", view, name=name)


urlpatterns = [
    path("fragment/<int:status>/", fragment),
    *map(route, ["quiet", "whole", "moved", "data"], [quiet, whole, moved, data]),
    *map(route, ["stream", "expired", "elsewhere"], [stream, expired, elsewhere]),
    route("sign-in", quiet),
]
HX = {"HX-Request": "true"}
BAND = '<div id="messages"'


@pytest.fixture(autouse=True)
def plain_stack(settings: object) -> None:
    """Our middleware among the few it needs; nobody has to be signed in and no row is read."""
    settings.ROOT_URLCONF = __name__
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    settings.MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django_htmx.middleware.HtmxMiddleware",
        "kit.middleware.LoginExpiredMiddleware",
        "kit.middleware.HtmxMessagesMiddleware",
    ]


@pytest.mark.parametrize("status", [200, 286, 409, 422])
def test_messages_follow_a_fragment_that_is_swapped(client: Client, status: int):
    text = client.get(f"/fragment/{status}/", headers=HX).content.decode()
    assert text.startswith(FRAGMENT + BAND)
    assert 'hx-swap-oob="innerHTML"' in text
    assert "Saved &amp; sound." in text


def test_messages_shown_once(client: Client):
    client.get("/fragment/200/", headers=HX)
    assert client.get("/quiet/", headers=HX).content.decode() == FRAGMENT


@pytest.mark.parametrize("first", ["/fragment/204/", "/fragment/500/", "/moved/", "/data/"])
def test_messages_wait_where_nobody_would_see_them(client: Client, first: str):
    assert BAND.encode() not in client.get(first, headers=HX).content
    assert "Saved &amp; sound." in client.get("/quiet/", headers=HX).content.decode()


def test_messages_wait_for_a_stream(client: Client):
    assert b"".join(client.get("/stream/", headers=HX).streaming_content) == FRAGMENT.encode()


def test_messages_not_added_without_htmx(client: Client):
    assert client.get("/fragment/200/").content.decode() == FRAGMENT


@pytest.mark.parametrize("headers", [HX, HX | {"HX-Boosted": "true"}], ids=["htmx", "boosted"])
def test_messages_not_twice_in_a_whole_page(client: Client, headers: dict[str, str]):
    text = client.get("/whole/", headers=headers).content.decode()
    assert text.count("Saved &amp; sound.") == 1
    assert text.rstrip().endswith("</html>")


def test_no_messages_nothing_added(client: Client):
    assert client.get("/quiet/", headers=HX).content.decode() == FRAGMENT


def test_expired_login_takes_the_page_back_afterwards(client: Client):
    headers = HX | {"HX-Current-URL": "http://testserver/b/garden/vote/?item=3"}
    response = client.get("/expired/", headers=headers)
    assert response.status_code == 286
    assert response["HX-Redirect"] == "/sign-in/?next=%2Fb%2Fgarden%2Fvote%2F%3Fitem%3D3"
    assert "Location" not in response


def test_expired_login_from_a_foreign_address_goes_home(client: Client):
    headers = HX | {"HX-Current-URL": "https://evil.example/phish"}
    assert client.get("/expired/", headers=headers)["HX-Redirect"] == "/sign-in/?next=%2F"


def test_expired_login_without_htmx_is_a_plain_redirect(client: Client):
    response = client.get("/expired/")
    assert (response.status_code, response["Location"]) == (302, "/sign-in/?next=/expired/")


def test_other_redirects_are_left_alone(client: Client):
    response = client.get("/elsewhere/", headers=HX)
    assert (response.status_code, response["Location"]) == (302, "/quiet/")


@pytest.mark.parametrize(("status", "is_written"), [(409, False), (404, True), (500, True)])
def test_a_refused_write_is_no_line_of_the_log(status: int, is_written: bool) -> None:
    (console,) = (each for each in logging.getLogger().handlers if each.get_name() == "console")
    record = logging.makeLogRecord({"name": "django.request", "status_code": status})
    assert bool(console.filter(record)) is is_written
