"""The page of endpoints and its API: what models there are, and trying them."""

from typing import Any

import pytest
from django.test import Client

from kit.models import Event
from llm.models import Call
from tests.annotate.test_api import script
from tests.debate.answering import answering
from tests.factories import make_benchmark, make_member
from tests.llm.test_trying import NO_KEY, NO_TEMPERATURE, OK
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
PAGE, API = "/b/demo/endpoints/", "/api/b/demo/endpoints/"


@pytest.fixture
def admin() -> Any:
    return make_member(make_benchmark(), "admin", "admin")


@pytest.fixture
def client(admin) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def text(response: Any) -> str:
    assert response.status_code == 200
    return one_line(response)


def test_nothing_set_up_says_what_to_do(client) -> None:
    assert "No endpoint is set up" in text(client.get(PAGE))


def test_a_trial_is_shown_then_and_later(client, admin, settings) -> None:
    with answering(settings, NO_TEMPERATURE, OK) as stub:
        settings.ASSAY_MODEL_OF_ROLE = {"judge": "default/stub-1", "agents": "default/stub-1"}
        assert "not tried" in text(client.get(PAGE))
        shown = text(client.post(PAGE + "try/", {"endpoint": "default"}, HTTP_HX_REQUEST="true"))
        later = text(client.get(PAGE))
    assert "100 tokens in, 20 out" in shown
    for page in (shown, later):
        assert "answered" in page
        assert "agents, judge" in page
        assert "max_tokens, no temperature, answers by JSON schema" in page
        assert "no price known" in page
        assert stub.endpoint.base_url not in page
        assert "sk-stub" not in page
    assert "<html" not in shown
    event = Event.objects.get(verb="try endpoint")
    assert (event.actor, event.data["endpoint"]) == (admin, "default")


def test_a_refusal_is_shown_without_key_or_address(client, settings) -> None:
    with answering(settings, NO_KEY):
        shown = text(client.post(PAGE + "try/", {"endpoint": "default"}))
    assert "Incorrect API key provided: [key]" in shown
    assert "sk-stub" not in shown


def test_an_endpoint_that_is_not_here_is_refused_in_words(client, settings) -> None:
    with answering(settings, OK) as stub:
        answer = client.post(PAGE + "try/", {"endpoint": "gpu"}, follow=True)
    assert "No endpoint named" in text(answer)
    assert stub.asked == []


def test_a_broken_file_is_told_on_the_page(client, settings, tmp_path) -> None:
    settings.ASSAY_ENDPOINTS = str(tmp_path / "gone.toml")
    assert "cannot be read" in text(client.get(PAGE))
    assert client.post(PAGE + "try/", {"endpoint": "x"}).status_code == 302


@pytest.mark.slow
def test_the_api_lists_and_tries(admin, settings) -> None:
    api = script(admin)
    with answering(settings, NO_KEY, OK) as stub:
        settings.ASSAY_MODEL_OF_ROLE = {"judge": "small"}
        (own, judge) = api.get(API).json()
        assert (own["model"], own["roles"], own["tried_at"]) == ("stub-1", [], None)
        assert (judge["model"], judge["roles"]) == ("small", ["judge"])
        sent = {"endpoint": "default", "role": "judge"}
        (first,) = api.post(API + "try/", sent, content_type="application/json").json()
        (second,) = api.post(API + "try/", sent, content_type="application/json").json()
        unknown = api.post(API + "try/", {"endpoint": "gpu"}, content_type="application/json")
    assert first["fault"] == "HTTP 401: Incorrect API key provided: [key]"
    assert (second["fault"], second["input_tokens"]) == ("", 100)
    assert unknown.status_code == 409
    assert [body["model"] for body in stub.asked] == ["small", "small"]
    assert set(Call.objects.values_list("subject", flat=True)) == {"check:judge"}
