"""What `serve` starts, and what it refuses to start."""

import os
import socket
import sys
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command

from kit.management.commands import serve
from kit.runs.processes import Child


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_PRACTICE_URL", raising=False)
    monkeypatch.setattr(sys, "argv", ["manage.py", "serve"])


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def children(**options: int) -> dict[str, Child]:
    found = serve._children(
        "127.0.0.1",
        options.get("port", 8123),
        options.get("processes", 2),
        options.get("workers", 1),
    )
    return {child.name: child for child in found}


def value(child: Child, option: str) -> str:
    return child.command[list(child.command).index(option) + 1]


def test_taken_port_is_refused_with_what_to_do(taken: int) -> None:
    with pytest.raises(CommandError, match=rf"127\.0\.0\.1:{taken} is taken.*PORT=8001 make run"):
        call_command("serve", port=taken)


def test_nothing_is_prepared_while_the_port_is_taken(taken: int, monkeypatch) -> None:
    monkeypatch.setenv("ASSAY_URL", "unchanged")
    with pytest.raises(CommandError, match="is taken"):
        call_command("serve", port=taken)
    assert os.environ["ASSAY_URL"] == "unchanged"


def test_port_comes_from_the_environment(taken: int, monkeypatch) -> None:
    monkeypatch.setenv("PORT", str(taken))
    with pytest.raises(CommandError, match=f":{taken} is taken"):
        call_command("serve")


@pytest.mark.parametrize("port", ["x", "80.5", "-1", "0", "65536", "99999999999"])
def test_what_is_no_port_is_refused_in_words(port: str, monkeypatch) -> None:
    monkeypatch.setenv("PORT", port)
    with pytest.raises(CommandError, match="port"):
        call_command("serve")


def test_address_of_no_machine_is_refused_in_words() -> None:
    with pytest.raises(CommandError, match="no address of this machine"):
        call_command("serve", host="not a host", port=8123)


def test_port_that_was_left_a_moment_ago_can_be_used_again() -> None:
    with socket.socket() as listener, socket.socket() as visitor:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        visitor.connect(("127.0.0.1", port))
        listener.accept()[0].close()  # the side that closes first waits in TIME_WAIT
    serve._check_free("127.0.0.1", port)


def test_practice_model_web_and_worker_run_where_nothing_is_configured() -> None:
    found = children()
    assert list(found) == ["web", "practice model", "worker"]
    practice = found["practice model"]
    assert practice.command[:3] == [sys.executable, "manage.py", "practice_model"]
    url = f"http://127.0.0.1:{value(practice, '--port')}/v1"
    assert [child.environment["ASSAY_PRACTICE_URL"] for child in found.values()] == [url] * 3
    assert "ASSAY_PRACTICE_URL" not in os.environ


@pytest.mark.parametrize(
    "name", ["OPENAI_BASE_URL", "OPENAI_API_KEY", "ASSAY_ENDPOINTS", "ASSAY_PRACTICE_URL"]
)
def test_no_practice_model_beside_a_configured_endpoint(settings, name: str) -> None:
    setattr(settings, name, "configured")
    found = children()
    assert list(found) == ["web", "worker"]
    assert not any("ASSAY_PRACTICE_URL" in child.environment for child in found.values())


def test_file_of_endpoints_that_cannot_be_read_is_told_before_anything_starts(settings) -> None:
    settings.ASSAY_ENDPOINTS = "/nowhere/endpoints.toml"
    with pytest.raises(CommandError, match=r"/nowhere/endpoints\.toml cannot be read"):
        call_command("serve")


def test_web_server_listens_where_it_was_told_with_that_many_processes() -> None:
    web = children(port=8124, processes=3)["web"]
    assert web.command[:4] == [sys.executable, "-m", "gunicorn", "config.wsgi"]
    assert (value(web, "--bind"), value(web, "--workers")) == ("127.0.0.1:8124", "3")


def test_worker_runs_the_apps_tasks_in_threads() -> None:
    worker = children()["worker"]
    assert worker.command[1:3] == ["-m", "celery"]
    assert (value(worker, "-A"), value(worker, "--pool")) == ("config", "threads")
    assert worker.command.index("worker") > worker.command.index("-A")


def test_children_inherit_where_the_data_is(monkeypatch) -> None:
    monkeypatch.setenv("ASSAY_DATA", "/somewhere")
    assert {child.environment["ASSAY_DATA"] for child in children().values()} == {"/somewhere"}


def test_keys_stand_on_no_command_line(settings) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "https://models.example", "sk-hidden"
    lines = [" ".join(child.command) for child in children().values()]
    assert not any("sk-hidden" in line or settings.SECRET_KEY in line for line in lines)


def test_workers_share_long_runs_and_stand_back_behind_the_web_server() -> None:
    found = children(workers=2)
    assert {"web", "worker", "worker 2"} <= found.keys()
    assert value(found["worker"], "--hostname") != value(found["worker 2"], "--hostname")
    assert found["worker"].niceness == found["worker 2"].niceness > found["web"].niceness == 0
