"""A chain while its worker is killed: it goes on where it stood, and nothing is asked twice.

The gate kills a few times. The drill of docs/reliability.md: `CHAIN_KILLS=30 python -m pytest
-m slow tests/services/test_chains_killed.py`.
"""

import os
import random
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import call_command

from annotate.models import EscalationCase
from corpus.models import Benchmark, Membership, Role
from evaluation.chain.models import Chain, StepState
from evaluation.chain.services import start_chain
from evaluation.models import Release
from evaluation.verification.folder import verify
from kit.runs.models import OVER
from llm.models import Call
from tests.evaluation.chain.cranfield import VOTERS, drive, vote_on_all
from tests.services.processes import Site, wait_until

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("CHAIN_KILLS", "5"))
IN_FLIGHT = 2
PLAN = """
[[step]]
do = "clean"
[[step]]
do = "systems"
systems = [{ method = "bm25", name = "words" }, { method = "tfidf" }]
[[step]]
do = "pool"
depth = 2
[[step]]
do = "debate"
[[step]]
do = "people"
[[step]]
do = "agents"
rounds = 1
runs = ["words"]
[[step]]
do = "judge"
[[step]]
do = "answers"
k = 2
runs = ["words"]
baselines = false
[[step]]
do = "grade"
[[step]]
do = "release"
version = "0.1.0"
"""
STEPS = PLAN.count("[[step]]")


def garden(slug: str) -> Benchmark:
    """The demo's texts, and three people who vote."""
    folder = str(Path(django_settings.BASE_DIR) / "corpus" / "demo")
    call_command(
        "load_benchmark", folder, format="bright_pro", benchmark=slug, name=slug, stdout=StringIO()
    )
    benchmark = Benchmark.objects.get(slug=slug)
    for name in VOTERS:
        voter, _ = User.objects.get_or_create(username=name)
        Membership.objects.create(user=voter, benchmark=benchmark, roles=[Role.ANNOTATOR])
    return benchmark


def has_come(chain: Chain, number: int, share: float) -> bool:
    """Whether that much of a step is done, or all of it; who is asked to vote does so."""
    if "disputed" in Chain.objects.get(pk=chain.pk).waits_for:
        vote_on_all(chain.benchmark)
    step = chain.steps.get(number=number)
    if step.state != StepState.RUNNING:
        return bool(step.state != StepState.WAITING)
    runs = step.runs()
    done, total = (sum(getattr(each, name) for each in runs) for name in ("done", "total"))
    return done >= share * total


def is_over(chain: Chain) -> bool:
    return has_come(chain, STEPS, 1.0) and Chain.objects.get(pk=chain.pk).status in OVER


def came_to(chain: Chain) -> list[tuple[Any, ...]]:
    """The hashes and figures of each step, but the calls, which the second chain finds answered;
    files of a release have its times and keys in them."""
    rows = chain.steps.values_list("do", "input_sha256", "output_sha256", "figures")
    kept = [(*row, {k: v for k, v in told.items() if k != "calls"}) for *row, told in rows]
    return [row if row[0] != "release" else row[:2] for row in kept]


def test_a_chain_survives_a_worker_that_is_killed_at_any_moment(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSAY_CALLS_IN_FLIGHT", str(IN_FLIGHT))
    site.lease_s = 1.5
    rng = random.Random(23)
    moments = sorted((rng.randint(1, STEPS), rng.uniform(0, 0.8)) for _ in range(KILLS))
    chain = start_chain(benchmark=garden("killed"), plan=PLAN, actor=None)

    def story() -> str:
        chain.refresh_from_db()
        said = "\n".join(each.said[-2000:] for each in site.workers)
        return f"{chain.status}, waits for {chain.waits_for}, {chain.error}\n{said}"

    worker, landed = site.start_worker(sweep_s=0.25), 0
    for number, share in moments:
        wait_until(lambda at=(number, share): has_come(chain, *at), pause=0.02, saw=story)
        chain.refresh_from_db()
        landed += chain.status not in OVER
        worker.kill()
        worker = site.start_worker(sweep_s=0.25)
    wait_until(lambda: is_over(chain), pause=0.2, saw=story)
    worker.stop()
    chain.refresh_from_db()
    assert (chain.status, chain.error, chain.done) == ("done", "", STEPS), story()
    assert landed == KILLS

    # Nobody began a step twice, and no question was answered twice.
    assert [len(step.works) for step in chain.steps.all()] == [1, 2, 1, 1, 0, 1, 1, 1, 1, 1]
    assert EscalationCase.objects.filter(status="closed").exists()
    assert (chain.benchmark.debate_runs.count(), Release.objects.count()) == (1, 1)
    keys = list(Call.objects.answered().values_list("key", flat=True))
    assert len(keys) == len(set(keys)) > 0
    assert Call.objects.exclude(key__in=keys).count() <= landed * IN_FLIGHT
    assert verify(Path(Release.objects.get().folder)).differences == []

    # The same plan over the same texts in peace: every answer is in the ledger, every hash equal.
    again = garden("peace")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    drive(again, plan)
    assert came_to(again.chains.get()) == came_to(chain)
    assert Call.objects.answered().count() == len(keys)
    broken = [each.said for each in site.workers if "Traceback" in each.said]
    assert not broken, "\n\n".join(broken)[-20_000:]
