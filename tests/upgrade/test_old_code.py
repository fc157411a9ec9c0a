"""Processes of the version before go on over the upgraded database until they are started anew:
its own code, out of the history, loads its demo there, drives a run, makes one of everything and
answers every route to every role as it did over its own."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from django.db import connection

from tests.bench.server import ROOT

# The commit of the last release.
BEFORE = "70c8a6e09677b07fe9241a4fd7aaf21e8ff49cf4"  # 0.2.0
# What its code does there, with its own tests' world and table of routes.
WORK = """
import json, logging, sys
from pathlib import Path
from django.conf import settings
from django.core.management import call_command

logging.disable(logging.CRITICAL)
settings.ALLOWED_HOSTS = ["testserver"]
from debate.models import DebateRun
from debate.tasks import drive_claimed
from llm import endpoints
from tests.test_routes import ROWS, address, answer, client_of, expected, make_everything
from tests.test_routes import ROLES, whoever_differs

call_command("load_demo", stdout=sys.stderr)
run = DebateRun.objects.get()
assert run.claim()
with endpoints.practice_if_unconfigured():
    drive_claimed(run)
run.refresh_from_db()
world = make_everything(Path(settings.ASSAY_DATA))
clients = {role: client_of(world.people.get(role)) for role in ROLES}
asked, wrong = 0, []
for name, row in ROWS:
    url = address(name, row, world)
    body = {k: str(world.aspect.pk) if v == "{aspect}" else v for k, v in row.body.items()}
    for role in whoever_differs(name, row):
        got = answer(clients[role], row.method, url, body)
        asked += 1
        if got != expected(name, row, role):
            wrong.append([name, row.method, role, got, expected(name, row, role)])
print(json.dumps({"status": run.status, "asked": asked, "wrong": wrong}))
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        connection.vendor != "sqlite", reason="the schema of PostgreSQL is the same"
    ),
]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The code of the version before."""
    command = ["git", "archive", BEFORE]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        pytest.skip("This copy has no history (a shallow clone, an archive).")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(tmp_path / "old", filter="data")
    return tmp_path / "old"


def test_the_version_before_works_over_the_upgraded_database(old: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = kept | {"ASSAY_DATA": str(data)}

    def manage(folder: Path, *command: str) -> str:
        line = [sys.executable, "manage.py", *command]
        done = subprocess.run(
            line, cwd=folder, env=environment, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    manage(old, "prepare")
    manage(ROOT, "prepare")
    told = json.loads(manage(old, "shell", "-v", "0", "-c", WORK).splitlines()[-1])
    assert (told["status"], told["wrong"]) == ("done", [])
    assert told["asked"] > 1000
    # And what it wrote is read by this one, row by row.
    manage(ROOT, "backup", str(tmp_path / "all.zip"))
    manage(ROOT, "restore", str(tmp_path / "all.zip"), "--check")
