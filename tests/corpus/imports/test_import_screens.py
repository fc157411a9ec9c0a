import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from corpus.imports.loading import load
from corpus.imports.services import benchmark_for, drop_empty_benchmark, start_import
from corpus.imports.uploads import forget_upload, safe_name
from corpus.models import ImportRun, Query
from kit.errors import Refused
from kit.models import Event
from tests.corpus.import_files import bright_pro, bright_row, claimed, write_lines
from tests.factories import make_benchmark, make_member, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture(autouse=True)
def _uploads(settings, tmp_path) -> None:
    settings.UPLOADS = tmp_path / "uploads"


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


def upload(tmp_path, rows=None, name="biology.jsonl.gz") -> SimpleUploadedFile:
    path = write_lines(tmp_path / name, rows or [bright_row()])
    return SimpleUploadedFile(name, path.read_bytes())


def test_upload_is_queued_kept_apart_and_loads(client, benchmark, tmp_path, settings) -> None:
    data = {"format": "bright", "upload": upload(tmp_path)}
    response = client.post(reverse("imports", args=["light"]), data)
    run = ImportRun.objects.get()
    assert response.status_code == 302
    assert response.url == reverse("import-run", args=["light", run.pk])
    assert (run.status, run.label, run.created_by.username) == (
        "queued",
        "biology.jsonl.gz",
        "admin",
    )
    assert Path(run.path).parent.parent == Path(settings.UPLOADS)
    assert Event.objects.filter(verb="start import", scope="light").count() == 1
    run.claim()
    load(run)
    assert Query.objects.get().domain.name == "biology"
    page = one_line(client.get(response.url))
    assert "What was imported" in page
    assert "gold passages without text" in page


def test_uploaded_qrels_choose_the_gold(admin, benchmark, tmp_path) -> None:
    run = start_import(
        benchmark=benchmark,
        actor=admin,
        format="bright",
        upload=upload(tmp_path),
        qrels=SimpleUploadedFile("biology.txt", b"0 0 late_0.txt 1\n"),
    )
    run.claim()
    load(run)
    run.refresh_from_db()
    assert run.summary["gold"] == [
        {"domain": "biology", "name": "biology.txt", "state": "new", "judgments": 1}
    ]


def test_a_zipped_folder_is_taken(admin, benchmark, tmp_path, settings) -> None:
    folder = bright_pro(tmp_path / "data")
    with zipfile.ZipFile(tmp_path / "demo.zip", "w") as archive:
        for each in folder.rglob("*.jsonl"):
            archive.write(each, each.relative_to(tmp_path))
    given = SimpleUploadedFile("demo.zip", (tmp_path / "demo.zip").read_bytes())
    run = start_import(benchmark=benchmark, actor=admin, format="bright_pro", upload=given)
    run.claim()
    load(run)
    run.refresh_from_db()
    assert (run.status, run.problems, Query.objects.count()) == ("done", [], 1)
    assert [each.name for each in Path(settings.UPLOADS).iterdir()] == [Path(run.path).parent.name]


def test_a_bad_zip_is_a_problem(admin, benchmark) -> None:
    given = SimpleUploadedFile("demo.zip", b"PK nonsense")
    run = start_import(benchmark=benchmark, actor=admin, format="bright_pro", upload=given)
    run.claim()
    load(run)
    assert run.problems[0]["message"] == "This is not a readable zip file without a password."


def test_problems_are_shown_with_their_place(client, benchmark, tmp_path) -> None:
    path = write_lines(tmp_path / "biology.jsonl", [bright_row(), bright_row(id="1", query=None)])
    run = claimed(benchmark, path, "bright")
    load(run)
    page = one_line(client.get(reverse("import-run", args=["light", run.pk])))
    for shown in ("biology.jsonl", '<td class="n" data-label="Line">2</td>', "query", "missing"):
        assert shown in page
    assert "What was imported" not in page


