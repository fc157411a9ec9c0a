"""Uploads are refused before anything of them is written."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.files import uploadhandler
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from corpus.models import ImportRun
from kit.uploads import AROUND
from tests.factories import make_token

pytestmark = pytest.mark.django_db

BIG = 3 * 1024 * 1024  # more than Django keeps in memory


@pytest.fixture
def temporary(settings, tmp_path) -> Iterator:
    """The folder where uploads are written while they come."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR = str(folder)
    return folder


@pytest.fixture
def written(temporary, monkeypatch) -> list[int]:
    """How many bytes were written to temporary files, block by block."""
    blocks: list[int] = []
    write = uploadhandler.TemporaryFileUploadHandler.receive_data_chunk

    def counted(self, raw_data: bytes, start: int) -> object:
        blocks.append(len(raw_data))
        return write(self, raw_data, start)

    monkeypatch.setattr(uploadhandler.TemporaryFileUploadHandler, "receive_data_chunk", counted)
    return blocks


@pytest.fixture
def client(admin: User) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def file(size: int = BIG) -> SimpleUploadedFile:
    return SimpleUploadedFile("biology.jsonl", b"a" * size)


def upload(size: int = BIG) -> dict[str, object]:
    return {"format": "bright", "upload": file(size)}


IMPORTS = "/b/demo/import/"
API = "/api/b/demo/imports/"


@pytest.mark.parametrize("path", ["/sign-in/", IMPORTS, "/account/"])
@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("cookie", ["", "made-up-0123456789-0123456789012"])
def test_stranger_writes_nothing(admin, written, path: str, checks: bool, cookie: str) -> None:
    stranger = Client(enforce_csrf_checks=checks)
    if cookie:
        stranger.cookies["sessionid"] = cookie
    stranger.get("/sign-in/")  # brings the cookie without which the CSRF check reads nothing
    response = stranger.post(path, upload())
    assert (response.status_code, response["Location"]) == (302, f"/sign-in/?next={path}")
    assert written == []


@pytest.mark.parametrize("token", ["", "Token made-up"])
def test_stranger_writes_nothing_through_the_api(admin, written, token: str) -> None:
    headers = {"authorization": token} if token else {}
    response = Client().post(API, {"format": "bright", "file": file()}, headers=headers)
    assert response.status_code == 401
    assert "detail" in response.json()
    assert written == []


def test_made_up_token_does_not_open_the_screens(admin, written) -> None:
    headers = {"authorization": "Token made-up"}
    assert Client().post(IMPORTS, upload(), headers=headers).status_code == 302
    assert written == []


def test_holder_of_a_token_uploads(admin, written) -> None:
    headers = {"authorization": f"Token {make_token(admin)}"}
    response = Client().post(API, {"format": "bright", "file": file()}, headers=headers)
    assert response.status_code == 202
    assert sum(written) == BIG


def test_declared_length_over_the_limit_is_refused_unread(client, written, settings) -> None:
    settings.ASSAY_UPLOAD_LIMIT = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = BIG - AROUND
    response = client.post(IMPORTS, upload(BIG + 1))
    page = response.content.decode()
    assert response.status_code == 413
    assert "Files may have 2 MB in all." in page
    assert f'href="{IMPORTS}"' in page
    assert "admin</summary>" in page  # still signed in
    assert written == []


def test_streamed_bytes_over_the_limit_are_cut_off(client, written, temporary, settings) -> None:
    """Also where no length was declared: what comes is counted."""
    settings.ASSAY_UPLOAD_LIMIT = BIG - 100_000
    response = client.post(IMPORTS, upload())
    assert response.status_code == 413
    assert sum(written) <= BIG - 100_000
    assert list(temporary.iterdir()) == []
    assert not ImportRun.objects.exists()


def test_two_files_share_the_limit(client, settings) -> None:
    settings.ASSAY_UPLOAD_LIMIT = 100_000
    data = {"format": "bright", "upload": file(60_000), "qrels": file(60_000)}
    assert client.post(IMPORTS, data).status_code == 413
    assert not ImportRun.objects.exists()


def test_too_large_for_the_api_is_said_as_json(client, settings, written) -> None:
    settings.ASSAY_UPLOAD_LIMIT = 1024 * 1024
    response = client.post(API, {"format": "bright", "file": file(BIG - 2 * AROUND + 1)})
    assert response.status_code == 413
    assert "1 MB" in response.json()["detail"]


def test_endless_json_is_refused_unread(client, settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = {"username": "x" * 1000, "roles": ["annotator"]}
    path = "/api/b/demo/people/"
    assert client.post(path, body, content_type="application/json").status_code == 413


def test_file_within_the_limit_is_taken(client, written) -> None:
    assert client.post(IMPORTS, upload()).status_code == 302
    assert sum(written) == BIG
    assert ImportRun.objects.get().label == "biology.jsonl"


def test_form_without_a_file_needs_no_session(admin) -> None:
    """The sign-in form, sent in parts as scripts do: read, and refused for its words."""
    response = Client().post("/sign-in/", {"username": "admin", "password": "wrong"})
    assert response.status_code == 200
    assert "correct username and password" in response.content.decode()


@pytest.mark.parametrize("length", ["", "-5", "soon", "9" * 5000])
def test_length_that_makes_no_sense_is_no_fault_of_the_server(client, length: str) -> None:
    response = client.generic("POST", "/account/", b"", "text/plain", CONTENT_LENGTH=length)
    assert response.status_code in (400, 413, 422)
