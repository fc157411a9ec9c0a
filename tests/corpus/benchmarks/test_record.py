"""The record of a benchmark, on the screen, by the API and as a file that is verified."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from corpus.benchmarks import services as people
from corpus.models import Membership
from kit.account import people as accounts
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


PARTS = ["votes", "audits", "reviews", "panels", "exams", "answers", "merges"]


def say(part: str, actor: User | None) -> None:
    told = {"verb": f"say {part}", "target_type": "annotate.vote", "target_id": "1"}
    Event.objects.create(scope=f"demo#{part}", actor=actor, data={"label": "one-secret"}, **told)


def everything(client: Client, part: str) -> list[dict[str, Any]]:
    """What the three ways say of the events of one part."""
    page = one_line(client.get(f"/b/demo/record/?q=say+{part}"))
    found = client.get(f"/api/b/demo/events/?q=say+{part}").json()["results"]
    file = b"".join(client.get("/b/demo/record/file/").streaming_content)  # type: ignore[attr-defined]
    lines = [json.loads(line) for line in file.splitlines()]
    lines = [line for line in lines if line.get("verb") == f"say {part}"]
    assert page.count(f"say {part}</td>") == len(found) == len(lines)
    assert page.count("one-secret") == str(found).count("one-secret")
    assert [each["data"] for each in found] == [each["data"] for each in reversed(lines)]
    return [each["data"] for each in lines]


@pytest.mark.few(3)
@pytest.mark.parametrize("part", PARTS)
def test_what_people_decide_is_in_the_record(admin_client: Client, part: str) -> None:
    say(part, User.objects.get(username="bo"))
    assert everything(admin_client, part) == [{"label": "one-secret"}]


@pytest.mark.few(4)
@pytest.mark.parametrize("role", ["annotator", "reviewer"])
@pytest.mark.parametrize("part", PARTS)
def test_who_judges_too_learns_that_others_judged_and_not_what(
    admin_client: Client, part: str, role: str
) -> None:
    admin = User.objects.get(username="admin")
    Membership.objects.filter(user=admin).update(roles=["admin", role])
    for actor in (User.objects.get(username="bo"), None, admin):
        say(part, actor)
    kept_back = {"kept_back": "judged blind"}
    assert everything(admin_client, part) == [kept_back, kept_back, {"label": "one-secret"}]
    # What is not judged blind stays as it was.
    people = admin_client.get("/api/b/demo/events/?about=people").json()["results"]
    assert people[0]["data"]["roles"] == ["annotator"]


def test_another_benchmark_whose_name_begins_alike_is_no_part(admin_client: Client) -> None:
    told = {"verb": "elsewhere", "target_type": "annotate.vote", "target_id": "1"}
    for scope in ("demo-2", "demo-2#votes", "other#votes", ""):
        Event.objects.create(scope=scope, **told)
    assert admin_client.get("/api/b/demo/events/?q=elsewhere").json()["results"] == []


@pytest.fixture
def staff() -> Client:
    """A member of staff at a site with an account that was deactivated and one made as usual."""
    root = User.objects.create_superuser("root")
    people.add_person(benchmark=make_benchmark(), username="bo", roles=["reviewer"], actor=None)
    accounts.deactivate(person=User.objects.get(username="bo"), actor=root)
    client = Client()
    client.force_login(root)
    return client


def test_the_site_has_a_record_for_staff(staff: Client) -> None:
    page = one_line(
        staff.get("/record/?about=people&by=" + str(User.objects.get(username="root").pk))
    )
    assert '<td data-label="Who">root</td><td data-label="What">deactivate account</td>' in page
    assert "add person" not in page
    found = staff.get("/api/events/?q=deactivate").json()["results"]
    assert [(each["actor"], each["verb"]) for each in found] == [("root", "deactivate account")]
    assert staff.get("/api/events/?by=12345").status_code == 400


@pytest.mark.parametrize("address", ["/record/file/", "/api/events/file/"])
def test_the_record_of_the_site_is_a_file_that_is_verified(
    staff: Client, address: str, tmp_path: Path
) -> None:
    answer = staff.get(address)
    assert answer["Content-Disposition"] == 'attachment; filename="site-events.jsonl"'
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    verbs = [json.loads(line).get("verb") for line in path.read_text().splitlines()]
    assert "deactivate account" in verbs
    assert "add person" not in verbs
    call_command("verify_events", str(path), stdout=StringIO())


@pytest.mark.parametrize(
    "address", ["/record/", "/record/file/", "/api/events/", "/api/events/file/"]
)
def test_an_admin_who_is_no_staff_does_not_see_it(admin_client: Client, address: str) -> None:
    assert admin_client.get(address).status_code == 403


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
    # As in the files of earlier versions, against which it is held.
    told = {"id", "verb", "target_type", "target_id", "data", "at", "actor_id"}
    assert {*events[0]} == told | {"actor", "benchmark", "chain"}
    assert [e["actor"] for e in events if e["verb"] == "add person"] == ["admin"]
    call_command("verify_events", str(path), stdout=StringIO())
