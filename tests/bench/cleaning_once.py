"""One measured cleaning in a process of its own: seconds, processor seconds, peak memory.

python -m tests.bench.cleaning_once {bare|ours|plan|cancel} ROWS, with ASSAY_DATA and DATABASE_URL
set to an empty, migrated database.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from corpus.benchmarks.services import create_benchmark  # noqa: E402
from corpus.chunking.rules import clean  # noqa: E402
from corpus.cleaning.plan import plan  # noqa: E402
from corpus.cleaning.rules import clean_by_rules  # noqa: E402
from corpus.cleaning.services import cancel_cleaning, drop_cancelled, start_cleaning  # noqa: E402
from corpus.cleaning.tasks import drive_claimed  # noqa: E402
from corpus.models import CorpusVersion, Crosswalk, Domain, Passage, VersionState  # noqa: E402
from kit.database.bulk import copy_rows  # noqa: E402
from kit.runs.sharing import Share  # noqa: E402
from llm.endpoints import Endpoint  # noqa: E402
from tests.bench.processor import own_peak  # noqa: E402
from tests.conftest import SHARED  # noqa: E402
from tests.corpus.real_texts import noisy_texts, web_pages  # noqa: E402

_NOISY = SHARED / "bright" / "noisy-text"
_PAGE = 1000
# Characters of a passage.
_PIECE = 1500
_COLUMNS = ("version_id", "domain_id", "pid", "text")


def main(kind: str, rows: int) -> None:
    """Print one line of JSON."""
    version = fill(rows)
    if kind == "cancel":
        print(json.dumps(cancelled(version)))
        return
    act = {"ours": ours, "bare": bare, "plan": planned}[kind](version)
    before = own_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    made = Passage.objects.exclude(version=version).count()
    print(
        json.dumps({"wall": wall, "cpu": cpu, "peak": own_peak(), "before": before, "rows": made})
    )


def fill(rows: int) -> CorpusVersion:
    """So many passages of about 1,200 characters, as crawlers leave them."""
    benchmark = create_benchmark(name="Bench", slug="bench", actor=None)
    domain = Domain.objects.create(benchmark=benchmark, name="bench", is_ready=True)
    version = CorpusVersion.objects.create(
        benchmark=benchmark, name="as loaded", state=VersionState.READY
    )
    version.layers = [version.pk]
    version.save()
    real = passages() if _NOISY.exists() else []
    for start in range(0, rows, _PAGE):
        page = [
            (version.pk, domain.pk, f"f/p{n}_0.txt", varied(real, n) if real else text(n))
            for n in range(start, min(rows, start + _PAGE))
        ]
        with transaction.atomic():
            copy_rows(Passage, _COLUMNS, page)
    return version


def passages() -> list[str]:
    """Crawled texts of BRIGHT, and lines of web pages without their tags, in pieces."""
    found = [
        whole[at : at + _PIECE] for whole in noisy_texts() for at in range(0, len(whole), _PIECE)
    ]
    for page in web_pages():
        lines = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", "", page, flags=re.DOTALL)
        found += [lines[at : at + _PIECE] for at in range(0, min(len(lines), 40_000), _PIECE)]
    return [each for each in found if len(each.split()) > 20]


def varied(real: list[str], n: int) -> str:
    """A passage told apart from its repetitions by a number in its middle."""
    said = real[n % len(real)]
    middle = said.rfind(" ", 0, len(said) // 2) + 1
    return f"{said[:middle]}{n} {said[middle:]}"


def text(n: int) -> str:
    """A page with boilerplate, broken lines and needless blanks."""
    said = f"The fern  numbered {n} has no seeds and\nspreads by spores that the wind takes away. "
    return f"Jump to content\n\n\n\n# Page {n}\n" + said * 14 + "\nPrivacy policy | About us"


def ours(version: CorpusVersion) -> Callable[[], None]:
    """What a worker does with a run, from its claim to a version that everybody sees."""
    run = start_cleaning(
        benchmark=version.benchmark, source=version, preset="diver_rules", actor=None, claimed=True
    )
    return lambda: drive_claimed(run)


def planned(version: CorpusVersion) -> Callable[[], None]:
    """What a worker does with a run with agents before the first page: list all, cut in groups."""
    endpoint = Endpoint("bench", "http://127.0.0.1:9/v1", "", True, "none")
    run = start_cleaning(
        benchmark=version.benchmark,
        source=version,
        preset="marcus",
        endpoint=endpoint,
        actor=None,
        claimed=True,
    )
    return lambda: plan(run)


def cancelled(version: CorpusVersion) -> dict[str, float]:
    """A run that has made everything and shown nothing, cancelled: the request, then a worker."""
    admin = User.objects.create(username="admin")
    run = start_cleaning(
        benchmark=version.benchmark, source=version, preset="diver_rules", actor=admin, claimed=True
    )
    plan(run)
    clean_by_rules(Share(run, leads=True))
    made = Passage.objects.exclude(version=version)
    count = made.count()
    began = time.process_time()
    cancel_cleaning(run=run, actor=admin)
    request = time.process_time() - began
    steps = [time.process_time()]
    before = own_peak()
    drop_cancelled(run, before_each=lambda: steps.append(time.process_time()))
    assert not made.exists()
    assert not CorpusVersion.objects.exclude(pk=version.pk).exists()
    longest = max(b - a for a, b in pairwise(steps))
    whole, peak = steps[-1] - steps[0], own_peak()
    return {
        "rows": count, "request": request, "cpu": whole, "longest": longest,
        "peak": peak, "before": before,
    }  # fmt: skip


def bare(version: CorpusVersion) -> Callable[[], None]:
    """The cleaning function, and the driver's own reading and writing of the same rows."""
    target = CorpusVersion.objects.create(benchmark=version.benchmark, name="bare", parent=version)

    def act() -> None:
        after = 0
        while page := list(
            Passage.objects.filter(version=version, pk__gt=after)
            .order_by("pk")
            .values_list("pk", "domain_id", "pid", "text")[:_PAGE]
        ):
            with transaction.atomic():
                made = [
                    (target.pk, domain, pid, clean(said or "")) for _, domain, pid, said in page
                ]
                copy_rows(Passage, _COLUMNS, made)
            after = page[-1][0]
        link(version, target)

    return act


def link(version: CorpusVersion, target: CorpusVersion) -> None:
    """Old and new passages, in one statement."""
    passage, walk = Passage._meta.db_table, Crosswalk._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO {walk} (version_id, old_id, new_id, tokens, "of", carries) '
            f"SELECT n.version_id, o.id, n.id, 0, 0, 1 = 1 FROM {passage} o JOIN {passage} n "
            "ON n.version_id = %s AND n.domain_id = o.domain_id AND n.pid = o.pid "
            "WHERE o.version_id = %s",
            [target.pk, version.pk],
        )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
