"""A hub on this machine that answers as the Hugging Face Hub documents it, and keeps what it gets.

What the client asks: make a repository, list its files, look at the card, say how each file is to
come, take large files (git LFS, basic transfer), commit lines of JSON, tag. Every request needs the
token.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_a-token-that-nobody-sees"


class Hub(ThreadingHTTPServer):
    """One hub; `refuse` maps a part of a path to the (status, words) that are answered there."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        # By repository: its files, whether it is private, its tags and commits.
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.commits: dict[str, list[dict[str, Any]]] = {}
        self.large: dict[str, bytes] = {}
        self.refuse: dict[str, tuple[int, str]] = {}
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, place = self.server, unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hub.asked.append(f"{self.command} {place}")
        # Large files go to an address that is signed itself.
        is_known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if not is_known and not place.startswith("/large/"):
            return self._send(401, {"error": "Invalid username or password."})
        for part, (status, words) in hub.refuse.items():
            if part in place:
                return self._send(status, {"error": words})
        for pattern, take in _ROUTES.items():
            if found := re.fullmatch(pattern, f"{self.command} {place}"):
                return self._send(*take(hub, body, *found.groups()))
        return self._send(404, {"error": f"not of this hub: {place}"})

    def _send(self, status: int, said: Any) -> None:
        sent = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *args: Any) -> None:
        """Nothing to the terminal."""


def _create(hub: Hub, body: bytes) -> tuple[int, Any]:
    asked = json.loads(body)
    assert asked["type"] == "dataset"
    name = f"{asked['organization']}/{asked['name']}"
    url = {"url": f"{hub.url}/datasets/{name}"}
    if name in hub.files:
        return 409, {"error": "You already created this dataset repo", **url}
    hub.files[name], hub.tags[name], hub.commits[name] = {".gitattributes": b""}, {}, []
    hub.private[name] = asked.get("private") or asked.get("visibility") == "private"
    return 200, url


def _info(hub: Hub, body: bytes, name: str) -> tuple[int, Any]:
    if name not in hub.files:
        return 404, {"error": "Repository not found"}
    files = [{"rfilename": path} for path in sorted(hub.files[name])]
    return 200, {"id": name, "sha": _head(hub, name), "siblings": files}


def _tree(hub: Hub, body: bytes, name: str) -> tuple[int, Any]:
    rows = [
        {"type": "file", "path": path, "size": len(content), "oid": _git_oid(content)}
        for path, content in sorted(hub.files[name].items())
    ]
    return 200, rows


def _card(hub: Hub, body: bytes) -> tuple[int, Any]:
    content = json.loads(body)["content"]
    is_good = content.startswith("---\n")
    errors = [] if is_good else [{"message": "the card has no metadata"}]
    return (200 if is_good else 400), {"errors": errors, "warnings": []}


def _preupload(hub: Hub, body: bytes, name: str) -> tuple[int, Any]:
    def mode(path: str) -> str:
        return "lfs" if path.endswith(".parquet") else "regular"

    files = [
        {"path": each["path"], "uploadMode": mode(each["path"]), "shouldIgnore": False}
        for each in json.loads(body)["files"]
    ]
    return 200, {"files": files}


def _batch(hub: Hub, body: bytes, name: str) -> tuple[int, Any]:
    objects = []
    for each in json.loads(body)["objects"]:
        upload = {"upload": {"href": f"{hub.url}/large/{each['oid']}", "header": {}}}
        missing = {} if each["oid"] in hub.large else {"actions": upload}
        objects.append({**each, "authenticated": True, **missing})
    return 200, {"transfer": "basic", "objects": objects}


def _large(hub: Hub, body: bytes, oid: str) -> tuple[int, Any]:
    if hashlib.sha256(body).hexdigest() != oid:
        return 400, {"error": "another hash"}
    hub.large[oid] = body
    return 200, {}


def _commit(hub: Hub, body: bytes, name: str) -> tuple[int, Any]:
    lines = [json.loads(line) for line in body.decode().splitlines()]
    after = dict(hub.files[name])
    for line in lines:
        value = line["value"]
        if line["key"] == "file":
            after[value["path"]] = base64.b64decode(value["content"])
        elif line["key"] == "lfsFile":
            after[value["path"]] = hub.large[value["oid"]]
        elif line["key"] == "deletedFile":
            del after[value["path"]]
    hub.files[name] = after
    hub.commits[name].append(lines[0]["value"])
    oid = _head(hub, name)
    url = f"{hub.url}/datasets/{name}/commit/{oid}"
    return 200, {"success": True, "commitOid": oid, "commitUrl": url}


def _tag(hub: Hub, body: bytes, name: str, revision: str) -> tuple[int, Any]:
    tag = json.loads(body)["tag"]
    if tag in hub.tags[name]:
        return 409, {"error": f"Tag {tag} exists already"}
    hub.tags[name][tag] = revision
    return 200, {}


def _head(hub: Hub, name: str) -> str:
    return hashlib.sha1(f"{name} {len(hub.commits[name])}".encode()).hexdigest()


def _git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


_NAME = "([^/]+/[^/]+)"
_ROUTES = {
    r"POST /api/repos/create": _create,
    rf"GET /api/datasets/{_NAME}(?:/revision/main)?": _info,
    rf"GET /api/datasets/{_NAME}/tree/main/?": _tree,
    r"POST /api/validate-yaml": _card,
    rf"POST /api/datasets/{_NAME}/preupload/main": _preupload,
    rf"POST /datasets/{_NAME}\.git/info/lfs/objects/batch": _batch,
    r"PUT /large/(\w+)": _large,
    rf"POST /api/datasets/{_NAME}/commit/main": _commit,
    rf"POST /api/datasets/{_NAME}/tag/(\w+)": _tag,
}


@contextmanager
def hub_on_loopback() -> Iterator[Hub]:
    """A hub that listens for as long as the block runs."""
    hub = Hub()
    thread = threading.Thread(target=hub.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
