"""Releases pushed to a hub: what is there then, what is refused, and what nobody sees."""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from huggingface_hub import constants

from corpus.models import Source
from evaluation.models import Release, ReleasePush
from evaluation.releases import pushing
from evaluation.releases.pushing import carry_out, retry_push, start_push
from evaluation.tasks import push_release
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus
from tests.evaluation.conftest import Garden, label, release_into
from tests.evaluation.releases.hub import TOKEN, Hub, hub_on_loopback
from tests.evaluation.releases.test_release_building import contents
from tests.factories import make_member

NAME = "gardens/weather"


@pytest.fixture
def online(monkeypatch) -> None:
    """What the client reads of the environment as it is imported: other tests shut its network."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    # The hub here takes large files by git LFS alone.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)


@pytest.fixture
def hub(settings, online):
    with hub_on_loopback() as made:
        settings.HF_ENDPOINT, settings.HF_TOKEN = made.url, TOKEN
        yield made


@pytest.fixture
def release(garden: Garden, tmp_path: Path) -> Release:
    return release_into(garden.benchmark, tmp_path / "out")


def pushed(release: Release, repository: str = NAME) -> ReleasePush:
    push = start_push(release=release, repository=repository, actor=None, claimed=True)
    carry_out(push)
    push.refresh_from_db()
    return push


def without_git(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: content for path, content in files.items() if path != ".gitattributes"}


def test_a_repository_is_exactly_the_release(hub: Hub, release) -> None:
    push = pushed(release)
    assert (push.status, push.error, push.done) == (RunStatus.DONE, "", len(release.files))
    assert without_git(hub.files[NAME]) == contents(Path(release.folder))
    assert hub.private[NAME] is True
    (commit,) = hub.commits[NAME]
    assert commit["summary"] == "garden 0.1.0 (draft)"
    assert push.commit_url == f"{hub.url}/datasets/{NAME}/commit/{hub.tags[NAME]['0.1.0']}"
    verbs = (
        Event.objects.filter(verb__contains="push").order_by("pk").values_list("verb", flat=True)
    )
    assert list(verbs) == ["start push", "push release"]


def test_the_next_version_replaces_the_files_of_the_last(
    hub: Hub, release, garden, tmp_path
) -> None:
    pushed(release)
    hub.files[NAME]["data/of-before.parquet"] = b"old"
    label(garden.plain, garden.passages["e1"], 1, Source.EXPERT, provenance={"rule": "assigned"})
    newer = release_into(garden.benchmark, tmp_path / "newer", "0.2.0")
    asked = len(hub.asked)
    assert pushed(newer).status == RunStatus.DONE
    assert without_git(hub.files[NAME]) == contents(Path(newer.folder))
    assert ".gitattributes" in hub.files[NAME]
    assert list(hub.tags[NAME]) == ["0.1.0", "0.2.0"]
    # What the hub had is not sent again.
    sent = [each for each in hub.asked[asked:] if each.startswith("PUT /large/")]
    assert 0 < len(sent) < sum(path.endswith(".parquet") for path in newer.files)


def test_a_folder_of_a_repository_leaves_the_others_alone(hub: Hub, release) -> None:
    pushed(release)
    before = dict(hub.files[NAME])
    pushed(release, f"{NAME}/copies/garden")
    inside = "copies/garden/"
    after = hub.files[NAME]
    assert {path: after[path] for path in before} == before
    copied = {p.removeprefix(inside): each for p, each in after.items() if p.startswith(inside)}
    assert copied == contents(Path(release.folder))
    assert list(hub.tags[NAME]) == ["0.1.0", "copies/garden/0.1.0"]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("place", "status", "words", "shown"),
    [
        ("repos/create", 401, "Invalid", "it does not know the token in HF_TOKEN"),
        ("repos/create", 403, "Forbidden", "the token in HF_TOKEN may not write there"),
        ("preupload", 404, "none", "there is no such repository"),
        ("objects/batch", 403, "Forbidden", "the token in HF_TOKEN may not write there"),
        ("large/", 403, "Forbidden", "the token in HF_TOKEN may not write there"),
        ("commit/main", 409, "A commit has happened since", "changed the repository"),
        ("commit/main", 400, f"no {TOKEN} here", "no *** here"),
        ("validate-yaml", 400, "bad", "The hub does not take it"),
    ],
)
def test_refusals_of_the_hub_are_told_in_words(
    hub: Hub, release, place, status, words, shown
) -> None:
    hub.refuse[place] = (status, words)
    push = pushed(release)
    assert push.status == RunStatus.FAILED
    assert shown in push.error
    assert TOKEN not in push.error
    # Nothing is half there: the commit comes last.
    assert without_git(hub.files.get(NAME, {})) == {}
    hub.refuse.clear()
    retry_push(run=push, actor=None)
    push_release(push.pk)
    push.refresh_from_db()
    assert (push.status, push.error) == (RunStatus.DONE, "")


def test_a_hub_that_is_away_is_told_in_words(release, settings, online) -> None:
    with hub_on_loopback() as hub:
        settings.HF_ENDPOINT, settings.HF_TOKEN = hub.url, TOKEN
    push = pushed(release)
    assert push.status == RunStatus.FAILED
    assert "does not answer" in push.error


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", ["", "weather", "a b/c", "../x", "o/n/../..", "o/n/.git", "http://h/o/n", "o/n/", "é/n"]
)
def test_a_name_that_is_none_is_refused(hub: Hub, release, name) -> None:
    with pytest.raises(Refused, match="owner/name") as refusal:
        start_push(release=release, repository=name, actor=None)
    assert refusal.value.field == "repository"
    assert not ReleasePush.objects.exists()


def test_without_a_token_nothing_is_asked(hub: Hub, release, settings) -> None:
    settings.HF_TOKEN = ""
    with pytest.raises(Refused, match="HF_TOKEN"):
        start_push(release=release, repository=NAME, actor=None)
    assert hub.asked == []


def test_files_that_were_altered_are_not_pushed(hub: Hub, release) -> None:
    (Path(release.folder) / "README.md").write_text("better")
    push = pushed(release)
    assert push.status == RunStatus.FAILED
    assert "README.md" in push.error
    assert hub.asked == []


def test_a_release_that_is_not_built_is_not_pushed(hub: Hub, release) -> None:
    Release.objects.update(status=RunStatus.FAILED)
    release.refresh_from_db()
    with pytest.raises(Refused, match="that is built"):
        start_push(release=release, repository=NAME, actor=None)


def test_a_push_that_was_stopped_makes_no_commit(hub: Hub, release, garden) -> None:
    admin = make_member(garden.benchmark, "keeper", "admin")
    push = start_push(release=release, repository=NAME, actor=admin, claimed=True)
    pushing.cancel_push(run=ReleasePush.objects.get(), actor=admin)
    carry_out(push)
    push.refresh_from_db()
    assert push.status == RunStatus.CANCELLED
    assert hub.commits.get(NAME, []) == []
    with pytest.raises(Refused, match="over already"):
        pushing.cancel_push(run=push, actor=admin)
    with pytest.raises(Refused, match="that failed"):
        retry_push(run=push, actor=admin)


def test_the_command_pushes_and_says_where(hub: Hub, release) -> None:
    out = io.StringIO()
    call_command("push_release", "garden", "--version", "0.1.0", "--to", NAME, stdout=out)
    assert out.getvalue() == f"garden 0.1.0 is at {ReleasePush.objects.get().commit_url}\n"
    hub.refuse["commit/main"] = (403, "Forbidden")
    with pytest.raises(CommandError, match="may not write there"):
        call_command("push_release", "garden", "--version", "0.1.0", "--to", f"{NAME}/again")
    with pytest.raises(CommandError, match="no release 9"):
        call_command("push_release", "garden", "--version", "9", "--to", NAME)


def test_screen_and_api_push_and_show_no_token(hub: Hub, release, garden) -> None:
    client = Client()
    client.force_login(make_member(garden.benchmark, "keeper", "admin"))
    page = reverse("release", args=["garden", release.pk])
    answer = client.post(reverse("release-push", args=["garden", release.pk]), {"repository": NAME})
    push = ReleasePush.objects.get()
    assert answer.url == reverse("push", args=["garden", push.pk])
    push_release(push.pk)
    shown = client.get(answer.url).content.decode()
    assert f'href="{hub.url}/datasets/{NAME}/commit/' in shown
    assert NAME in client.get(page).content.decode()
    route = reverse("api-release-pushes", args=["garden", release.pk])
    made = client.post(route, {"repository": f"{NAME}/x"}, content_type="application/json")
    assert (made.status_code, made.json()["status"]) == (202, "queued")
    told = client.get(reverse("api-push", args=["garden", push.pk])).json()
    assert (told["repository"], told["status"]) == (NAME, "done")
    assert told["commit_url"] == ReleasePush.objects.get(pk=push.pk).commit_url
    every = (shown, client.get(page).content.decode(), str(told), str(made.json()))
    assert not any(TOKEN in text for text in every)
    refused = client.post(
        reverse("release-push", args=["garden", release.pk]), {"repository": "x"}, follow=True
    )
    assert "owner/name" in refused.content.decode()
