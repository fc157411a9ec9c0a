"""Keep what this release would leave behind: `python -m tests.upgrade VERSION`, before tagging it.

Writes VERSION.sqlite3.gz and VERSION.sql.gz (PostgreSQL's, from the server that
ASSAY_TEST_POSTGRES names) beside this file: the demo with a finished debate run, and one of
everything that an address can name. test_upgrade.py brings them up to the present migrations.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
NAME = "assay_upgrade"


def main(version: str) -> None:
    """Write both files."""
    server = os.environ["ASSAY_TEST_POSTGRES"].rstrip("/")
    for kind, url in {"sqlite3": "", "sql": f"{server}/{NAME}"}.items():
        with tempfile.TemporaryDirectory() as data:
            if url:
                psql = ["psql", "--quiet", f"{server}/postgres", "-c"]
                subprocess.run([*psql, f"DROP DATABASE IF EXISTS {NAME}"], check=True)
                subprocess.run([*psql, f"CREATE DATABASE {NAME}"], check=True)
            environment = os.environ | {"ASSAY_DATA": data, "DATABASE_URL": url}
            manage = [sys.executable, "manage.py"]
            subprocess.run([*manage, "prepare", "--demo"], env=environment, check=True)
            fill = "from tests.upgrade.__main__ import fill; fill()"
            subprocess.run([*manage, "shell", "-v", "0", "-c", fill], env=environment, check=True)
            if url:
                dump = ["pg_dump", "--no-owner", "--no-privileges", url]
                kept = subprocess.run(dump, capture_output=True, check=True).stdout
            else:
                vacuum = "from django.db import connection as c; c.cursor().execute('VACUUM')"
                subprocess.run(
                    [*manage, "shell", "-v", "0", "-c", vacuum], env=environment, check=True
                )
                kept = (Path(data) / "assay.sqlite3").read_bytes()
        (HERE / f"{version}.{kind}.gz").write_bytes(gzip.compress(kept, mtime=0))


def fill() -> None:
    """Finish the demo's run, and add one of everything."""
    from corpus.models import ImportRun
    from debate.models import DebateRun
    from debate.tasks import DEBATES
    from evaluation.models import Release
    from llm import endpoints
    from llm.models import Call
    from tests.routes.world import make_everything

    run = DebateRun.objects.get()
    assert run.claim()
    with endpoints.practice_if_unconfigured():
        DEBATES.drive(run)
    with tempfile.TemporaryDirectory() as folder:
        make_everything(Path(folder))
    # Nothing of the machine that it was made on.
    DebateRun.objects.update(owner="")
    ImportRun.objects.update(owner="", path="corpus/demo")
    Release.objects.update(folder="releases")
    Call.objects.update(owner="worker")


if __name__ == "__main__":
    main(sys.argv[1])
