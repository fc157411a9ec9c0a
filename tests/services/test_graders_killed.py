"""Generated answers, their graders, and a judge of what they cite, while workers are killed.

The gate kills a few times. The drill of docs/reliability.md is `make chaos-answers`: 10,000
answers, and as many of other words by three graders.
"""

import os
import random
from collections.abc import Sequence

import pytest

from corpus.models import Query, RankedList, RetrievalRun
from evaluation.rag.grading import start_grading
from evaluation.rag.models import RagAnswer, RagRun, RagSource
from evaluation.rag.services import close, start_answers
from evaluation.support.models import SupportedAnswer
from evaluation.support.services import start_support, unsaved_set
from evaluation.tasks import RAG
from llm import endpoints
from llm.ledger.accounts import AskingRun
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


def make_queries(place: Place) -> list[Query]:
    """A query in words of its own for each system's answer to it, and no other that is asked."""
    Query.objects.update(answers=[])
    domain = domain_of(place.room.benchmark)
    return Query.objects.bulk_create(
        Query(domain=domain, qid=f"more-{n}", text=f"Why does moth {n} roll?", answers=["light"])
        for n in range(ANSWERS // SYSTEMS)
    )


def make_lists(place: Place, queries: Sequence[Query]) -> list[RetrievalRun]:
    """Four systems, each with another passage first."""
    found, pids = [], list(TEXTS)
    for system in range(SYSTEMS):
        name = f"system {system}"
        run = RetrievalRun.objects.create(
            benchmark=place.room.benchmark, name=name, digest=name, query_count=len(queries),
            depth=len(pids),
        )  # fmt: skip
        ranked = [*pids[system:], *pids[:system]]
        RankedList.objects.bulk_create(
            RankedList(run=run, query=query, pids=ranked) for query in queries
        )
        found.append(run)
    return found


def make_answers(place: Place) -> RagRun:
    """So many answers of four systems, each in words of its own with a citation."""
    benchmark = place.room.benchmark
    run = RagRun.objects.create(
        benchmark=benchmark, name="answers", harness="short", config=CONFIG, endpoint="practice",
        model="m", status="done",
    )  # fmt: skip
    queries = make_queries(place)
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


def check_books(site: Site, runs: Sequence[AskingRun], answered: int, kills: int) -> None:
    """Every request has one answer; what has none is what workers held when they died; and each run
    says what its calls cost."""
    calls = Call.objects.all()
    keys = list(calls.answered().values_list("key", flat=True))
    assert len(keys) == len(set(keys)) == answered
    assert calls.exclude(pk__in=calls.answered()).count() <= (kills + site.lost_leases) * AT_ONCE
    for run in runs:
        run.refresh_from_db()
        assert run.spent_usd == spending(calls.filter(account=run.account)).usd > 0
    broken = [each.said for each in site.workers if "Traceback" in each.said]
    assert not broken, "\n\n".join(broken)[-20_000:]


@pytest.mark.services
def test_answers_survive_workers_that_are_killed(paid: Site) -> None:  # noqa: F811
    site = paid
    site.lease_s = 2.0
    place, endpoint = make_place(), endpoints.available()[0]
    given = {
        "benchmark": place.room.benchmark, "runs": make_lists(place, make_queries(place)),
        "endpoint": endpoint, "actor": None, "baselines": False,
    }  # fmt: skip
    run = start_answers(**given)
    drill = {"expected": ANSWERS, "kills": KILLS, "at_once": AT_ONCE}
    landed = survive(site, run, random.Random(3), prepared=RagAnswer.objects.count, **drill)
    assert landed >= KILLS
    # One answer a system and query, none of them lost and none twice.
    assert run.answers.count() == run.answers.filter(state="answered").count() == ANSWERS
    assert [len(each.sheet["queries"]) for each in run.sources.all()] == [ANSWERS // SYSTEMS] * 4
    check_books(site, [run], ANSWERS, landed)

    # An undisturbed run of the same asks nothing more, and says the same.
    again = start_answers(**given, claimed=True)
    RAG.drive(again)
    columns = ("source__name", "query", "passages", "answers", "accuracy")
    told = [list(each.answers.order_by("source__name", "query").values_list(*columns))
            for each in (run, again)]  # fmt: skip
    assert told[0] == told[1]
    assert Call.objects.answered().count() == ANSWERS


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
    check_books(site, [*graders, judge], 4 * ANSWERS, landed)
