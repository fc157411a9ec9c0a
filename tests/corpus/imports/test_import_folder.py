"""Importing from a folder on the server: what lies in it, and nothing else."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from corpus.imports import services as import_folder
from corpus.imports.loading import load
from corpus.imports.services import start_import
from corpus.models import ImportRun, Passage, Query
from kit.errors import Refused
from tests.corpus.import_files import bright_pro, bright_row, write_lines
from tests.factories import make_benchmark, make_member, make_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(settings, tmp_path):
    root = tmp_path / "import"
    settings.ASSAY_IMPORT_FOLDER = str(root)
    settings.UPLOADS = tmp_path / "uploads"
    bright_pro(root / "demo")
    write_lines(root / "biology.jsonl", [bright_row()])
    write_lines(root / ".hidden.jsonl", [bright_row()])
    return root


@pytest.fixture
def benchmark():
    return make_benchmark("light", domains=())


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "admin", "admin")


@pytest.fixture
def client(admin) -> Client:
    client = Client()
    client.force_login(admin)
    return client


@pytest.fixture
def api(admin) -> Client:
    return Client(headers={"Authorization": f"Token {make_token(admin)}"})


def test_names_of_what_lies_there_are_listed(folder) -> None:
    found = [(each["name"], each["is_folder"]) for each in import_folder.entries()]
    assert found == [("biology.jsonl", False), ("demo", True)]


@pytest.mark.parametrize(
    "name", ["../outside.jsonl", "/etc/passwd", "..", ".", "", ".hidden.jsonl", "absent", "a\x00b"]
)
def test_nothing_else_is_found(folder, name) -> None:
    write_lines(folder.parent / "outside.jsonl", [bright_row()])
    with pytest.raises(Refused, match="There is no"):
        import_folder.find(name)


def test_a_file_below_is_found_by_its_path(folder) -> None:
    assert import_folder.find("demo/examples").is_dir()


def test_links_that_lead_out_are_absent(folder) -> None:
    outside = write_lines(folder.parent / "outside" / "biology.jsonl", [bright_row()])
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "elsewhere").symlink_to(outside.parent)
    (folder / "loop").symlink_to(folder / "loop")
    assert [each["name"] for each in import_folder.entries()] == ["biology.jsonl", "demo"]
    for name in ("link.jsonl", "elsewhere", "elsewhere/biology.jsonl", "loop"):
        with pytest.raises(Refused, match="There is no"):
            import_folder.find(name)
    (folder / "demo" / "documents" / "more.jsonl").symlink_to(outside)
    with pytest.raises(Refused, match="holds a link that leads out"):
        import_folder.find("demo")


def test_links_inside_are_followed(folder) -> None:
    (folder / "again").symlink_to(folder / "demo")
    assert import_folder.find("again").is_dir()
    assert "again" in [each["name"] for each in import_folder.entries()]


def test_without_a_folder_there_is_nothing(settings) -> None:
    assert (settings.ASSAY_IMPORT_FOLDER, import_folder.entries()) == ("", [])
    with pytest.raises(Refused, match="no import folder"):
        import_folder.find("x")


def test_a_folder_that_vanished_is_empty(settings, tmp_path) -> None:
    settings.ASSAY_IMPORT_FOLDER = str(tmp_path / "gone")
    assert import_folder.entries() == []


def test_the_screen_imports_what_is_chosen_and_leaves_it_there(client, folder) -> None:
    url = reverse("imports", args=["light"])
    page = client.get(url).content.decode()
    assert '<option value="demo">demo/</option>' in page
    assert ".hidden" not in page
    response = client.post(url, {"format": "bright_pro", "stored": "demo"})
    run = ImportRun.objects.get()
    assert response.url == reverse("import-run", args=["light", run.pk])
    assert (run.label, run.path) == ("demo", str(folder / "demo"))
    run.claim()
    load(run)
    assert (run.status, Query.objects.count()) == ("done", 1)
    assert (folder / "demo" / "examples").is_dir()


def test_the_screen_takes_one_thing_and_not_two(client, folder) -> None:
    url = reverse("imports", args=["light"])
    both = {"format": "bright", "stored": "demo", "upload": SimpleUploadedFile("a.jsonl", b"{}")}
    for data, words in (
        ({"format": "bright"}, "Choose a file, or one from the import folder."),
        (both, "Choose either this or a file to upload."),
        ({"format": "bright", "stored": "../outside"}, "Select a valid choice"),
    ):
        response = client.post(url, data)
        assert (response.status_code, words in response.content.decode()) == (422, True)
    assert not ImportRun.objects.exists()


def test_without_a_folder_the_screen_asks_for_an_upload(client) -> None:
    page = client.get(reverse("imports", args=["light"])).content.decode()
    assert 'name="stored"' not in page
    assert "load_benchmark" in page


def test_the_api_lists_and_imports(api, folder) -> None:
    listed = api.get("/api/b/light/import-folder/")
    assert listed.json()[1] == {"name": "demo", "is_folder": True}
    data = {"format": "bright_pro", "stored": "demo"}
    made = api.post("/api/b/light/imports/", data, content_type="application/json")
    assert (made.status_code, made.json()["label"]) == (202, "demo")
    data["stored"] = "../outside"
    refused = api.post("/api/b/light/imports/", data, content_type="application/json")
    assert (refused.status_code, refused.json()["field"]) == (409, "stored")
    assert ImportRun.objects.count() == 1


def test_names_of_fields_are_given_with_the_import(api, client, folder) -> None:
    url, screen = "/api/b/light/imports/", reverse("imports", args=["light"])
    rows = folder / "rows"
    write_lines(rows / "topics.jsonl", [{"no": 7, "title": "moths"}])
    write_lines(rows / "documents.jsonl", [{"key": "a", "words": "moth"}])
    data = {"format": "trec", "stored": "rows"}
    for pairs, words in (("docno", "is not OURS=THEIRS"), ("qid=a, docno=a", "cannot be both")):
        names = pairs.split(", ")
        refused = api.post(url, {**data, "names": names}, content_type="application/json")
        assert (refused.status_code, refused.json()["field"]) == (409, "names")
        shown = client.post(screen, {**data, "names": pairs})
        fault = str(shown.context["form"].errors["names"])
        assert (shown.status_code, words in fault) == (422, True)
    assert not ImportRun.objects.exists()
    expected = {"no": "qid", "key": "docno", "words": "contents"}
    pairs = ["qid=no", "docno=key", "contents=words"]
    api.post(url, {**data, "names": pairs}, content_type="application/json")
    client.post(screen, {**data, "names": ", ".join(pairs)})
    given = [run.summary["names"] for run in ImportRun.objects.all()]
    assert given == [expected, expected]
    run = ImportRun.objects.first()
    run.claim()
    load(run)
    assert Passage.objects.get().text == "moth"


def test_members_who_are_no_admins_see_no_names(benchmark, folder) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "annotator-1", "annotator"))
    assert client.get("/api/b/light/import-folder/").status_code == 403


def test_uploaded_gold_beside_a_stored_file_is_forgotten_and_the_file_stays(
    benchmark, admin, folder, settings
) -> None:
    from annotate.workspace.loading import run_import

    run = start_import(
        benchmark=benchmark,
        actor=admin,
        format="bright",
        stored="biology.jsonl",
        qrels=SimpleUploadedFile("biology.txt", b"0 0 late_0.txt 1\n"),
    )
    run.claim()
    run_import(run)
    assert (run.status, run.summary["gold"][0]["name"]) == ("done", "biology.txt")
    assert (folder / "biology.jsonl").exists()
    assert list(settings.UPLOADS.iterdir()) == []


def test_a_stored_file_leaves_no_empty_folder_behind(benchmark, admin, folder, settings) -> None:
    start_import(benchmark=benchmark, actor=admin, format="bright", stored="biology.jsonl")
    assert list(settings.UPLOADS.iterdir()) == []
