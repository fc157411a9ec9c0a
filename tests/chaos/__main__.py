"""Kill workers over a run and check what is left: `python -m tests.chaos --kills 200`.

Exit code 0 if every promise of docs/reliability.md held.
"""

import argparse
import os
import secrets
import sys
import uuid
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.chaos.sql import Database, new_database

if TYPE_CHECKING:
    from tests.chaos.driver import Report

_BROKERS = {
    "redis": ("ASSAY_TEST_REDIS", "redis://127.0.0.1:6379/9"),
    "rabbitmq": ("ASSAY_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672//"),
}


def main() -> int:
    """Run the drill that the options ask for."""
    options = _options()
    with ExitStack() as stack:
        kept = options.folder
        folder = kept or Path(stack.enter_context(TemporaryDirectory(prefix="assay-chaos-")))
        database = stack.enter_context(new_database(options.database, folder))
        _set_up(options, folder, database)
        return _drill(options, folder, database)


def _set_up(options: argparse.Namespace, folder: Path, database: Database) -> None:
    """Make this process, and every process it starts, an Assay on that database."""
    name, default = _BROKERS.get(options.broker, ("", ""))
    (folder / "static").mkdir(parents=True, exist_ok=True)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
        "ASSAY_DATA": str(folder),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "DATABASE_URL": database.url,
        "BROKER_URL": os.environ.get(name) or default,
        "ASSAY_TEST_QUEUE": f"assay-{uuid.uuid4().hex[:12]}",
        "LOG_LEVEL": "WARNING",
        # The books here count what debates ask, and nothing beside it.
        "ASSAY_TRY_FIRST": "off",
    }
    import django
    from django.core.management import call_command
    from django.db import connection

    from tests import migrated

    django.setup()
    with migrated.one_at_a_time():
        migrated.copy_to(str(connection.settings_dict["NAME"]))
    call_command("migrate", verbosity=0)


def _drill(options: argparse.Namespace, folder: Path, database: Database) -> int:
    from tests.chaos.driver import Drill, Plan
    from tests.chaos.lives import named_points

    points = named_points(options.hits)
    plan = Plan(
        pairs=options.pairs,
        kills=options.kills,
        points=points,
        in_flight=options.in_flight,
        script=options.script,
        latency_ms=options.latency_ms,
        lease_s=options.lease,
        seed=options.seed,
        patient=options.patient,
    )
    queue, broker = os.environ["ASSAY_TEST_QUEUE"], os.environ["BROKER_URL"]
    drill = Drill(plan, database=database, folder=folder, broker=broker, queue=queue, say=_say)
    try:
        report = drill.run()
    finally:
        _forget(broker, queue)
    missed = len(points) - len(report.deaths.named)
    faults = [*report.faults]
    if missed:
        faults.append(f"{missed} named points were never reached")
    if report.deaths.at_random < options.kills:
        faults.append(f"the run was over after {report.deaths.at_random} random kills")
    _tell(faults, report)
    return 1 if faults else 0


def _tell(faults: list[str], report: "Report") -> None:
    _say(f"kills at random: {report.deaths.at_random}")
    _say(f"kills at named points: {', '.join(report.deaths.named)}")
    for name, number in report.numbers.items():
        _say(f"{name}: {number:,}")
    for name, value in report.seconds.items():
        _say(f"seconds, {name}: {value:,.0f}")
    for fault in faults:
        _say(f"BROKEN: {fault}")
    _say("every promise held" if not faults else f"{len(faults)} promises broken")


def _forget(broker: str, queue: str) -> None:
    if broker:
        from tests.services.conftest import forget_queue

        forget_queue(broker, queue)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=200, help="at random moments")
    parser.add_argument(
        "--hits", type=int, nargs="*", default=[1, 5], help="each named point, at these hits"
    )
    parser.add_argument("--in-flight", type=int, default=8, help="calls at a time")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--broker", choices=("none", *_BROKERS), default="none")
    parser.add_argument("--script", default="plain", help="the stub's faults, such as storm")
    parser.add_argument("--latency-ms", type=float, default=20)
    parser.add_argument("--lease", type=float, default=30.0, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="an empty folder to keep everything in")
    parser.add_argument(
        "--patient", action="store_true", help="wait minutes for lost calls to be listed"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
