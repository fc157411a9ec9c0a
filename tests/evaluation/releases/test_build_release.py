import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command, get_commands, load_command_class

from corpus.models import Source
from evaluation.models import Release
from kit.runs.models import RunStatus
from tests.evaluation.conftest import Garden, label, make_case
from tests.factories import make_benchmark, make_gold, make_passage, make_query


def run(*arguments: str) -> str:
    """The command as the shell starts it, parser included."""
    command = load_command_class(get_commands()["build_release"], "build_release")
    command.stdout = (out := StringIO())
    parser = command.create_parser("manage.py", "build_release")
    options = vars(parser.parse_args(list(arguments)))
    command.execute(**options | {"skip_checks": True})
    return out.getvalue()


def test_draft_with_faults_is_built_and_printed(garden: Garden, tmp_path: Path) -> None:
    make_case(garden.plain, garden.passages["e0"])
    printed = run("garden", "--version", "0.1.0", "--out", str(tmp_path / "out"))
    assert "biology: 1 queries, 2 aspects, 2 gold, 1 holes, 4 documents" in printed
    assert "1 disputed pair still waits for votes" in printed
    release = Release.objects.get()
    assert (release.status, release.state, release.version) == (RunStatus.DONE, "draft", "0.1.0")
    assert (tmp_path / "out/README.md").exists()


def test_json_holds_counts_faults_and_files(garden: Garden, tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = json.loads(run("garden", "--version", "0.1.0", "--out", str(out), "--json"))
    assert printed["folder"] == str(out)
    assert (printed["counts"]["queries"], printed["faults"]) == (2, [])
    assert set(printed["files"]) > {"README.md", "SHA256SUMS", "examples/biology.parquet"}


@pytest.mark.slow
def test_same_content_may_be_built_again_elsewhere(garden: Garden, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    run("garden", "--version", "0.1.0", "--out", str(first))
    run("garden", "--version", "0.1.0", "--out", str(second))
    assert (first / "SHA256SUMS").read_bytes() == (second / "SHA256SUMS").read_bytes()
    assert Release.objects.get().folder == str(first)


def test_other_content_under_the_same_version_is_refused(garden: Garden, tmp_path: Path) -> None:
    run("garden", "--version", "0.1.0", "--out", str(tmp_path / "first"))
    label(garden.plain, garden.passages["e1"], 1, Source.HUMAN)
    with pytest.raises(CommandError, match="Choose another version"):
        run("garden", "--version", "0.1.0", "--out", str(tmp_path / "second"))
    assert not (tmp_path / "second").exists()


def test_folder_that_is_not_empty_is_refused_before_anything(
    garden: Garden, tmp_path: Path
) -> None:
    (tmp_path / "file.txt").write_text("")
    with pytest.raises(CommandError, match="is not empty"):
        run("garden", "--version", "0.1.0", "--out", str(tmp_path))
    assert not Release.objects.exists()


def test_empty_folder_is_taken(garden: Garden, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    run("garden", "--version", "0.1.0", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out/README.md").exists()


def test_version_that_failed_is_free_again(db, tmp_path: Path) -> None:
    benchmark = make_benchmark()
    with pytest.raises(CommandError, match="nothing to release yet"):
        run("demo", "--version", "0.1.0", "--out", str(tmp_path / "out"))
    make_gold(make_query(benchmark), make_passage(benchmark))
    run("demo", "--version", "0.1.0", "--out", str(tmp_path / "other"))
    release = Release.objects.get()
    assert (release.status, release.folder) == (RunStatus.DONE, str(tmp_path / "other"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "--version", "0.1.0"), "no benchmark “nowhere”"),
        (("garden", "--version", "1"), "is no version"),
    ],
)
def test_plain_refusals(garden: Garden, tmp_path: Path, arguments, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("build_release", *arguments, "--out", str(tmp_path / "out"))


@pytest.mark.slow
def test_manage_py_hands_version_to_the_command() -> None:
    manage = Path(django_settings.BASE_DIR) / "manage.py"
    shown = subprocess.run(
        [sys.executable, manage, "build_release", "--help"], capture_output=True, text=True
    )
    assert shown.returncode == 0
    assert "semantic version" in shown.stdout
