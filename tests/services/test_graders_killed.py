"""Graders of generated answers, and a judge of what they cite, while workers are killed.

The gate kills a few times. The drill of docs/reliability.md: `GRADE_KILLS=20 GRADE_ANSWERS=10000
python -m pytest -m services tests/services/test_graders_killed.py`.
"""

import os
import random

import pytest

from corpus.models import Query
from evaluation.rag.grading import start_grading
from evaluation.rag.models import RagAnswer, RagRun, RagSource
from evaluation.rag.services import close
from evaluation.support.models import SupportedAnswer
from evaluation.support.services import start_support, unsaved_set
from llm import endpoints
from llm.ledger.reading import spending
from llm.models import Call
from tests.annotate.answering import TEXTS
from tests.evaluation.rag.boards import CONFIG
from tests.evaluation.rag.room import Place, make_place
from tests.factories import domain_of
from tests.services.processes import Site
from tests.services.test_agents_killed import paid, survive  # noqa: F401  (a fixture)

KILLS = int(os.environ.get("GRADE_KILLS", "2"))
ANSWERS = int(os.environ.get("GRADE_ANSWERS", "60"))
SYSTEMS, AT_ONCE = 4, 8


def make_answers(place: Place) -> RagRun:
    """So many answers of four systems, each in words of its own with a citation."""
    benchmark, domain = place.room.benchmark, domain_of(place.room.benchmark)
    run = RagRun.objects.create(
        benchmark=benchmark, name="answers", harness="short", config=CONFIG, endpoint="practice",
        model="m", status="done",
    )  # fmt: skip
    queries = Query.objects.bulk_create(
        Query(domain=domain, qid=f"more-{n}", text=f"Why does moth {n} roll?", answers=["light"])
        for n in range(ANSWERS // SYSTEMS)
    )
    for system in range(SYSTEMS):
        source = RagSource.objects.create(run=run, kind="run", name=f"system {system}")
        RagAnswer.objects.bulk_create(
            RagAnswer(
                run=run, source=source, query=query, passages=list(TEXTS), state="answered",
                answers=[f"By {'light' if n % 2 else 'night'} {n} of {system} moths roll [1]."],
                is_informed=True,
            )
            for n, query in enumerate(queries)
        )  # fmt: skip
    RagRun.objects.filter(pk=run.pk).update(status="running")
    run.refresh_from_db()
    close(run)
    run.refresh_from_db()
    return run


@pytest.mark.services
def test_graders_and_a_judge_of_citations_survive_workers_that_are_killed(paid: Site) -> None:  # noqa: F811
    site = paid
    site.lease_s = 2.0
    rng = random.Random(7)
    answered = make_answers(make_place())
    endpoint = endpoints.available()[0]
    drill = {"expected": ANSWERS, "kills": KILLS, "at_once": AT_ONCE}
    graders, landed = [], 0
    # Three graders: the model thinks more or less. One after the other, since workers take whatever
    # waits: what was over before its first kill would prove nothing.
    for effort in ("low", "medium", "high"):
        grader = start_grading(
            rag_run=answered, endpoint=endpoint, actor=None, reasoning_effort=effort
        )
        landed += survive(site, grader, rng, **drill)
        graders.append(grader)
    judge = start_support(
        of=unsaved_set(answered.benchmark, f"rag:{answered.pk}"), endpoint=endpoint, actor=None
    )
    landed += survive(site, judge, rng, prepared=SupportedAnswer.objects.count, **drill)
    assert landed >= 4 * KILLS

    for each in graders:
        each.refresh_from_db()
        values = list(each.grades.order_by("answer_id").values_list("value", flat=True))
        # Every second answer of a system holds the word, and practice graders go by that alone.
        right = SYSTEMS * (ANSWERS // SYSTEMS // 2)
        assert (len(values), sum(values)) == (ANSWERS, right)
        assert sum(map(len, each.sheet.values())) == ANSWERS
    assert judge.verdicts.filter(state="judged").count() == judge.total == ANSWERS
    calls = Call.objects.all()
    keys = list(calls.answered().values_list("key", flat=True))
    assert len(keys) == len(set(keys)) == 4 * ANSWERS
    assert calls.exclude(pk__in=calls.answered()).count() <= (landed + site.lost_leases) * AT_ONCE
    for run in (*graders, judge):
        run.refresh_from_db()
        assert run.spent_usd == spending(calls.filter(account=run.account)).usd > 0
    broken = [each.said for each in site.workers if "Traceback" in each.said]
    assert not broken, "\n\n".join(broken)[-20_000:]
