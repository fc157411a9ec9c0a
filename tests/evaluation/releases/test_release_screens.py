import io
import shutil
import zipfile
from copy import deepcopy
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from evaluation.models import Release
from evaluation.releases.building import build
from evaluation.releases.services import start_here
from kit.runs.models import RunStatus
from tests.evaluation.conftest import Garden, make_case, release_into
from tests.factories import make_member, make_query, make_user
from tests.markup import one_line
from tests.worlds import in_a_world

HTMX = {"HX-Request": "true"}


@pytest.fixture
def admin(garden: Garden, client: Client) -> Client:
    client.force_login(make_member(garden.benchmark, "garden-admin", "admin"))
    return client


def spoil(garden: Garden) -> None:
    make_case(garden.plain, garden.passages["e0"])
    make_query(garden.benchmark, "<b>8</b>", "biology")


@pytest.fixture(scope="module")
def built(planted: Garden, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release with faults, built once; its row is in no test's database."""

    def make() -> Release:
        spoil(planted)
        return release_into(planted.benchmark, tmp_path_factory.mktemp("built") / "out")

    return in_a_world(make)


@pytest.fixture
def release(garden: Garden, built: Release, tmp_path: Path) -> Release:
    """Its row, and a copy of its folder to do with as one likes."""
    spoil(garden)
    mine = deepcopy(built)
    mine.folder = shutil.copytree(built.folder, tmp_path / "out")
    # PostgreSQL gives the case another key in each test.
    for row in (row for fault in mine.faults for row in fault["rows"] if "case_pk" in row):
        row["case_pk"] = garden.plain.cases.get().pk
    mine.save(force_insert=True)
    return mine


def address(name: str, release: Release, **more: str) -> str:
    return reverse(name, kwargs={"slug": "garden", "pk": release.pk, **more})


def text(response) -> str:
    return response.content.decode()


def test_form_builds_a_draft_under_the_suggested_version(admin: Client) -> None:
    page = reverse("releases", kwargs={"slug": "garden"})
    assert 'value="0.1.0"' in text(admin.get(page))
    response = admin.post(page, {"version": "0.1.0"})
    release = Release.objects.get()
    assert (response.status_code, response.url) == (302, address("release", release))
    assert release.status == RunStatus.QUEUED
    assert 'value="0.2.0"' in text(admin.get(page))


def test_refused_version_keeps_what_was_typed(admin: Client) -> None:
    response = admin.post(reverse("releases", kwargs={"slug": "garden"}), {"version": "one"})
    assert response.status_code == 422
    assert "“one” is no version" in text(response)
    assert 'value="one"' in text(response)


@pytest.mark.slow
def test_list_costs_the_same_with_one_and_three_rows(
    admin: Client, garden: Garden, tmp_path: Path, django_assert_num_queries
) -> None:
    page = reverse("releases", kwargs={"slug": "garden"})
    release_into(garden.benchmark, tmp_path / "a", "0.1.0")
    admin.get(page)
    with django_assert_num_queries(8):
        admin.get(page)
    for version in ("0.2.0", "0.3.0"):
        release_into(garden.benchmark, tmp_path / version, version)
    with django_assert_num_queries(8):
        response = admin.get(page)
    assert all(version in text(response) for version in ("0.1.0", "0.2.0", "0.3.0"))


def test_page_shows_faults_with_next_steps(admin: Client, garden: Garden, release: Release) -> None:
    shown = text(admin.get(address("release", release)))
    assert "1 disputed pair still waits for votes; its label is not decided." in shown
    assert reverse("disputes", kwargs={"slug": "garden"}) in shown
    case = garden.plain.cases.get()
    assert reverse("dispute", kwargs={"slug": "garden", "case": case.public_id}) in shown
    assert "biology-&lt;b&gt;8&lt;/b&gt;" in shown


def test_page_says_where_files_are_gone(admin: Client, release: Release) -> None:
    Path(release.folder, "README.md").unlink()
    assert text(admin.get(address("release", release))).count("no longer there") == 1
    gone = admin.get(address("release-file", release, path="README.md"))
    assert gone.status_code == 404


def test_progress_polls_until_the_build_is_over(
    admin: Client, garden: Garden, tmp_path: Path
) -> None:
    release = start_here(benchmark=garden.benchmark, version="0.1.0", folder=tmp_path / "out")
    Release.objects.update(done=2, total=6)
    live = admin.get(address("release", release), headers=HTMX)
    assert live.status_code == 200
    assert "2 of 6 passages written" in one_line(live)
    assert "every 2s" in text(live)
    assert "<html" not in text(live)
    build(release, folder=tmp_path / "out")
    over = admin.get(address("release", release), headers=HTMX)
    assert over.status_code == 286
    assert "every 2s" not in text(over)


def test_stop_and_try_again(admin: Client, garden: Garden, tmp_path: Path) -> None:
    release = start_here(benchmark=garden.benchmark, version="0.1.0", folder=tmp_path / "out")
    admin.post(address("release-cancel", release))
    assert Release.objects.get().status == RunStatus.CANCELLED
    refused = admin.post(address("release-retry", release), follow=True)
    assert "Only a release that failed can be tried again." in text(refused)
    Release.objects.update(status=RunStatus.FAILED)
    admin.post(address("release-retry", release))
    assert Release.objects.get().status == RunStatus.QUEUED


def test_file_is_sent_as_it_lies(admin: Client, release: Release) -> None:
    response = admin.get(address("release-file", release, path="qrels/biology.base.txt"))
    sent = b"".join(response.streaming_content)
    assert sent == Path(release.folder, "qrels/biology.base.txt").read_bytes()
    assert response["Content-Disposition"] == 'attachment; filename="qrels-biology.base.txt"'


@pytest.mark.parametrize("path", ["secret.txt", "../secret.txt", "qrels/../../secret.txt"])
def test_file_that_is_not_listed_does_not_exist(admin: Client, release: Release, path: str) -> None:
    Path(release.folder, "secret.txt").write_text("secret")
    Path(release.folder).parent.joinpath("secret.txt").write_text("secret")
    page = reverse("release", kwargs={"slug": "garden", "pk": release.pk})
    assert admin.get(f"{page}files/{path}").status_code == 404


def test_archive_holds_every_file(admin: Client, release: Release) -> None:
    response = admin.get(address("release-archive", release))
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as packed:
        assert packed.testzip() is None
        read = {name: packed.read(name) for name in packed.namelist()}
    folder = Path(release.folder)
    assert read == {f"garden-0.1.0/{path}": (folder / path).read_bytes() for path in release.files}


def test_unfinished_release_has_no_downloads(admin: Client, garden: Garden, tmp_path: Path) -> None:
    release = start_here(benchmark=garden.benchmark, version="0.1.0", folder=tmp_path / "out")
    assert admin.get(address("release-archive", release)).status_code == 404
    assert admin.get(address("release-file", release, path="README.md")).status_code == 404


ROUTES = ["releases", "release", "release-archive", "release-file"]


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize(
    ("roles", "status"), [((), 404), (("annotator",), 403), (("reviewer",), 403)]
)
def test_only_admins_enter(
    garden: Garden, release: Release, client: Client, name: str, roles, status: int
) -> None:
    user = make_member(garden.benchmark, "someone", *roles) if roles else make_user("stranger")
    client.force_login(user)
    kwargs = {"slug": "garden"} if name == "releases" else {"slug": "garden", "pk": release.pk}
    if name == "release-file":
        kwargs["path"] = "README.md"
    assert client.get(reverse(name, kwargs=kwargs)).status_code == status


def test_release_of_another_benchmark_does_not_exist(admin: Client, release: Release) -> None:
    from tests.factories import make_benchmark

    other = make_benchmark("other")
    Release.objects.filter(pk=release.pk).update(benchmark=other)
    assert admin.get(address("release", release)).status_code == 404
