"""A call in a process of its own ends where its bounds are, or when nobody wants it any more."""

import os
import time
from pathlib import Path

import pytest

from kit.bounded import Bounds, OutOfBounds, call
from tests.kit.test_processes import alive
from tests.services.processes import wait_until

HERE = "tests.kit.test_bounded"


def answer(body: bytes, *, more: str) -> dict[str, object]:
    return {"body": body.decode(), "more": more, "sees": sorted(os.environ)}


def spin(body: bytes) -> None:
    while True:
        pass


def hoard(body: bytes) -> int:
    return len(bytes(2**30))


def shout(body: bytes) -> str:
    return "x" * 2**22


def crash(body: bytes) -> None:
    os.abort()


def say_who(body: bytes, *, file: str) -> None:
    Path(file).write_text(str(os.getpid()))
    time.sleep(600)


def test_what_the_function_makes_comes_back_and_it_sees_no_key(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of ours")
    made = call(f"{HERE}:answer", "Größe".encode(), more="7 µm")
    assert (made["body"], made["more"]) == ("Größe", "7 µm")
    assert "OPENAI_API_KEY" not in made["sees"]


@pytest.mark.few
@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param("spin", "processor time", marks=pytest.mark.slow),
        ("hoard", "memory"),
        ("shout", "room"),
        ("crash", "care"),
    ],
)
def test_what_takes_too_much_is_ended_and_named(name: str, what: str) -> None:
    bounds = Bounds(seconds=1, memory=2**29, output=2**20)
    with pytest.raises(OutOfBounds, match=what):
        call(f"{HERE}:{name}", b"", bounds=bounds)


def test_nobody_wants_it_any_more(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    def watch() -> None:
        if file.exists() and file.read_text():
            raise KeyError("stopped")

    with pytest.raises(KeyError, match="stopped"):
        call(f"{HERE}:say_who", b"", watch=watch, file=str(file))
    pid = int(file.read_text())
    wait_until(lambda: not alive(pid), saw=lambda: pid)
