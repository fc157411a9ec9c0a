"""Groups: large under load, prompt without it, and every item gets its own result."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from llm.batching import Batcher


class Doubler:
    """Doubles numbers once it may, and remembers its groups."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.threads: set[str] = set()
        self.may = threading.Event()
        self.may.set()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.groups.append(list(items))
        self.threads.add(threading.current_thread().name)
        assert self.may.wait(240), "nobody let it go on"
        if 13 in items:
            raise ValueError("thirteen")
        return [2 * item for item in items]


def batched(use: Callable[[Batcher[int, int]], Awaitable[Any]], work: Any, **options: Any) -> Any:
    """What came of using a batcher that does this work."""

    async def run() -> Any:
        with ThreadPoolExecutor(max_workers=1) as executor:
            return await use(Batcher(work, executor=executor, **options))

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("count", "limit", "sizes"), [(10, 64, [10]), (25, 10, [10, 10, 5])], ids=["one", "three"]
)
def test_what_arrives_together_is_one_group_up_to_the_limit(
    count: int, limit: int, sizes: list[int]
) -> None:
    async def put(batcher: Batcher[int, int]) -> list[int]:
        return await asyncio.gather(*(batcher.put(item) for item in range(20, 20 + count)))

    work = Doubler()
    assert batched(put, work, limit=limit) == [2 * n for n in range(20, 20 + count)]
    assert [len(group) for group in work.groups] == sizes
    assert len(work.threads) == 1


def test_groups_grow_while_one_is_at_work() -> None:
    work = Doubler()
    work.may.clear()

    async def put(batcher: Batcher[int, int]) -> list[int]:
        futures = [batcher.put(0)]
        while not work.groups:
            await asyncio.sleep(0.01)
        futures += [batcher.put(item) for item in range(1, 8)]
        work.may.set()
        return await asyncio.gather(*futures)

    assert batched(put, work) == [2 * n for n in range(8)]
    assert len(work.groups) == 2


def test_failure_reaches_everybody_in_the_group_and_nobody_else() -> None:
    async def put(batcher: Batcher[int, int]) -> list[Any]:
        futures = [batcher.put(item) for item in (1, 13, 2, 3)]
        return await asyncio.gather(*futures, return_exceptions=True)

    first, second, *others = batched(put, Doubler(), limit=2)
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert others == [4, 6]


def test_item_whose_waiter_left_is_still_done() -> None:
    work = Doubler()

    async def leave(batcher: Batcher[int, int]) -> None:
        await batcher.drain()  # nothing yet: it returns at once
        batcher.put(1).cancel()
        assert await batcher.put(2) == 4
        batcher.put(3)
        await batcher.drain()

    batched(leave, work)
    assert work.groups == [[1, 2], [3]]


def test_a_result_that_is_missing_is_an_error() -> None:
    async def put(batcher: Batcher[int, int]) -> None:
        await batcher.put(1)

    with pytest.raises(ValueError, match="zip"):
        batched(put, lambda items: [])
