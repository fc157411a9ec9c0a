"""The first start: demo, five people, their links; and every start after it."""

import re
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from corpus.models import (
    Benchmark,
    CleaningRun,
    Judgment,
    Membership,
    Passage,
    Query,
    RetrievalRun,
)
from debate.models import Debate, DebateRun
from evaluation.management.commands import load_demo as command
from evaluation.models import Chain, Release, ScoreSheet
from evaluation.releases.building import carry_out
from evaluation.releases.services import start_here
from evaluation.verification.folder import verify
from tests.factories import make_benchmark, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db
PEOPLE = {
    "annotator-1": ["annotator"],
    "annotator-2": ["annotator"],
    "annotator-3": ["annotator"],
    "reviewer": ["reviewer"],
    "admin": ["admin"],
}


def load() -> str:
    out = StringIO()
    call_command("load_demo", stdout=out)
    return out.getvalue()


def links(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\S+) +http://127\.0\.0\.1:8000(/sign-in/\S+/)", text))


def counts() -> list[int]:
    return [kind.objects.count() for kind in (Benchmark, User, Query, Passage, DebateRun, Debate)]


def test_first_start_brings_texts_people_and_a_run_that_waits(monkeypatch) -> None:
    monkeypatch.delenv("ASSAY_URL", raising=False)
    text = load()
    assert text.startswith("First start: loading the demo benchmark.")
    assert list(links(text)) == list(PEOPLE)
    members = Membership.objects.filter(benchmark__slug="garden-weather")
    assert {m.user.username: m.roles for m in members} == PEOPLE
    run = DebateRun.objects.get(kind="debate")
    assert (run.status, run.practice, run.endpoint) == ("queued", True, "practice")
    assert run.debates.waiting().count() == run.total == 72
    # Two systems to compare, their scores and a cleaned version are there once a worker was.
    assert RetrievalRun.objects.filter(query_count=8).count() == 2
    assert ScoreSheet.objects.get().status == CleaningRun.objects.get().status == "queued"
    assert (Chain.objects.get().status, Chain.objects.get().total) == ("queued", 5)
    assert not any(user.has_usable_password() or user.is_staff for user in User.objects.all())


def test_each_link_signs_its_person_in() -> None:
    for username, link in links(load()).items():
        client = Client()
        client.post(link)
        assert client.get("/").wsgi_request.user.username == username
        assert client.get("/b/garden-weather/").status_code == 200


def test_second_start_loads_nothing_and_prints_fresh_links() -> None:
    first = links(load())
    before = counts()
    text = load()
    assert "loading" not in text
    assert counts() == before
    assert list(links(text)) == list(PEOPLE)
    assert not set(first.values()) & set(links(text).values())
    assert Client().get(first["admin"]).status_code == 404


def test_links_lead_to_where_assay_listens(monkeypatch) -> None:
    monkeypatch.setenv("ASSAY_URL", "http://127.0.0.1:8123")
    assert load().count("  http://127.0.0.1:8123/sign-in/") == 5


@pytest.mark.parametrize("make", [make_benchmark, lambda: make_user("first")])
def test_assay_that_holds_something_else_is_left_alone(make) -> None:
    make()
    before = counts()
    assert load() == ""
    assert counts() == before


def test_nobody_gets_in_once_the_demo_has_lost_a_person() -> None:
    load()
    Membership.objects.get(user__username="reviewer").delete()
    assert load() == ""


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_KEY"])
def test_nothing_is_spent_on_a_configured_endpoint_without_being_asked(settings, name) -> None:
    setattr(settings, name, "http://models.example/v1")
    assert len(links(load())) == 5
    assert not DebateRun.objects.exclude(kind="human_only").exists()


def test_first_start_that_was_killed_halfway_is_completed_by_the_next(monkeypatch) -> None:
    def killed(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "start_run", killed)
    with pytest.raises(KeyboardInterrupt):
        load()
    assert Benchmark.objects.exists()
    assert not User.objects.exists()
    monkeypatch.undo()
    assert len(links(load())) == 5
    assert counts()[:2] == [1, len(PEOPLE) + len(command.MADE_UP)]
    assert DebateRun.objects.get(kind="debate").total == 72


def test_there_is_something_to_look_at_and_made_up_votes_are_nobodys_work(tmp_path) -> None:
    load()
    _exam_and_releases()
    benchmark = Benchmark.objects.get()
    voters = User.objects.filter(username__startswith="made-up-votes-")
    assert not voters.filter(is_active=True).exists()
    assert not Membership.objects.filter(user__in=voters).exists()
    # Each label is the gold's, and marked as the practice model's are.
    given = Judgment.objects.standing()
    assert all(given.values_list("practice", flat=True))
    gold = set(Judgment.objects.original().filter(label=1).values_list("query", "passage"))
    assert {row[:2] for row in given.values_list("query", "passage", "label") if row[2]} <= gold
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    page = one_line(client.get("/b/garden-weather/agreement/"))
    assert "with 95 % confidence" in page
    assert "made-up-votes-1" in page
    release = start_here(benchmark=benchmark, version="9.0.0", folder=tmp_path / "9", final=True)
    carry_out(release)
    assert (release.status, [each["check"] for each in release.faults]) == (
        "failed",
        ["practice_labels"],
    )
    # Nobody who begins a run is led to pairs that are decided.
    field = client.get("/b/garden-weather/debates/new/").context["form"]["pool"]
    assert str(field.initial) == "demo pairs"


def _exam_and_releases() -> None:
    client = Client()
    client.force_login(User.objects.get(username="annotator-1"))
    exams = client.get("/b/garden-weather/qualification/").content
    assert exams.count(b'name="practice"') == 4
    built = Release.objects.order_by("version").values_list("version", "state", "status", "faults")
    assert list(built) == [("0.0.1", "draft", "done", []), ("0.0.2", "final", "done", [])]
    assert all(verify(Path(each.folder)).differences == [] for each in Release.objects.all())
