"""One part of the debates benchmark in a process of its own.

python -m tests.bench.debates_once {fill PAIRS|ask ROUNDS}, with ASSAY_DATA and DATABASE_URL set
to a migrated scratch database.
"""

import os
import sys
from importlib import import_module

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("ASSAY_PLAIN_STATIC", "1")  # nothing is collected here
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.test import Client  # noqa: E402

from debate.models import Debate, DebateRun  # noqa: E402
from tests.bench.browsing_once import WARM_UP, Seconds, report, timed  # noqa: E402
from tests.bench.client import Visitor  # noqa: E402
from tests.bench.debates_data import ADMIN, SLUG, fill  # noqa: E402
from tests.bench.server import running_bare  # noqa: E402


def main() -> None:
    """Do the part that the command line names."""
    part, value = sys.argv[1:3]
    if part == "fill":
        fill(int(value))
    else:
        ask(int(value))


def ask(rounds: int) -> None:
    """Every page in turn, then the table."""
    import_module("config.wsgi")  # imported as the server does, which settles the collector
    client = Client(headers={"Host": "127.0.0.1"})
    client.force_login(User.objects.get(username=ADMIN))
    paths = addresses()
    times: dict[str, list[Seconds]] = {name: [] for name in ("bare page", *paths)}
    with running_bare() as bare:
        anchor = Visitor(bare)
        for turn in range(WARM_UP + rounds):
            taken = {"bare page": (anchor.timed("/"), 0.0)}
            taken |= {name: timed(client, path) for name, path in paths.items()}
            for name, seconds in taken.items():
                times[name] += [seconds] if turn >= WARM_UP else []
    report(times)


def addresses() -> dict[str, str]:
    """The run monitor, and the list with typical and worst parameters."""
    run = DebateRun.objects.order_by("pk")[0]
    pks = Debate.objects.filter(run=run).order_by("pk").values_list("pk", flat=True)
    middle = pks[len(pks) // 2]
    passage = Debate.objects.get(pk=middle).passage_id
    base = f"/b/{SLUG}/debates/{run.pk}"
    pairs = f"{base}/pairs/"
    return {
        "control room": f"{base}/",
        "pairs": pairs,
        "pairs, middle": f"{pairs}?after={middle}~{middle}",
        "pairs, last page": f"{pairs}?before={pks.last()}~{pks.last()}",
        "pairs, disputed": f"{pairs}?status=escalated",
        "pairs, failed (few)": f"{pairs}?status=failed",
        "pairs, label": f"{pairs}?label=1",
        "pairs, round 2": f"{pairs}?round=2",
        "pairs, domain": f"{pairs}?domain=writing",
        "pairs, disputed in domain": f"{pairs}?status=escalated&domain=science",
        "pairs, rare flag": f"{pairs}?flag=no_reason",
        "pairs, common flag": f"{pairs}?flag=long_reason&status=agreed",
        "pairs, by passage": f"{pairs}?sort=passage&after={passage}~{middle}",
        "pairs, by outcome, down": f"{pairs}?sort=-outcome&after=escalated~{middle}",
        "pairs, by query": f"{pairs}?sort=query",
        "pairs, a query's id": f"{pairs}?q=q-12",
        "pairs, common word": f"{pairs}?q=moths",
        "pairs, rare word": f"{pairs}?q=sequoia",
        "pairs, no match": f"{pairs}?q=zzzzz",
        "pairs, a passage's id": f"{pairs}?q=page-17",
        "pairs, different answers": f"{pairs}?alike=different",
        "pairs, open after round 1": f"{pairs}?open=1",
        "pairs, with a case": f"{pairs}?case=any",
        "its labels": f"{base}/adoption/",
        "all runs": f"/b/{SLUG}/debates/?kind=debate",
        "new run, forecast": f"/api/b/{SLUG}/debate-runs/{run.pk}/forecast/",
        "after the run": f"{base}/report/",
        "one debate": f"{pairs}{middle}/",
        "one debate, filtered": f"{pairs}{middle}/?status=agreed&domain=science",
        "spending": f"/b/{SLUG}/spending/",
        "spending, of a role": f"/b/{SLUG}/spending/?role=debate_turn&state=answered",
        "spending, of a debate": f"/b/{SLUG}/spending/?q=debate:{middle}",
        "spending, totals": f"/b/{SLUG}/spending/totals/",
        "API pairs": f"/api/b/{SLUG}/debate-runs/{run.pk}/debates/",
    }


if __name__ == "__main__":
    main()
