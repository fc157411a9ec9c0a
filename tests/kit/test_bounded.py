"""A call in a process of its own ends where its bounds are, or when nobody wants it any more."""

import os
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from kit.bounded import Bounds, OutOfBounds, call, stream
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


def count(body: bytes, *, most: int, then: str) -> Iterator[Any]:
    """Numbers, the last of them as what `then` names, and then an end that is none."""
    yield from range(most)
    yield {"fraction": Fraction(1, 3), "many": ["x"] * 200_000}[then]
    if then == "many":
        os._exit(0)


def say_who_and_go_on(body: bytes, *, file: str) -> Iterator[int]:
    Path(file).write_text(str(os.getpid()))
    yield 1
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


def test_a_stream_brings_what_is_yielded_and_only_what_it_may() -> None:
    found = stream(f"{HERE}:count", kinds=[Fraction], most=3, then="fraction")
    assert list(found) == [0, 1, 2, Fraction(1, 3)]
    with pytest.raises(OutOfBounds, match="care"):
        list(stream(f"{HERE}:count", kinds=[], most=3, then="fraction"))


def test_a_stream_that_ends_before_its_end_is_not_taken_for_whole() -> None:
    with pytest.raises(OutOfBounds, match="care"):
        list(stream(f"{HERE}:count", kinds=[], most=3, then="many"))


def test_a_stream_ends_where_its_bounds_are() -> None:
    with pytest.raises(OutOfBounds, match="memory"):
        list(stream(f"{HERE}:hoard", kinds=[], bounds=Bounds(memory=2**29)))


def test_nobody_wants_the_rest_of_a_stream(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    def watch() -> None:
        raise KeyError("stopped")

    told = {"function": f"{HERE}:say_who_and_go_on", "kinds": [], "file": str(file)}
    coming = stream(**told)
    assert next(coming) == 1
    coming.close()
    assert not alive(int(file.read_text()))
    with pytest.raises(KeyError, match="stopped"):
        list(stream(**told, watch=watch))
