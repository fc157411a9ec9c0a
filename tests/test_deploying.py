"""The files of a deployment: what a linter would say of them, and that their settings are good."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from config.safety import Env
from corpus.models import Role
from tests.kit.test_safety import GOOD

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {"SECRET_KEY": GOOD * 2, "ASSAY_HOST": "assay.example"}
PINNED = re.compile(r"(docker\.io/library|localhost)/[a-z]+:\d+\.\d+[\w.-]*")


def instructions(text: str) -> list[tuple[str, str]]:
    """Each instruction of a Containerfile with its words, comments and line ends taken out."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(name, " ".join(words.split())) for name, words in lines]


def faults(text: str) -> list[str]:
    """What hadolint's rules, and a few of our own, say of a Containerfile."""
    steps = instructions(text)
    last = steps[max(n for n, step in enumerate(steps) if step[0] == "FROM") :]
    names = [name for name, _ in last]
    users = [words for name, words in last if name == "USER"]
    bases = [words.split()[0] for name, words in steps if name == "FROM"]
    runs = " && ".join(words for name, words in steps if name == "RUN")
    made_of = [words for name, words in steps if name in ("CMD", "ENTRYPOINT")]
    found = {
        "a base without a fixed version": not all(PINNED.fullmatch(base) for base in bases),
        "ADD": any(name == "ADD" for name, _ in steps),
        "runs as root": not users or users[-1].split(":")[0] in ("root", "0"),
        "a user known by name only": bool(users) and not users[-1].split(":")[0].isdigit(),
        "no health check": names.count("HEALTHCHECK") != 1,
        "not one command": names.count("CMD") != 1,
        "a command in a shell": not all(words.startswith("[") for words in made_of),
        "sudo or a folder changed by cd": bool(re.search(r"\b(sudo|cd)\b", runs)),
        "a download without its hash": bool(re.search(r"\b(curl|wget)\b", runs)),
        "pip without hashes or with a cache": any(
            option not in run
            for run in runs.split("&&")
            if "pip install" in run
            for option in ("--no-cache-dir", "--require-hashes")
        ),
        "a secret": bool(re.search(r"(SECRET|PASSWORD|TOKEN|API_KEY)\w*=", text)),
        "a relative folder": any(
            name == "WORKDIR" and not words.startswith("/") for name, words in steps
        ),
    }
    return [fault for fault, is_there in found.items() if is_there]


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def filled_in(value: str) -> str:
    """As Compose fills in what `.env` says."""

    def fill(match: re.Match[str]) -> str:
        name, default = match.groups()
        return ENVIRONMENT.get(name, "word" if default == "?" else default.removeprefix("-"))

    return re.sub(r"\$\{(\w+):(\?|-[^}]*)\}", fill, value)


def test_the_containerfile_keeps_the_rules() -> None:
    assert faults((ROOT / "Containerfile").read_text()) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (":3.11.13-slim-bookworm AS", ":latest AS", "a base without a fixed version"),
        ("USER 10001:10001\n", "", "runs as root"),
        ("USER 10001:10001", "USER assay", "a user known by name only"),
        ("COPY . /srv/assay", "ADD https://example.org/x /srv/assay", "ADD"),
        ("HEALTHCHECK ", "LABEL x=", "no health check"),
        (" --require-hashes", "", "pip without hashes or with a cache"),
        ("ENV PATH", "ENV SECRET_KEY=x PATH", "a secret"),
        ('CMD ["gunicorn"', 'CMD gunicorn ["x"', "a command in a shell"),
    ],
)
def test_the_rules_find_what_is_wrong(old: str, new: str, fault: str) -> None:
    text = (ROOT / "Containerfile").read_text()
    assert old in text
    assert fault in faults(text.replace(old, new))


def test_every_service_is_pinned_watched_and_shut() -> None:
    services = compose()["services"]
    assert [name for name, each in services.items() if not PINNED.fullmatch(each["image"])] == []
    assert [name for name, each in services.items() if "ports" in each] == ["proxy"]
    for name in ("prepare", "web", "worker"):
        each = services[name]
        assert (each["read_only"], each["cap_drop"], each["tmpfs"]) == (True, ["ALL"], ["/tmp"])
        assert "user" not in each, "the image's own"
    watched = [name for name, each in services.items() if "test" in each.get("healthcheck", {})]
    assert watched == ["worker", "database", "broker", "cache"]  # web: by the image's own
    assert not re.search(r"privileged: true|docker\.sock|network_mode", yaml.dump(services))


