"""Two web servers and three workers, each with a disk of its own, on PostgreSQL, RabbitMQ and one
S3 storage: what is asked through one is done and shown by the others, once, though a worker dies.
"""

import io
import shutil
import subprocess
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from django.conf import settings
from django.core.management import call_command

from annotate.models import VotingPlan
from annotate.workspace.loading import run_import
from corpus.imports.services import queue_import
from corpus.models import GoldVersion, ImportRun, Judgment, Passage
from debate.models import DebateRun
from kit.management.commands.serve import web_command
from llm import endpoints
from llm.models import Call
from tests.annotate.world import make_world
from tests.bench.server import ROOT, free_port, wait_for_port
from tests.factories import make_benchmark, make_member, make_token
from tests.s3 import KEYS, bucket
from tests.services.pairs import Result, make_pairs, result_of
from tests.services.processes import Site, wait_until
from tests.voting_load import check_kept, vote_in_tabs

pytestmark = [
    pytest.mark.services,
    pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True),
]
DEMO = settings.BASE_DIR / "corpus" / "demo"
PEOPLE, CASES, PAIRS = 6, 20, 150
# A process that sees a folder of its own in the place of the data folder.
ON_ITS_DISK = 'mount --bind "$1" "$2"; shift 2; exec "$@"'


def machine(folder: Path, name: str) -> list[str]:
    """What stands before a command that runs there."""
    disk, data = folder / name, folder / "data"
    for each in (disk, data):
        each.mkdir(mode=0o700, exist_ok=True)
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-ec", ON_ITS_DISK, "sh"]
    return [*apart, str(disk), str(data)]


@pytest.fixture
def stored(brokered: Site, tmp_path: Path) -> Iterator[Any]:
    """The bucket that all of them share."""
    if not shutil.which("unshare") or subprocess.call([*machine(tmp_path, "trial"), "true"]):
        pytest.skip("Nobody may have a disk of their own here (unshare).")
    with bucket() as (url, made):
        data = {"ASSAY_DATA": str(tmp_path / "data"), "SEED_KEY": settings.SEED_KEY}
        brokered.more = KEYS | data | {"ASSAY_STORAGE": url, "ASSAY_PLAIN_STATIC": "1"}
        yield made


@pytest.fixture
def webs(brokered: Site, stored: Any, tmp_path: Path) -> Iterator[list[str]]:
    """Their addresses."""
    with ExitStack() as running:
        urls = []
        for name in ("web-1", "web-2"):
            port = free_port()
            command = [*machine(tmp_path, name), *web_command("127.0.0.1", port, 1)]
            process = subprocess.Popen(command, cwd=ROOT, env=brokered.environment())
            running.callback(process.wait, 240)
            running.callback(process.terminate)
            wait_for_port(port, process)
            urls.append(f"http://127.0.0.1:{port}")
        yield urls


