"""Groups: large under load, prompt without it, and every item gets its own result."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

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


def double(items: Sequence[int], work: Doubler, *, limit: int = 64) -> list[int]:
    async def run() -> list[int]:
        with ThreadPoolExecutor(max_workers=1) as executor:
            batcher = Batcher(work, executor=executor, limit=limit)
            return await asyncio.gather(*(batcher.put(item) for item in items))

    return asyncio.run(run())


def test_what_arrives_together_is_one_group() -> None:
    work = Doubler()
    assert double(range(10), work) == [2 * n for n in range(10)]
    assert work.groups == [list(range(10))]


def test_groups_are_no_larger_than_the_limit() -> None:
    work = Doubler()
    assert double(range(20, 45), work, limit=10) == [2 * n for n in range(20, 45)]
    assert [len(group) for group in work.groups] == [10, 10, 5]
    assert len(work.threads) == 1


def test_groups_grow_while_one_is_at_work() -> None:
    work = Doubler()
    work.may.clear()

    async def run() -> list[int]:
        with ThreadPoolExecutor(max_workers=1) as executor:
            batcher = Batcher(work, executor=executor)
            futures = [batcher.put(0)]
            while not work.groups:
                await asyncio.sleep(0.01)
            futures += [batcher.put(item) for item in range(1, 8)]
            work.may.set()
            return await asyncio.gather(*futures)

    assert asyncio.run(run()) == [2 * n for n in range(8)]
    assert len(work.groups) == 2


def test_failure_reaches_everybody_in_the_group_and_nobody_else() -> None:
    work = Doubler()

    async def run() -> list[object]:
        with ThreadPoolExecutor(max_workers=1) as executor:
            batcher = Batcher(work, executor=executor, limit=2)
            futures = [batcher.put(item) for item in (1, 13, 2, 3)]
            return list(await asyncio.gather(*futures, return_exceptions=True))

    first, second, *others = asyncio.run(run())
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert others == [4, 6]


def test_item_whose_waiter_left_is_still_done() -> None:
    work = Doubler()

    async def run() -> None:
        with ThreadPoolExecutor(max_workers=1) as executor:
            batcher = Batcher(work, executor=executor)
            batcher.put(1).cancel()
            assert await batcher.put(2) == 4
            batcher.put(3)
            await batcher.drain()

    asyncio.run(run())
    assert work.groups == [[1, 2], [3]]


def test_draining_an_empty_batcher_returns() -> None:
    async def run() -> None:
        with ThreadPoolExecutor(max_workers=1) as executor:
            await Batcher(Doubler(), executor=executor).drain()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_result_that_is_missing_is_an_error() -> None:
    async def run() -> None:
        with ThreadPoolExecutor(max_workers=1) as executor:
            await Batcher(lambda items: [], executor=executor).put(1)

    with pytest.raises(ValueError, match="zip"):
        asyncio.run(run())
