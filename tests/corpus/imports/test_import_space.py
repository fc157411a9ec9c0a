"""What a refused or killed import leaves on the disk: nothing, after a while."""

import os
import shutil
import time
from pathlib import Path

import pytest
from django.db import connection

from corpus.imports.uploads import new_folder, sweep_uploads
from corpus.models import Passage
from kit.database.space import give_back
from kit.runs.models import RunStatus
from kit.runs.periodic import PeriodicTasks
from tests.corpus.import_files import aspect, bright_pro, claimed, imported
from tests.factories import make_benchmark, make_passage
from tests.kit.test_space import SQLITE, pages

pytestmark = pytest.mark.django_db
TEXTS = [
    {"id": f"a/{number}.txt", "content": f"{number} {'moth ' * 2_000}"} for number in range(1000)
]


@pytest.fixture
def benchmark():
    return make_benchmark("light")


@SQLITE
@pytest.mark.django_db(transaction=True)
def test_a_refused_import_gives_its_place_back(benchmark, tmp_path) -> None:
    before = pages()
    broken = [*TEXTS, {"id": "a/last.txt", "content": 7}]
    run = imported(benchmark, bright_pro(tmp_path, documents=broken))
    assert (run.status, len(run.problems)) == (RunStatus.FAILED, 1)
    assert not Passage.objects.exists()
    assert pages() > before + 1_000
    while give_back(keep=0):
        pass
    assert pages() < before + 100


def test_what_the_small_files_tell_is_known_before_a_text_is_written(benchmark, tmp_path) -> None:
    first = make_passage(benchmark, "b/1.txt")
    aspects = [aspect(1, weight="heavy")]
    run = imported(benchmark, bright_pro(tmp_path, aspects=aspects, documents=TEXTS))
    assert run.status == RunStatus.FAILED
    # No row in between was numbered.
    assert make_passage(benchmark, "b/2.txt").pk == first.pk + 1


def test_leftovers_of_uploads_are_swept_and_nothing_else(benchmark, settings, tmp_path) -> None:
    settings.ASSAY_DATA, settings.UPLOADS = tmp_path, tmp_path / "uploads"
    waiting, left, young = new_folder(), new_folder(), new_folder()
    run = claimed(benchmark, bright_pro(waiting / "files"))
    unpacked, killed = (settings.UPLOADS / f"import-{pk}" for pk in (run.pk, run.pk + 1))
    coming, database = tmp_path / "tmp1.upload.zip", tmp_path / "assay.sqlite3"
    for folder in (unpacked, killed):
        folder.mkdir()
    for path in (coming, database):
        path.write_bytes(b"x")
    for path in (waiting, left, unpacked, killed, coming, database):
        os.utime(path, (0, time.time() - 100_000))
    PeriodicTasks().do_due(0.0)
    left_over = {*tmp_path.iterdir(), *settings.UPLOADS.iterdir()}
    assert left_over == {settings.UPLOADS, waiting, young, unpacked, database}
    run.move(RunStatus.CANCELLED)
    assert sweep_uploads() == 2
    assert Path(settings.UPLOADS).exists()
    shutil.rmtree(young)


def test_nothing_is_given_back_inside_of_a_transaction(benchmark) -> None:
    assert connection.in_atomic_block
    assert give_back(keep=0) == 0
