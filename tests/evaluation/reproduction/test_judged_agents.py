"""Judged agents of this installation beside printed figures.

A run writes from threads of its own: apart from tests whose module keeps a transaction open.
"""

from dataclasses import replace

import pytest

from corpus.models import CorpusVersion
from evaluation.agents.models import AgentRun, JudgeRun
from evaluation.agents.reading import figures_of
from evaluation.published.services import tables
from evaluation.reproduction.evidence import Kind, counts_of
from evaluation.reproduction.services import Figure, State, figures
from tests.evaluation.agents.room import make_place
from tests.evaluation.agents.test_agent_screens import judged
from tests.evaluation.reproduction.test_reproduction import figure, resized

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_judged_agents_over_all_sets_count_for_who_may_read_them(settings, tmp_path) -> None:
    place = make_place(settings, tmp_path)
    benchmark = place.room.benchmark
    run = place.run(rounds=1, name="BM25")
    judge = judged(place, run)
    for kind in (AgentRun, JudgeRun):
        kind.objects.update(practice=False)
    (after,) = figures_of(run, judge).by_round
    counts = counts_of(benchmark, CorpusVersion.objects.loaded(benchmark))
    sizes = {
        name: [*(of[what] for what in ("queries", "aspects", "gold", "passages")), *[None] * 4]
        for name, of in counts.items()
    }
    given = resized("brightpro-card", sizes | {"total": sizes["biology"]})
    fixed = replace(tables()["brightpro-fixed"], sets=tuple(sizes), sizes={})
    given["brightpro-fixed"] = fixed

    def found(may_read: bool = True) -> Figure:
        every = figures([(benchmark, may_read)], given)
        return figure(every, "brightpro-fixed", "BM25", "completeness, round 1")

    # Printed is 3.15, with .05 to spare.
    own = found()
    assert (own.kind, own.found.tolerance) == (Kind.OWN, 0.05)
    assert own.found.ours == after.completeness.mean.value
    assert own.state is State.DIFFERS
    assert own.found.source.startswith("agent run BM25 in ")
    assert found(may_read=False).state is State.UNTRIED
    AgentRun.objects.update(name="another")
    assert "named as the row" in found().why
    AgentRun.objects.update(name="BM25", practice=True)
    assert found().state is State.UNTRIED
    # Of a part of the sets the mean is another.
    AgentRun.objects.update(practice=False)
    given["brightpro-fixed"] = replace(fixed, sets=(*sizes, "economics"))
    assert found().state is State.UNTRIED
