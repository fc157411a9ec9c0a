"""A worker that dies between writing its calls down and sending them, with money reserved."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.services.processes import ROOT, database_url

CALLS = 3
_MODEL = "gpt-5-mini"


def die_before_sending(account_id: int, folder: Path) -> None:
    """Let a process of its own begin calls on the test's database, and be killed there.

    Its marks stand in the `handover` of that data folder.
    """
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
        "ASSAY_TEST_QUEUE": "none",
        "ASSAY_FAILPOINT": "after-intent-commit:1",
        "ASSAY_DATA": str(folder),
        "DATABASE_URL": database_url(),
    }
    command = [sys.executable, "-m", "tests.llm.dying", str(account_id)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL


async def _ask(account_id: int) -> None:
    from kit.runs import worker_id
    from llm.endpoints import Endpoint
    from llm.gateways import Gateways
    from tests.llm.stub import ask

    endpoint = Endpoint("stub", "http://127.0.0.1:9/v1", "sk-test", False, _MODEL)
    async with Gateways(
        concurrency=CALLS,
        owner=worker_id(),
        known=[endpoint],
        account_id=account_id,
        must_be_priced=True,
    ) as gateways:
        requests = [ask(f"Is it {n}?", model=_MODEL, max_tokens=64) for n in range(CALLS)]
        await asyncio.gather(*[gateways.complete(each, "dying") for each in requests])


if __name__ == "__main__":
    import django

    django.setup()
    asyncio.run(_ask(int(sys.argv[1])))