def test_what_goes_into_the_image_is_named_and_is_there() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    taken = {line[1:] for line in lines if line.startswith("!")}
    assert [name for name in taken if not (ROOT / name).exists()] == []
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert rooms <= taken
    copied = [
        words.split()[:-1] for name, words in instructions(_containerfile()) if name == "COPY"
    ]
    assert {name for names in copied for name in names if name.endswith(".txt")} <= taken


def settings_of_containers() -> dict[str, str]:
    written = compose()["x-assay"]["environment"]
    return {name: filled_in(value) for name, value in written.items()}


def test_settings_of_the_containers_are_listed() -> None:
    listed = set(re.findall(r"`([A-Z_]+)`", (ROOT / "docs/settings.md").read_text()))
    assert set(settings_of_containers()) - listed == set()


def test_several_web_processes_count_rates_together() -> None:
    assert '"--workers", "4"' in _containerfile()
    host = settings_of_containers()["LIMITS_CACHE"].removeprefix("redis://")
    assert host in compose()["services"]
    assert "LIMITS_CACHE=" in (ROOT / "docs/deploying.md").read_text()


@pytest.mark.slow
def test_nothing_warns_of_the_settings_of_the_containers(tmp_path: Path) -> None:
    given = settings_of_containers()
    given |= {"ASSAY_DATA": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def settings_of(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(os, "environ", environment)
    monkeypatch.setattr(Env, "ENVIRON", environment)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # put back afterwards
    return runpy.run_path(str(ROOT / "config/settings.py"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", ""),
        ("ASSAY_SWEEP_SECONDS", "soon"),
        ("ASSAY_RUNS_AT_ONCE", "two"),
        ("BEHIND_TLS", "maybe"),
        ("DATABASE_URL", "mysql://user:hunter2@host/name"),
        ("BROKER_URL", "nowhere"),
        ("CSRF_TRUSTED_ORIGINS", "assay.example"),
        ("FORCE_SCRIPT_NAME", "assay/"),
        ("LOG_FORMAT", "xml"),
        ("SECURITY_CONTACT", "me"),
        ("SECRET_KEY_FALLBACKS", "hunter2"),
        ("LOG_LEVEL", "LOUD"),
        ("ASSAY_FETCH_ALSO", "10.1.2.3"),
        ("ASSAY_FETCH_ALSO", "10.1.2.3:https"),
        ("OPENAI_BASE_URL", "models.example/v1"),
        ("HF_ENDPOINT", "hub.example"),
        ("ASSAY_PRACTICE_URL", "127.0.0.1:8001"),
        ("ASSAY_LEASE_SECONDS", "0"),
        ("ASSAY_QUERY_SECONDS", "nan"),
        ("ASSAY_UPLOAD_LIMIT", "-1"),
        ("SIGN_IN_LINK_DAYS", "0"),
        ("OIDC_GROUPS", "{"),
        ("OIDC_GROUPS", '{"g": {"benchmark": "demo", "roles": ["boss"]}}'),
        ("OIDC_GROUPS", '{"g": {"benchmark": "demo", "roles": "admin"}}'),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(
    name: str, value: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    given = {"SECRET_KEY": GOOD, "ASSAY_DATA": str(tmp_path)} | {name: value}
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_of(given, monkeypatch)
    sys.excepthook(refused.type, refused.value, refused.tb)
    said = capsys.readouterr().err
    assert re.fullmatch(rf"Assay does not start: {name}\b[^\n]*\n", said)
    assert "hunter2" not in said


def test_what_is_said_of_a_setting_is_about_it(tmp_path: Path, monkeypatch) -> None:
    given = {"SECRET_KEY": GOOD, "ASSAY_DATA": str(tmp_path)}
    for name, value, words in (
        ("OIDC_GROUPS", "{", "no JSON"),
        ("BEHIND_TLS", "maybe", "on or off"),
        ("ASSAY_QUOTA_USD", "-2", "0 or more"),
        ("OIDC_GROUPS", '{"g": {"benchmark": "demo", "roles": ["boss"]}}', ", ".join(Role.values)),
    ):
        with pytest.raises(ImproperlyConfigured, match=words):
            settings_of(given | {name: value}, monkeypatch)
    made = settings_of(given | {"ASSAY_FETCH_ALSO": "[::1]:8080,10.1.2.3:443"}, monkeypatch)
    assert made["ASSAY_FETCH_ALSO"] == ["[::1]:8080", "10.1.2.3:443"]


def test_settings_under_a_path_are_under_it(tmp_path: Path, monkeypatch) -> None:
    given = {"SECRET_KEY": GOOD, "ASSAY_DATA": str(tmp_path), "FORCE_SCRIPT_NAME": "/assay"}
    made = settings_of(given, monkeypatch)
    assert made["STATIC_URL"] == "/assay/static/"
    assert {made["SESSION_COOKIE_PATH"], made["CSRF_COOKIE_PATH"]} == {"/assay/"}
    (probes,) = made["SECURE_REDIRECT_EXEMPT"]
    assert re.match(probes, "assay/-/live")
    assert not re.match(probes, "assay/account/-/")


@pytest.mark.slow
def test_a_command_says_nothing_but_that_line(tmp_path: Path) -> None:
    given = {"SECRET_KEY": GOOD, "ASSAY_DATA": str(tmp_path), "LOG_FORMAT": "xml"}
    for command in (["manage.py", "check"], ["-m", "celery", "-A", "config", "worker"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=given, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        line = "Assay does not start: LOG_FORMAT is 'xml'; it can be plain or json.\n"
        assert (done.returncode, done.stderr) == (1, line)


def test_a_contact_stands_where_finders_look(settings) -> None:
    assert Client().get("/.well-known/security.txt").status_code == 404
    settings.SECURITY_CONTACT = "mailto:security@assay.example"
    response = Client().get("/.well-known/security.txt")
    assert response["Content-Type"].startswith("text/plain")
    assert re.fullmatch(
        r"Contact: mailto:security@assay\.example\nExpires: \d{4}-\d\d-\d\dT00:00:00Z\n",
        response.content.decode(),
    )
    assert "camera=()" in response["Permissions-Policy"]


def test_the_units_start_what_is_there() -> None:
    for unit in (ROOT / "deploy").glob("*.service"):
        text = unit.read_text()
        (start,) = re.findall(r"^ExecStart=/opt/assay/\.venv/bin/(\S+)", text, re.MULTILINE)
        assert (Path(sys.executable).parent / start).exists()
        assert {"User=assay", "NoNewPrivileges=yes", "ProtectSystem=strict"} <= set(
            text.split("\n")
        )


@pytest.mark.slow
def test_the_steps_of_the_image_make_what_starts(tmp_path: Path) -> None:
    """COPY and RUN of the first stage in an empty folder; the second makes a user, and copies.

    uv installs in pip's place, with the same hashes, what it has fetched for this environment.
    Skipped where a package is missing and no registry answers.
    """
    sources = tmp_path / "context"
    _take(sources)
    first = _containerfile().split("FROM ")[1]
    for name, words in instructions(f"FROM {first}"):
        here = words.replace("/opt/assay", str(tmp_path / "opt")).replace(
            "/srv/assay", str(tmp_path / "srv")
        )
        work = tmp_path / "build"
        work.mkdir(exist_ok=True)
        if name == "COPY":
            *sent, to = here.split()
            for each in sent:
                if each == ".":
                    shutil.copytree(sources, to)
                else:
                    shutil.copy(sources / each, work / to)
        elif name == "RUN":
            run = here.replace("python -m venv", f"{shlex.quote(sys.executable)} -m venv")
            pip = f"{tmp_path}/opt/bin/pip install --no-cache-dir --disable-pip-version-check"
            assert "install" not in run or pip in run
            uv = Path(sys.executable).parent / "uv"
            run = run.replace(pip, f"{uv} pip install --python {tmp_path}/opt/bin/python")
            done = subprocess.run(
                ["sh", "-ec", run], cwd=work, capture_output=True, text=True, check=False
            )
            if "pip" in run and re.search("connection|fetch", done.stderr, re.IGNORECASE):
                pytest.skip("no registry of packages answers")
            assert done.returncode == 0, done.stderr[-2000:]
    given = {"SECRET_KEY": GOOD, "ASSAY_DATA": str(tmp_path / "data")}
    python = tmp_path / "opt" / "bin" / "python"
    for command in (
        [python, "manage.py", "prepare"],
        [python, "manage.py", "check", "--fail-level", "WARNING"],
        [python, "-m", "gunicorn", "config.wsgi", "--check-config"],
    ):
        (tmp_path / "data").mkdir(exist_ok=True)
        subprocess.run(command, cwd=tmp_path / "srv", env=given, check=True)


def _containerfile() -> str:
    return (ROOT / "Containerfile").read_text()


def _take(to: Path) -> None:
    """What `.dockerignore` lets in."""
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if not line.startswith("!"):
            continue
        source, target = ROOT / line[1:], to / line[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
