"""Install packages into the environment: `python3 config/install.py STAMP REQUIREMENTS...`.

The Makefile runs it with the system's Python, before any package is there. uv installs (it is
fetched with pip where the system has none), pip where uv does not work; both check every hash. The
stamp is written last: an environment without one was stopped half-way and is made anew.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# uv with the system's certificates, as pip takes them: some networks have one of their own.
ENVIRONMENT = {**os.environ, "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
MIN_FREE = 1_500_000_000  # bytes: the packages with the test tools, and what is unpacked for them


def main(stamp: Path, requirements: "list[Path]") -> None:
    """Bring the environment of the stamp up to these requirements, unless it is."""
    if sys.version_info < (3, 11):  # noqa: UP036 (this is what an older Python is told)
        sys.exit(
            "Assay needs Python 3.11 or newer, and this is {}.{}. Name another one: "
            "make run PYTHON=python3.11".format(*sys.version_info)
        )
    root, environment = Path.cwd(), stamp.parent
    if not os.access(root, os.W_OK):
        sys.exit(f"Assay cannot write to {root}, where its packages belong. Clone it elsewhere.")
    lock = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another make installs packages here; waiting for it.", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    if is_new(stamp, requirements):
        return
    free = shutil.disk_usage(root).free
    if free < MIN_FREE:
        sys.exit(f"Assay's packages need 1.5 GB, and {root} has {free / 1e9:.1f} GB left.")
    print("Installing packages (once, about half a minute).", flush=True)
    is_whole = any(environment.glob("*.stamp"))
    for old in environment.glob("*.stamp"):
        old.unlink()
    if not is_whole:
        run(sys.executable, "-m", "venv", "--clear", str(environment))
    install(environment / "bin" / "python", requirements)
    for name in {stamp.name, "run.stamp"}:
        (environment / name).touch()


def is_new(stamp: Path, requirements: "list[Path]") -> bool:
    """Whether the stamp was written after the requirements."""
    written = stamp.stat().st_mtime if stamp.exists() else 0.0
    return all(path.stat().st_mtime <= written for path in requirements)


def install(python: Path, requirements: "list[Path]") -> None:
    """Install with uv, or else with pip."""
    named = [part for path in requirements for part in ("-r", str(path))]
    uv = find_uv(python)
    if uv:
        try:
            options = ["--quiet", "--python", str(python), "--require-hashes"]
            run(uv, "pip", "install", *options, *named)
            return
        except (OSError, subprocess.CalledProcessError):
            print("uv could not install the packages; pip tries.", flush=True)
    pip(python, *named)


def find_uv(python: Path) -> str:
    """The system's uv, or that of our lock file, fetched into the environment; "" for none."""
    found = shutil.which("uv")
    if found:
        return found
    pinned = re.search(r"^uv==.*\n(?: .*\n)*", Path("requirements-dev.txt").read_text(), re.M)
    if pinned is None:
        return ""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(pinned[0])
        file.flush()
        try:
            pip(python, "-r", file.name)
        except subprocess.CalledProcessError:
            return ""
    return str(python.with_name("uv"))


def pip(python: Path, *arguments: str) -> None:
    """Install with pip, every hash checked."""
    quiet = ["--quiet", "--quiet", "--disable-pip-version-check"]
    run(str(python), "-m", "pip", "install", *quiet, "--require-hashes", *arguments)


def run(*command: str) -> None:
    """Run a command to its end; raises CalledProcessError. Ctrl-C ends it and all that it began."""
    process = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True)
    try:
        status = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if status:
        raise subprocess.CalledProcessError(status, command)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
    except KeyboardInterrupt:
        sys.exit("Stopped. The next make installs the packages anew.")
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"The packages could not be installed: {error}")
