"""The demo as a first start left it, which all tests here share."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from annotate.models import ReferencePanel
from corpus.models import Benchmark, CleaningRun, Judgment, Membership, RetrievalRun
from debate.models import DebateRun
from evaluation.models import Chain, Experiment, Release, TrainingRun
from evaluation.releases.building import carry_out
from evaluation.releases.services import start_here
from evaluation.verification.folder import verify
from tests.evaluation.test_load_demo import PEOPLE, counts, links, load
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def started(undone_database: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the first start printed."""
    folder = tmp_path_factory.mktemp("releases")
    with override_settings(RELEASES=folder), pytest.MonkeyPatch.context() as patch:
        patch.delenv("ASSAY_URL", raising=False)
        return load()


@pytest.fixture
def first_start(db: None, started: str) -> str:
    return started


def test_first_start_brings_texts_people_and_a_run_that_waits(first_start: str) -> None:
    assert first_start.startswith("First start: loading the demo benchmark.")
    assert list(links(first_start)) == list(PEOPLE)
    members = Membership.objects.filter(benchmark__slug="garden-weather")
    assert {m.user.username: m.roles for m in members} == PEOPLE
    run = DebateRun.objects.get(kind="debate", is_trial=False)
    assert (run.status, run.practice, run.endpoint) == ("queued", True, "practice")
    assert run.debates.waiting().count() == run.total == 72
    # Two systems to compare; a cleaned version and a chain are there once a worker was.
    assert RetrievalRun.objects.filter(query_count=8).count() == 2
    assert CleaningRun.objects.get().status == TrainingRun.objects.get().status == "queued"
    assert (Chain.objects.get().status, Chain.objects.get().total) == ("queued", 11)
    assert ReferencePanel.objects.get().items.count() == 8
    # What is compared is on trial, so nobody is asked about its disputes.
    compared = Experiment.objects.get().runs.all()
    assert [(each.is_trial, each.total) for each in compared] == [(True, 15)] * 5
    assert not any(user.has_usable_password() or user.is_staff for user in User.objects.all())


def test_each_link_signs_its_person_in(first_start: str) -> None:
    for username, link in links(first_start).items():
        client = Client()
        client.post(link)
        assert client.get("/").wsgi_request.user.username == username
        assert client.get("/b/garden-weather/").status_code == 200


def test_second_start_loads_nothing_and_prints_fresh_links(first_start: str) -> None:
    first = links(first_start)
    before = counts()
    text = load()
    assert "loading" not in text
    assert counts() == before
    assert list(links(text)) == list(PEOPLE)
    assert not set(first.values()) & set(links(text).values())
    assert Client().get(first["admin"]).status_code == 404


def test_links_lead_to_where_assay_listens(first_start: str, monkeypatch) -> None:
    monkeypatch.setenv("ASSAY_URL", "http://127.0.0.1:8123")
    assert load().count("  http://127.0.0.1:8123/sign-in/") == 5


def test_nobody_gets_in_once_the_demo_has_lost_a_person(first_start: str) -> None:
    Membership.objects.get(user__username="reviewer").delete()
    assert load() == ""


def test_there_is_something_to_look_at_and_made_up_votes_are_nobodys_work(
    first_start: str, tmp_path
) -> None:
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