def test_texts_of_a_file_are_shown_as_text(client, benchmark, tmp_path) -> None:
    row = bright_row(id="<script>alert(1)</script>", gold_ids=["x", "x"])
    run = claimed(benchmark, write_lines(tmp_path / "biology.jsonl", [row]), "bright")
    load(run)
    page = one_line(client.get(reverse("import-run", args=["light", run.pk])))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_progress_polls_and_ends_with_the_result(client, benchmark, tmp_path) -> None:
    run = claimed(benchmark, write_lines(tmp_path / "biology.jsonl", [bright_row()]), "bright")
    url = reverse("import-run", args=["light", run.pk])
    polled = client.get(url, **HTMX)
    assert polled.status_code == 200
    assert 'hx-trigger="every 2s"' in one_line(polled)
    assert "<html" not in one_line(polled)
    load(run)
    over = client.get(url, **HTMX)
    assert over.status_code == 286
    assert "What was imported" in one_line(over)


def test_cancel_keeps_nothing_and_cannot_be_done_twice(client, admin, benchmark, tmp_path) -> None:
    run = start_import(benchmark=benchmark, actor=admin, format="bright", upload=upload(tmp_path))
    url = reverse("import-cancel", args=["light", run.pk])
    assert client.get(url).status_code == 405
    page = one_line(client.post(url, follow=True))
    run.refresh_from_db()
    assert (run.status, Path(run.path).exists()) == ("cancelled", False)
    assert "Nothing of it was kept" in page
    assert "over already" in one_line(client.post(url, follow=True))
    assert Event.objects.filter(verb="cancel import", actor=admin).count() == 1


def test_a_file_too_large_is_refused_and_not_kept(client, tmp_path, settings) -> None:
    settings.ASSAY_UPLOAD_LIMIT = 10
    data = {"format": "bright", "upload": upload(tmp_path)}
    response = client.post(reverse("imports", args=["light"]), data)
    assert response.status_code == 413
    assert "loaded by command" in one_line(response)
    assert not Path(settings.UPLOADS).exists()
    assert not ImportRun.objects.exists()


def test_a_file_too_large_is_refused_wherever_it_comes_from(
    admin, benchmark, tmp_path, settings
) -> None:
    settings.ASSAY_UPLOAD_LIMIT = 10
    with pytest.raises(Refused, match="load it by command"):
        start_import(benchmark=benchmark, actor=admin, format="bright", upload=upload(tmp_path))
    assert list(Path(settings.UPLOADS).iterdir()) == []


def test_an_unknown_format_is_refused(client, admin, benchmark, tmp_path) -> None:
    data = {"format": "nonsense", "upload": upload(tmp_path)}
    assert client.post(reverse("imports", args=["light"]), data).status_code == 422
    with pytest.raises(Refused, match="Known: beir"):
        start_import(benchmark=benchmark, actor=admin, format="x", upload=upload(tmp_path))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\biology.jsonl", "biology.jsonl"),
        ("..", "file"),
        ("", "file"),
        (".hidden.jsonl", "hidden.jsonl"),
        ("na\u00efve file.jsonl", "na_ve_file.jsonl"),
        ("x" * 300 + ".jsonl.gz", "x" * 91 + ".jsonl.gz"),
    ],
)
def test_client_file_names_are_made_safe(given, kept) -> None:
    assert safe_name(given) == kept


def test_only_uploaded_files_are_forgotten(benchmark, tmp_path) -> None:
    path = write_lines(tmp_path / "mine" / "biology.jsonl", [bright_row()])
    forget_upload(claimed(benchmark, path, "bright"))
    assert path.exists()


def test_empty_list_says_what_to_do(client) -> None:
    page = one_line(client.get(reverse("imports", args=["light"])))
    assert "Nothing was imported yet" in page
    assert 'enctype="multipart/form-data"' in page


