"""The same rows in PostgreSQL and in SQLite make the same release, byte for byte."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from annotate.voting.cases import open_case
from annotate.voting.models import Vote, altered_cases
from annotate.voting.services import cast_vote, withdraw_vote
from evaluation.transfer.services import import_file, open_file, write_file
from evaluation.verification.folder import verify
from tests.bench.server import ROOT
from tests.evaluation.conftest import Garden, make_garden, release_into
from tests.evaluation.releases.test_release_building import contents
from tests.evaluation.releases.test_release_final import debated, make_sound
from tests.evaluation.transfer.world import make_world
from tests.factories import make_gold, make_member, make_passage, make_query

pytestmark = [pytest.mark.services, pytest.mark.django_db]
# Databases that sort by a language put these otherwise than one that sorts by bytes.
IDS = ("b-10", "B2", "é3", "b_1", "Zebra", "äpfel", "b 4", "10", "9")


def voted_on(garden: Garden) -> None:
    """Cases that people close, with a vote taken back and one replaced."""
    voters = [make_member(garden.benchmark, f"voter {n}", "annotator") for n in range(4)]
    for place, pid in enumerate(IDS[:4]):
        query = make_query(garden.benchmark, f"q {pid}", "biology", text=f"What is {pid}? ½ “x”")
        garden.passages[pid] = passage = make_passage(garden.benchmark, pid, "biology")
        make_gold(query, passage, label=place % 2)
        case = open_case(
            origin=f"debate:{pid}", kind="dispute", query=query, passage=passage, snapshot={}
        )
        withdraw_vote(vote=cast_vote(case=case, voter=voters[3], label=1), actor=voters[3])
        first = cast_vote(case=case, voter=voters[0], label=1, reason="It says – näively – so.")
        cast_vote(case=case, voter=voters[0], label=0, replaces=first.pk)
        for voter, label in zip(voters[1:3], (0, place % 2), strict=True):
            cast_vote(case=case, voter=voter, label=label)
    for pid in IDS[4:]:
        garden.passages[pid] = make_passage(garden.benchmark, pid, "biology")
        debated(garden, pid, 1, '{"response": "yes"}', '{"response": "yes"}')


def on_sqlite(folder: Path, *commands: list[str]) -> None:
    """Carry out commands in a new installation on SQLite."""
    there = os.environ | {
        "DATABASE_URL": f"sqlite:///{folder}/there.sqlite3",
        "ASSAY_DATA": str(folder),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    for command in (["migrate", "-v0"], *commands):
        line = [sys.executable, "manage.py", *command]
        made = subprocess.run(
            line, cwd=ROOT, env=there, capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stderr


def test_postgresql_and_sqlite_build_the_same_bytes(settings, tmp_path: Path) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: make test-services")
    settings.RELEASES = tmp_path / "releases"
    garden = make_sound(make_garden())
    voted_on(garden)
    release_into(garden.benchmark, tmp_path / "postgresql")
    rows = tmp_path / "rows.json"
    # The release as well: what is built of it there has to have the sums that it had here.
    call_command("dumpdata", "--output", rows, exclude=["contenttypes", "auth.permission"])
    out = tmp_path / "sqlite"
    on_sqlite(
        tmp_path,
        ["loaddata", "-v0", str(rows)],
        ["build_release", "garden", "--version", "0.1.0", "--out", str(out)],
    )
    assert contents(tmp_path / "postgresql") == contents(out)
    report = verify(out)
    assert (report.differences, report.unverified) == ([], 0)
    assert len((out / "evidence/votes.jsonl").read_text().splitlines()) == 5


@pytest.mark.django_db(transaction=True)  # what is not committed is in no file
def test_a_benchmark_travels_from_postgresql_to_sqlite_and_back(settings, tmp_path: Path) -> None:
    """Each import holds what it wrote against the digest of its file."""
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: make test-services")
    settings.RELEASES = tmp_path / "releases"
    (tmp_path / "card").mkdir()
    benchmark = make_world(tmp_path / "card").benchmark
    away, back = tmp_path / "away.zip", tmp_path / "back.zip"
    write_file(benchmark=benchmark, path=away)
    on_sqlite(
        tmp_path,
        ["createsuperuser", "--noinput", "--username", "boss", "--email", ""],
        ["import_benchmark", str(away), "--admin", "boss"],
        ["export_benchmark", benchmark.slug, "--everything", str(back)],
    )
    copy = import_file(path=back, slug="copy")
    assert copy.transfers.get().digest == open_file(back).manifest["digest"]
    first, second = (
        {each["name"]: each for each in open_file(path).manifest["tables"]} for path in (away, back)
    )
    # That it was imported and got an admin are events there.
    assert {name for name in first if first[name] != second[name]} == {"kit.Event"}
    votes = Vote.objects.filter(case__query__domain__benchmark=copy)
    assert votes.count() == 3
    assert altered_cases(votes.order_by("case", "pk")) == []
