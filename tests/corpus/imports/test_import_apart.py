"""Uploads are read in a process of their own: the same rows, and an end where its bounds are."""

import pickle
from pathlib import Path
from random import Random

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotate.workspace.loading import run_import
from corpus.importers import apart as reading
from corpus.importers.formats import format_named
from corpus.imports import apart
from corpus.imports.services import start_import
from corpus.models import Benchmark, ImportRun, Passage
from kit import bounded
from tests.corpus.import_files import bright_pro, bright_row, write_lines
from tests.factories import make_benchmark
from tests.fuzz.samples import SAMPLES, Files, zipped
from tests.fuzz.trial import READERS, files_of, write

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _uploads(settings, tmp_path) -> None:
    settings.UPLOADS = tmp_path / "uploads"


@pytest.fixture
def benchmark() -> Benchmark:
    return make_benchmark("light", domains=())


def sent(benchmark: Benchmark, content: bytes, name: str, format: str) -> ImportRun:
    """An import of an upload, carried out as a worker does."""
    run = start_import(
        benchmark=benchmark,
        actor=None,
        format=format,
        upload=SimpleUploadedFile(name, content),
    )
    run.claim()
    run_import(run)
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("name", "files"), [(name, files) for name, found in SAMPLES.items() for files in found]
)
def test_every_row_survives_the_way_and_no_other_class_is_asked_for(
    tmp_path: Path, name: str, files: Files
) -> None:
    broken = [files_of(name, Random(seed)) for seed in range(10)]
    for number, each in enumerate([files, *broken]):
        folder = tmp_path / str(number)
        write(folder, each)
        rows = list(READERS[name](folder))
        body = pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)
        assert bounded._Known(body, reading.KINDS).load() == rows


def test_an_upload_is_read_apart_to_the_same_end(benchmark, tmp_path, monkeypatch) -> None:
    monkeypatch.delattr(apart, "format_named")  # whoever reads here fails
    monkeypatch.delattr(apart, "unpack")
    folder = bright_pro(tmp_path / "given")
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.jsonl")}
    run = sent(benchmark, zipped(files), "light.zip", "bright_pro")
    assert (run.status, run.done, run.summary["passages"]["added"]) == ("done", run.total, 3)
    assert run.total == -(-sum(map(len, files.values())) // 1024)
    texts = [row for row in format_named("bright_pro").read(folder) if hasattr(row, "texts")]
    assert set(Passage.objects.values_list("text", flat=True)) == set(texts[0].texts)


def test_problems_of_files_and_archives_are_told_as_ever(benchmark, tmp_path) -> None:
    content = write_lines(tmp_path / "biology.jsonl", [bright_row(gold_ids=3)]).read_bytes()
    run = sent(benchmark, content, "biology.jsonl", "bright")
    assert [(each["file"], each["line"]) for each in run.problems] == [("biology.jsonl", 1)]
    assert (
        sent(benchmark, b"PK", "light.zip", "bright")
        .problems[0]["message"]
        .startswith("This is not a")
    )


@pytest.mark.parametrize("name", ["biology.jsonl", "light.zip"])
def test_what_takes_too_much_is_refused_and_nothing_is_kept(benchmark, monkeypatch, name) -> None:
    monkeypatch.setattr(apart, "_MEMORY", 2**26)  # less than the reader itself
    run = sent(benchmark, b"{}", name, "bright")
    assert (run.status, Passage.objects.exists()) == ("failed", False)
    assert "takes more" in run.problems[0]["message"]
