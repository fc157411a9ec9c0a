"""One measurement of calls in a process of its own: KIND URL IN_FLIGHT CALLS; a line of JSON.

KIND: `openai` is the openai client on its best transport, `aiohttp` the transport alone, `ours`
a debate run with everything stored (intents, answers, turns, outcomes, labels), `rerank` a
pointwise reranking of the best 100 of each query, `shared-2` a debate run that two worker
processes share, `worker` one of these (its CALLS is the run's key).
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

PASSAGE = "lorem ipsum dolor sit amet " * 180
WARM_UP = 2  # calls per place in flight


def main() -> None:
    """Measure, and print what came out."""
    kind, url, in_flight, calls = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    name, _, workers = kind.partition("-")
    kinds = {"openai": bare_openai, "aiohttp": bare_aiohttp, "ours": ours, "worker": work}
    kinds["rerank"] = rerank
    kinds["shared"] = partial(shared, workers=int(workers or 1))
    measured = kinds[name](url, in_flight, calls)
    print(json.dumps({"kind": kind, "in_flight": in_flight, "calls": calls, **measured}))


def bare_openai(url: str, in_flight: int, calls: int) -> dict[str, float]:
    """What somebody would write who wants the answers and nothing else."""
    import httpx2
    from openai import AsyncOpenAI, DefaultAioHttpClient

    async def measure() -> dict[str, float]:
        limits = httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
        http = DefaultAioHttpClient(limits=limits)
        async with AsyncOpenAI(
            api_key="x", base_url=url, max_retries=0, http_client=http
        ) as client:

            async def call() -> None:
                done = await client.chat.completions.create(**body())
                json.loads(done.choices[0].message.content or "")["response"]

            return await timed(call, in_flight, calls)

    return asyncio.run(measure())


def bare_aiohttp(url: str, in_flight: int, calls: int) -> dict[str, float]:
    """The transport alone."""
    import aiohttp
    import orjson

    async def measure() -> dict[str, float]:
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def call() -> None:
                async with session.post(
                    f"{url}/chat/completions",
                    data=orjson.dumps(body()),
                    headers={"content-type": "application/json"},
                ) as response:
                    answer = orjson.loads(await response.read())
                json.loads(answer["choices"][0]["message"]["content"])["response"]

            return await timed(call, in_flight, calls)

    return asyncio.run(measure())


async def timed(
    call: Callable[[], Awaitable[None]], in_flight: int, calls: int
) -> dict[str, float]:
    """So many calls with so many in flight, after a warm-up."""

    async def worker(numbers: Any) -> None:
        for _ in numbers:
            await call()

    async def all_of(count: int) -> None:
        numbers = iter(range(count))
        await asyncio.gather(*(worker(numbers) for _ in range(in_flight)))

    await all_of(WARM_UP * in_flight)
    begun, cpu = time.perf_counter(), processor_time()
    await all_of(calls)
    return {"wall": time.perf_counter() - begun, "cpu": processor_time() - cpu}


def body() -> dict[str, Any]:
    """The request of a debate's turn, about as long as a real one."""
    return {
        "model": "stub",
        "messages": [
            {"role": "system", "content": "You are Agent A, one of two assessors. " * 60},
            {"role": "user", "content": f"Why do cells divide? {PASSAGE}"},
        ],
        "temperature": 0,
        "response_format": {"type": "json_object"},
    }


def ours(url: str, in_flight: int, calls: int) -> dict[str, float]:
    """A debate run over so many pairs that it needs about so many calls; all of it is timed."""
    set_up(url, in_flight)
    from debate.tasks import DEBATES
    from tests.bench.calls_data import check, make_run

    DEBATES.drive(make_run(pairs=WARM_UP * in_flight // 2))
    run = make_run(pairs=calls // 2)
    begun, cpu = time.perf_counter(), processor_time()
    DEBATES.drive(run)
    measured = {"wall": time.perf_counter() - begun, "cpu": processor_time() - cpu}
    check(run, calls)
    return measured


def rerank(url: str, in_flight: int, calls: int) -> dict[str, float]:
    """A pointwise reranking of so many pairs, from its start to its retrieval run."""
    set_up(url, in_flight)
    from corpus.tasks import RERANKINGS
    from tests.bench.calls_data import check_rerank, make_rerank

    RERANKINGS.drive(make_rerank(queries=-(-WARM_UP * in_flight // 100)))
    run = make_rerank(queries=calls // 100)
    begun, cpu = time.perf_counter(), processor_time()
    RERANKINGS.drive(run)
    measured = {"wall": time.perf_counter() - begun, "cpu": processor_time() - cpu}
    check_rerank(run, calls)
    return measured


def shared(url: str, in_flight: int, calls: int, *, workers: int) -> dict[str, float]:
    """The same run taken up by so many worker processes at once, until it is over."""
    set_up(url, in_flight)
    from tests.bench.calls_data import check, make_run

    run = make_run(pairs=calls // 2, claimed=False)
    command = [sys.executable, "-m", "tests.bench.calls_once", "worker", url, str(in_flight)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    started = [
        subprocess.Popen([*command, str(run.pk)], text=True, **pipes) for _ in range(workers)
    ]
    for each in started:
        assert each.stdout is not None
        each.stdout.readline()  # it is warm
    begun = time.perf_counter()
    for each in started:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    said = [each.communicate()[0] for each in started]
    wall = time.perf_counter() - begun
    check(run, calls)
    parts = [json.loads(each.splitlines()[-1]) for each in said]
    return {"wall": wall, "cpu": sum(part["cpu"] for part in parts)}


def work(url: str, in_flight: int, run_id: int) -> dict[str, float]:
    """One worker, warmed up by a run of its own; begins at a line from outside."""
    set_up(url, in_flight)
    from debate.models import DebateRun
    from debate.tasks import DEBATES
    from tests.bench.calls_data import make_run

    DEBATES.drive(make_run(pairs=WARM_UP * in_flight // 2))
    print("ready", flush=True)
    sys.stdin.readline()
    begun, cpu = time.perf_counter(), processor_time()
    while not DebateRun.objects.get(pk=run_id).is_over:
        DEBATES.take_part(run_id)
        time.sleep(0.02)
    return {"wall": time.perf_counter() - begun, "cpu": processor_time() - cpu}


def set_up(url: str, in_flight: int) -> None:
    """Make this process a worker that asks that endpoint."""
    os.environ |= {"OPENAI_BASE_URL": url, "ASSAY_MODEL": "stub", "LOG_LEVEL": "WARNING"}
    os.environ["ASSAY_CALLS_IN_FLIGHT"] = str(in_flight)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()


def processor_time() -> float:
    """Seconds of processor time of this process so far, all its threads."""
    spent = os.times()
    return spent.user + spent.system


if __name__ == "__main__":
    main()
