import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.safety import check_environment, keep_private, read_secret_key, write_secret_key

GOOD = "x7Jq0v9Zr2kM4nB6pL8sT1wY3cF5hD7g"


@pytest.mark.parametrize("key", ["", "short", "changeme" * 8, "django-insecure-" + "a" * 40])
def test_start_without_a_secret_key_of_ones_own_is_refused(key: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        check_environment(secret_key=key, allowed_hosts=["localhost"], debug=False)


@pytest.mark.parametrize("hosts", [[], ["*"], ["assay.example", "*"]])
def test_start_with_open_hosts_is_refused(hosts: list[str]) -> None:
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS"):
        check_environment(secret_key=GOOD, allowed_hosts=hosts, debug=False)


def test_good_environment_starts() -> None:
    check_environment(secret_key=GOOD, allowed_hosts=["assay.example"], debug=False)


def test_generated_key_is_private_and_stays(tmp_path: Path) -> None:
    kept = write_secret_key(tmp_path / "var")
    first = kept.read_text()
    write_secret_key(tmp_path / "var")
    assert kept.read_text() == first
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert read_secret_key("", tmp_path / "var", debug=False) == first.strip()


def test_key_from_the_environment_goes_first(tmp_path: Path) -> None:
    write_secret_key(tmp_path)
    assert read_secret_key(GOOD, tmp_path, debug=False) == GOOD


def test_a_key_that_a_stopped_start_left_empty_is_written(tmp_path: Path) -> None:
    (tmp_path / "secret.key").touch(0o600)
    kept = write_secret_key(tmp_path)
    key = read_secret_key("", tmp_path, debug=False)
    check_environment(secret_key=key, allowed_hosts=["localhost"], debug=False)
    assert kept.read_text() == f"{key}\n"  # the folder counts as Assay's own


def test_generated_key_passes_the_check(tmp_path: Path) -> None:
    write_secret_key(tmp_path)
    key = read_secret_key("", tmp_path, debug=False)
    check_environment(secret_key=key, allowed_hosts=["localhost"], debug=False)


def started(data: Path, *, start: bool = True, **more: str) -> tuple[str, str]:
    """The secret key and the seed of a process with these settings."""
    code = "import config.safety as s; s.open_data_folder();" if start else ""
    code += "import config.settings as s; print(s.SECRET_KEY, s.SEED_KEY)"
    environment = os.environ | {"ASSAY_DATA": str(data), "SECRET_KEY": "", "SEED_KEY": ""} | more
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    secret, seed = done.stdout.split()
    return secret, seed


def test_the_seed_stays_what_the_key_was_when_it_was_kept(tmp_path: Path) -> None:
    earlier, later = GOOD, GOOD[::-1]
    # As of a version that kept none: whatever only looks keeps none either.
    assert started(tmp_path, start=False, SECRET_KEY=earlier) == (earlier, earlier)
    assert not (tmp_path / "seed.key").exists()
    assert started(tmp_path, SECRET_KEY=earlier) == (earlier, earlier)
    assert started(tmp_path, SECRET_KEY=later) == (later, earlier)
    assert started(tmp_path, start=False, SECRET_KEY=later) == (later, earlier)
    assert mode(tmp_path / "seed.key") == 0o600


@pytest.mark.slow
def test_the_seed_of_a_key_that_was_generated_stays_too(tmp_path: Path) -> None:
    secret, seed = started(tmp_path)
    assert secret == seed
    (tmp_path / "secret.key").write_text(f"{GOOD}\n")
    assert started(tmp_path) == (GOOD, seed)


def test_a_seed_of_the_environment_goes_first_and_is_not_written_down(tmp_path: Path) -> None:
    assert started(tmp_path, SECRET_KEY=GOOD, SEED_KEY="seed") == (GOOD, "seed")
    assert not (tmp_path / "seed.key").exists()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def _open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_open_umask")
def test_new_data_folder_is_its_owners_alone(tmp_path: Path) -> None:
    write_secret_key(tmp_path / "deep" / "var")
    assert mode(tmp_path / "deep" / "var") == 0o700


@pytest.mark.parametrize("wide", [0o755, 0o750, 0o775])
def test_wider_folder_of_ours_is_shut(tmp_path: Path, wide: int) -> None:
    write_secret_key(tmp_path)
    tmp_path.chmod(wide)
    assert keep_private(tmp_path) == ""
    assert mode(tmp_path) == 0o700


def test_folder_without_our_key_stays_and_is_told_of(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert f"chmod 700 {tmp_path}" in keep_private(tmp_path)
    assert mode(tmp_path) == 0o755


def test_folder_that_was_in_use_before_stays_and_is_told_of(tmp_path: Path) -> None:
    """A home folder, say: others may have to reach what lies there."""
    (tmp_path / "letter.txt").touch()
    tmp_path.chmod(0o755)
    kept = write_secret_key(tmp_path)
    assert "chmod 700" in keep_private(tmp_path)
    assert mode(tmp_path) == 0o755
    key = read_secret_key("", tmp_path, debug=False)
    assert key == kept.read_text().splitlines()[0]
    check_environment(secret_key=key, allowed_hosts=["localhost"], debug=False)


@pytest.mark.parametrize("wide", [0o777, 0o1777])
def test_folder_that_everybody_writes_to_stays(tmp_path: Path, wide: int) -> None:
    write_secret_key(tmp_path)
    tmp_path.chmod(wide)
    assert "chmod 700" in keep_private(tmp_path)
    assert mode(tmp_path) == wide


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
def test_folder_of_somebody_else_stays_and_is_told_of(tmp_path: Path) -> None:
    write_secret_key(tmp_path)
    tmp_path.chmod(0o750)
    os.chown(tmp_path, 12345, 12345)
    assert "chmod 700" in keep_private(tmp_path)
    assert mode(tmp_path) == 0o750


def test_folder_that_is_not_there_yet_is_no_reason_to_warn(tmp_path: Path) -> None:
    assert keep_private(tmp_path / "var") == ""
    assert not (tmp_path / "var").exists()


def test_command_warns_of_an_open_folder_and_starts_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    tmp_path.chmod(0o755)
    command = [sys.executable, "-c", "import config.safety as s; s.open_data_folder()"]
    environment = {**os.environ, "ASSAY_DATA": str(tmp_path), "SECRET_KEY": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "Other accounts of this machine" in done.stderr
    assert (tmp_path / "secret.key").is_file()


def test_every_start_shuts_the_folder(tmp_path: Path) -> None:
    write_secret_key(tmp_path)
    tmp_path.chmod(0o755)
    environment = {**os.environ, "ASSAY_DATA": str(tmp_path)}
    subprocess.run([sys.executable, "-c", "import config.settings"], env=environment, check=True)
    assert mode(tmp_path) == 0o700