def test_list_takes_the_same_queries_for_one_import_and_three(
    client, benchmark, tmp_path, django_assert_max_num_queries
) -> None:
    path = write_lines(tmp_path / "biology.jsonl", [bright_row()])
    for _ in range(3):
        claimed(benchmark, path, "bright")
        with django_assert_max_num_queries(7):
            client.get(reverse("imports", args=["light"]))


def test_strangers_and_members_without_the_right_are_kept_out(benchmark, tmp_path) -> None:
    run = claimed(benchmark, write_lines(tmp_path / "biology.jsonl", [bright_row()]), "bright")
    make_member(benchmark, "annotator-1", "annotator")
    other = make_benchmark("other", domains=())
    make_member(other, "admin-2", "admin")
    urls = [
        reverse("imports", args=["light"]),
        reverse("import-run", args=["light", run.pk]),
    ]
    for username, status in (("annotator-1", 403), ("admin-2", 404)):
        client = Client()
        client.force_login(make_user(username))
        assert [client.get(url).status_code for url in urls] == [status] * 2
        cancel = reverse("import-cancel", args=["light", run.pk])
        assert client.post(cancel).status_code == status
    client.force_login(make_user("admin-2"))
    assert client.get(reverse("import-run", args=["other", run.pk])).status_code == 404


def test_benchmark_is_made_once_with_its_admin() -> None:
    user = make_user("admin-3")
    made = benchmark_for(slug="new", name="New", create_by=user)
    assert benchmark_for(slug="new", name="Other") == made
    assert made.memberships.get().roles == ["admin"]
    drop_empty_benchmark(made)
    assert benchmark_for(slug="new").pk != made.pk


def test_benchmark_that_holds_something_is_not_dropped(benchmark) -> None:
    drop_empty_benchmark(benchmark)
    benchmark.refresh_from_db()


def test_existing_member_becomes_admin(benchmark) -> None:
    user = make_member(benchmark, "annotator-1", "annotator")
    benchmark_for(slug="light", create_by=user)
    assert benchmark.memberships.get(user=user).roles == ["annotator", "admin"]


def test_progress_is_told_in_what_was_read(client, benchmark, tmp_path) -> None:
    run = claimed(benchmark, write_lines(tmp_path / "biology.jsonl", [bright_row()]), "bright")
    url = reverse("import-run", args=["light", run.pk])
    told = []
    for done, total in ((0, 0), (512, 2048), (2048, 2048)):
        ImportRun.objects.filter(pk=run.pk).update(done=done, total=total)
        told.append(one_line(client.get(url, **HTMX)))
    assert "Getting ready" in told[0]
    assert "512.0\xa0KB of 2.0\xa0MB read · 25 %" in told[1]
    assert "All 2.0\xa0MB read, now being put in place" in told[2]
    run.finish(status="failed", done=512, error="It went wrong.")
    assert "512.0\xa0KB of 2.0\xa0MB read" in one_line(client.get(url))


def test_a_run_is_uploaded_with_its_domain_and_summed_up(client, benchmark, tmp_path) -> None:
    load(claimed(benchmark, write_lines(tmp_path / "biology.jsonl", [bright_row()]), "bright"))
    lines = SimpleUploadedFile("output.run", b"0 Q0 a/b_0.txt 1 2.5 bm25\n")
    url = reverse("imports", args=["light"])
    assert "TREC run" in one_line(client.get(url))
    response = client.post(url, {"format": "trec_run", "upload": lines, "domain": "biology"})
    run = ImportRun.objects.first()
    assert run.claim()
    load(run)
    page = one_line(client.get(response.url))
    assert (run.status, "Retrieval runs" in page, "bm25" in page) == ("done", True, True)


def test_a_domain_is_refused_for_what_names_it_itself(client, benchmark, tmp_path) -> None:
    data = {"format": "bright", "upload": upload(tmp_path), "domain": "biology"}
    response = client.post(reverse("imports", args=["light"]), data)
    assert response.status_code == 422
    assert "Only runs are told their domain" in one_line(response)
    assert not ImportRun.objects.exists()
