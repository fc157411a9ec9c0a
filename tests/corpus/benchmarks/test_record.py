"""The record of a benchmark, on the screen, by the API and as a file that is verified."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from corpus.benchmarks import services as people
from corpus.models import Membership
from kit.models import Event
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin_client() -> Client:
    """An admin, in a benchmark with a person who was added and a release that was not."""
    benchmark, other = make_benchmark(), make_benchmark(slug="other")
    admin = make_member(benchmark, "admin", "admin")
    make_gold(make_query(benchmark, "1"), make_passage(benchmark, "p"))
    people.add_person(benchmark=benchmark, username="bo", roles=["annotator"], actor=admin)
    people.add_person(benchmark=other, username="di", roles=["annotator"], actor=None)
    client = Client()
    client.force_login(admin)
    return client


def test_the_screen_lists_what_is_asked_for(admin_client: Client) -> None:
    page = one_line(admin_client.get("/b/demo/record/?about=people"))
    assert '<td data-label="Who">admin</td><td data-label="What">add person</td>' in page
    assert page.count('data-label="What"') == 1
    for query in ("about=releases", "by=machine&about=people", "q=nothing+like+it"):
        assert "Nothing matches" in one_line(admin_client.get(f"/b/demo/record/?{query}"))


def test_a_change_of_roles_says_what_they_were(admin_client: Client) -> None:
    member = Membership.objects.get(user__username="bo")
    people.change_person(membership=member, roles=["reviewer"], domains=[], actor=None)
    page = one_line(admin_client.get("/b/demo/record/?about=people&by=machine"))
    assert '<span class="meta">roles</span> reviewer' in page
    assert '<span class="meta">roles before</span> annotator' in page


def test_labels_are_those_of_support_too(admin_client: Client) -> None:
    about = {"scope": "demo", "verb": "label support", "target_id": "1"}
    Event.objects.create(target_type="annotate.supportlabel", **about)
    found = admin_client.get("/api/b/demo/events/?about=labels").json()["results"]
    assert [each["verb"] for each in found] == ["label support"]


def test_the_api_says_the_same(admin_client: Client) -> None:
    found = admin_client.get("/api/b/demo/events/?about=people").json()
    assert [(each["actor"], each["verb"]) for each in found["results"]] == [("admin", "add person")]
    assert found["results"][0]["data"]["roles"] == ["annotator"]
    assert admin_client.get("/api/b/demo/events/?about=weather").status_code == 400


@pytest.mark.parametrize("address", ["/b/demo/record/file/", "/api/b/demo/events/file/"])
def test_the_file_holds_every_event_and_is_verified(
    admin_client: Client, address: str, tmp_path: Path
) -> None:
    answer = admin_client.get(address)
    assert answer["Content-Disposition"] == 'attachment; filename="demo-events.jsonl"'
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    events = [json.loads(line) for line in path.read_text().splitlines()][:-1]
    assert {event["benchmark"] for event in events} == {"demo"}
    assert [e["actor"] for e in events if e["verb"] == "add person"] == ["admin"]
    call_command("verify_events", str(path), stdout=StringIO())
