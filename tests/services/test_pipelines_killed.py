"""A pipeline while workers are killed in each of its steps: nothing lost, nothing asked twice.

The gate kills a few times. The drill of docs/reliability.md: `PIPELINE_KILLS=20 python -m pytest
-m services tests/services/test_pipelines_killed.py`.
"""

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest
from django.core.management import call_command

from corpus.models import RankedList, RetrievalRun
from evaluation.leaderboard.services import leaderboard_of
from evaluation.pipelines import plan
from evaluation.pipelines.models import PipelineRun
from evaluation.pipelines.running import carry_on
from evaluation.pipelines.services import child_of, start_pipeline
from evaluation.scores.models import ScoreSheet
from llm import endpoints
from llm.ledger.reading import spending
from llm.models import Call
from tests.corpus.reranking.room import Room, make_room
from tests.factories import make_gold, make_passage, make_query
from tests.services.processes import Site
from tests.services.test_agents_killed import IN_FLIGHT, outlive, paid  # noqa: F401  (a fixture)

KILLS = int(os.environ.get("PIPELINE_KILLS", "5"))
QUERIES = int(os.environ.get("PIPELINE_QUERIES", "8"))
# Of the six steps those that are killed in. The last asks nobody and is short: both workers go.
AT = (plan.EXPAND, plan.POINTWISE, plan.LISTWISE)


def make_queries(room: Room) -> None:
    """Passages that share words with every query, and are not one another's."""
    gold = [
        make_passage(room.benchmark, f"m{n}", text=f"Soil number {n} is moist, as mulch {n} says.")
        for n in range(10)
    ]
    for n in range(QUERIES):
        query = make_query(room.benchmark, f"q{n}", text=f"Is soil {n % 10} moist under mulch {n}?")
        make_gold(query, gold[n % 10])
    call_command("compute_run", benchmark="ranked", method="tfidf", name="TF-IDF")


def start(room: Room, **options: object) -> PipelineRun:
    known = endpoints.available("judge")[0]
    retriever = RetrievalRun.objects.get(name="TF-IDF")
    return start_pipeline(
        benchmark=room.benchmark, preset="v2", retriever=retriever, expander=known, reranker=known,
        actor=None, **options,
    )  # fmt: skip


def results(run: PipelineRun) -> dict[str, tuple[str, float | None]]:
    """The hash of each step's lists, and its mean on the leaderboard."""
    call_command("leaderboard", "ranked")
    lines = leaderboard_of(ScoreSheet.objects.latest("pk"), view="base").lines
    means = {line.run.pk: line.mean for line in lines}
    made = {each["name"]: RetrievalRun.objects.get(pk=each["run"]) for each in run.steps[1:]}
    return {name: (each.digest, means[each.pk]) for name, each in made.items()}


@pytest.mark.services
def test_a_pipeline_survives_workers_that_are_killed_in_each_of_its_steps(
    paid: Site,  # noqa: F811
    settings,
    tmp_path,
    monkeypatch,
) -> None:
    site = paid
    site.lease_s = 2.0
    monkeypatch.setenv("ASSAY_CALLS_IN_FLIGHT", str(IN_FLIGHT))
    rng = random.Random(11)
    room = make_room(settings, tmp_path)
    make_queries(room)
    run = start(room)
    hit: Counter[str] = Counter()

    def due(kind: str, share: float) -> Callable[[], bool]:
        def is_due() -> bool:
            run.refresh_from_db()
            (step,) = (each for each in run.steps if each["kind"] == kind)
            child = child_of(step)
            if child is None or child.done < share * child.total:
                return False
            hit[kind] += child.status == "running" or kind == plan.MERGE
            return True

        return is_due

    spread = sorted((n % len(AT), rng.uniform(0.01, 0.8)) for n in range(KILLS - 2))
    moments = [due(AT[place], share) for place, share in spread]
    landed = outlive(site, run, [*moments, *[due(plan.MERGE, 0)] * 2])
    assert landed >= KILLS - 1  # the second worker may have ended the last step by then
    assert all(hit[kind] for kind in (*AT, plan.MERGE)), hit

    run.refresh_from_db()
    assert all(each["run"] for each in run.steps)
    for each in run.steps[1:]:
        assert RankedList.objects.filter(run=each["run"]).count() == QUERIES + 2
    calls = Call.objects.all()
    keys = list(calls.answered().values_list("key", flat=True))
    assert len(keys) == len(set(keys))
    assert calls.exclude(pk__in=calls.answered()).count() <= landed * IN_FLIGHT
    # What a dead worker had on its way is still held against the budget, and not spent.
    paid_for = [child_of(each) for each in run.steps if each["kind"] in AT]
    assert sum(each.spent_usd for each in paid_for) == spending(calls).usd > 0

    # An undisturbed run of the same asks nothing more, and its grid is the same.
    again = start(room, name="in peace", claimed=True)
    carry_on(again)
    again.refresh_from_db()
    assert (again.status, again.error) == ("done", "")
    assert results(again) == results(run)
    assert Call.objects.answered().count() == len(keys)
    broken = [each.said for each in site.workers if "Traceback" in each.said]
    assert not broken, "\n\n".join(broken)[-20_000:]
