"""Run the stub: `python -m tests.stub --port 0 --bill FILE --script NAME`; prints its base URL."""

import argparse
import asyncio
import ctypes
import json
import signal
import sys
from pathlib import Path

from tests.stub.answers import Answerer
from tests.stub.bill import Bill
from tests.stub.faults import ALL, Plan
from tests.stub.server import HOST, Server, Timing

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    options = _options()
    if options.die_with_parent and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    asyncio.run(_serve(options))


async def _serve(options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    replies = json.loads(options.replies.read_text()) if options.replies else {}
    bill = Bill(options.bill, keep_bodies=options.keep_bodies)
    server = Server(
        bill=bill,
        plan=Plan.parse(options.script, seed=options.seed, times=options.times),
        answerer=Answerer(replies=replies, gullible=options.gullible),
        timing=Timing(
            latency=options.latency_ms / 1000,
            away=options.away_ms / 1000,
            hang=options.hang_ms / 1000,
            drip=options.drip_ms / 1000,
        ),
    )
    await server.start(options.port)
    sys.stdout.write(f"http://{HOST}:{server.port}/v1\n")
    sys.stdout.flush()
    await stopped.wait()
    await server.stop()
    bill.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.stub", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--bill", type=Path, required=True, help="SQLite file to make")
    parser.add_argument(
        "--script",
        default="plain",
        help=f"plain, storm, or NAME[:SHARE],... of {', '.join(sorted(ALL))}",
    )
    parser.add_argument("--seed", type=int, default=0, help="which turns meet a fault")
    parser.add_argument("--times", type=int, default=1, help="faults a turn meets; 0: always")
    parser.add_argument("--gullible", action="store_true", help="obey passages")
    parser.add_argument("--replies", type=Path, help="JSON of scripted answers, see Answerer")
    parser.add_argument("--keep-bodies", action="store_true", help="keep requests in the bill")
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--away-ms", type=float, default=500, help="listener closed: refused")
    parser.add_argument("--hang-ms", type=float, default=600_000, help="silence before a hang-up")
    parser.add_argument("--drip-ms", type=float, default=500, help="length of a slow answer")
    parser.add_argument("--die-with-parent", action="store_true", help="end when the caller does")
    return parser.parse_args()


if __name__ == "__main__":
    main()