def as_zip(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            archive.write(path, f"moths/{path.relative_to(folder)}")
    return packed.getvalue()


def of_import(run: ImportRun) -> dict[str, Any]:
    """What it left, in words that are the same in every database."""
    texts = Passage.objects.filter(version__benchmark=run.benchmark)
    gold = GoldVersion.objects.filter(domain__benchmark=run.benchmark)
    return {
        "counts": {kind: each for kind, each in run.summary.items() if isinstance(each, dict)},
        "passages": Counter(texts.values_list("pid", "text")),
        "gold": sorted(gold.values_list("digest", flat=True)),
    }


def imported_alone() -> dict[str, Any]:
    """The same of an import that nothing disturbs; the database is empty again afterwards."""
    benchmark = make_benchmark("moths", domains=())
    run = queue_import(benchmark=benchmark, actor=None, format="bright_pro", path=DEMO, claim=True)
    run_import(run)
    found = of_import(run)
    call_command("flush", interactive=False, verbosity=0)
    return found


def test_nothing_is_lost_or_doubled_between_machines(
    brokered: Site, expected: Result, webs: list[str], stored: Any, tmp_path: Path
) -> None:
    alone = imported_alone()
    brokered.lease_s = 2.0
    workers = [brokered.start_worker(on=machine(tmp_path, f"worker-{n}")) for n in range(3)]
    pool, moths, world = make_pairs(PAIRS), make_benchmark("moths", domains=()), make_world()
    VotingPlan.objects.create(benchmark=world.benchmark, version=1, reveal="start")
    for number in range(CASES):
        world.case(origin=f"debate:{10**6 + number}")  # none of the run's
    voters = [make_token(make_member(world.benchmark, f"p{n}", "annotator")) for n in range(PEOPLE)]
    keys = {
        each.slug: make_token(make_member(each, f"boss-of-{each.slug}", "admin"))
        for each in (pool.benchmark, moths)
    }

    def ask(web: int, slug: str, path: str, **sent: Any) -> requests.Response:
        method = "POST" if sent else "GET"
        headers = {"Authorization": f"Token {keys[slug]}"}
        url = f"{webs[web]}/api/b/{slug}/{path}"
        answer = requests.request(method, url, headers=headers, timeout=240, **sent)
        assert answer.ok, answer.text[:2000]
        return answer

    for worker in workers:
        worker.wait_ready()
    tallies: list[Any] = []
    voting = threading.Thread(
        target=lambda: tallies.append(
            vote_in_tabs(webs[0], world.benchmark.slug, voters, tabs=2, others=webs[1:])
        )
    )
    voting.start()
    plan = {"pool": pool.pk, "endpoint": endpoints.available()[0].name}
    debate = ask(1, pool.benchmark.slug, "debate-runs/", json=plan).json()["id"]
    wait_until(lambda: Call.objects.count() > 50)
    files = {"file": ("moths.zip", as_zip(DEMO))}
    loading = ask(0, "moths", "imports/", files=files, data={"format": "bright_pro"}).json()["id"]
    # The one that holds most: whoever drives the run.
    owner = DebateRun.objects.get(pk=debate).owner
    held = [each for each in workers if each.log.stem in owner]
    (held or workers)[0].kill()

    def over(web: int, slug: str, path: str) -> bool:
        return ask(web, slug, path).json()["status"] in ("done", "failed", "cancelled")

    wait_until(lambda: over(0, pool.benchmark.slug, f"debate-runs/{debate}/"))
    wait_until(lambda: over(1, "moths", f"imports/{loading}/"))
    voting.join()
    check_kept(tallies[0])
    run = DebateRun.objects.get(pk=debate)
    found = result_of(run)
    said = "\n".join(each.said for each in workers)
    assert (run.status, run.error, run.done) == ("done", "", PAIRS), said
    assert (found.debates, found.turns) == (expected.debates, expected.turns)
    assert found.answered == expected.answered
    labels = {key: n for key, n in found.labels.items() if key[0] in expected.debates}
    assert labels == dict(expected.labels)
    standing = Counter(Judgment.objects.standing().values_list("query", "passage", "source"))
    assert set(standing.values()) == {1}
    load = ImportRun.objects.get(pk=loading)
    assert (load.status, of_import(load)) == ("done", alone)
    # A worker builds a release; both web servers give the same of it, and no disk has it.
    built = ask(1, "moths", "releases/", json={"version": "0.1.0-rc.1"}).json()["id"]
    wait_until(lambda: over(0, "moths", f"releases/{built}/"))
    archives = {ask(web, "moths", f"releases/{built}/archive/").content for web in (0, 1)}
    assert len(archives) == 1
    names = zipfile.ZipFile(io.BytesIO(archives.pop())).namelist()
    assert len(names) == len(list(stored.objects.filter(Prefix="of/us/releases/moths/0.1.0-rc.1/")))
    left = [
        each for name in ("web-*", "worker-*") for each in tmp_path.glob(f"{name}/uploads/**/*")
    ]
    assert [each for each in left if each.is_file()] == []
    assert not list(tmp_path.glob("*/releases/*/0.1.0-rc.1"))
    assert list((tmp_path / "data").iterdir()) == []
