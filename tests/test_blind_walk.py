"""Worlds that differ only in what a person must not know yet: every route answers them the same.

The addresses are those of the whole route table (tests/walking.py), with every number that the
worlds hold; masked is what walking.py lists. Each comparison is shown to be able to fail.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from annotate.models import Aspect, EscalationCase, RescoreTask, Vote
from annotate.services import reviews
from annotate.services.rescoring import draw_sample, score_task
from annotate.services.votes import cast_vote
from debate.models import Debate, DebateRun, Turn
from tests.annotate.panels import first_item, give, make_panel, make_panel_world, practise
from tests.annotate.reviewing import Desk, make_desk
from tests.annotate.world import World, make_snapshot, make_world, signed_in
from tests.factories import make_gold, make_member, make_passage, make_pool
from tests.walking import Walk, differences
from tests.worlds import in_a_world

pytestmark = pytest.mark.django_db
Seen = dict[tuple[str, str], Any]


def make_disputed() -> World:
    """Two disputed cases that a debate run escalated, old gold, and somebody with two roles."""
    world = make_world()
    first, second = world.case(), world.case()
    gold = make_passage(world.benchmark, "gold/1", "biology")
    make_gold(world.query, gold)
    pool = make_pool(world.benchmark, *((world.query, case.passage) for case in (first, second)))
    run = DebateRun.objects.create(
        benchmark=world.benchmark, pool=pool, name="run", endpoint="practice", model="m",
        status="done", total=2, done=2,
    )  # fmt: skip
    debates = [
        Debate.objects.create(
            run=run, query=case.query, passage=case.passage, case=case, status="escalated", round=2
        )
        for case in (first, second)
    ]
    for debate in debates:
        for agent, response in (("A", "yes"), ("B", "no")):
            Turn.objects.create(
                debate=debate, round=2, agent=agent, response=response, label=response == "yes",
                stance="relevant", reason="It states the turning.", prompt_sha256="0",
            )  # fmt: skip
    make_member(world.benchmark, "both", "annotator", "reviewer")
    world.rows = {
        "query": [world.query.pk],
        "passage": [gold.pk, first.passage_id],
        "case": [first.pk, second.pk],
        "run": [run.pk],
        "debate": [each.pk for each in debates],
        "pool": [pool.pk],
        "vote": next_votes(),
    }
    return world


def person_of(world: World, role: str) -> User:
    return User.objects.get(username="both") if role == "both" else world.voters[0]


def walk(world: World | Desk, person: User, rows: Any, only: str = "") -> Seen:
    return Walk(person, world.benchmark.slug, rows).seen(only)


def next_votes() -> list[int]:
    """The keys that the next votes will have."""
    last = Vote.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return [last + 1, last + 2]


@pytest.mark.parametrize("role", ["voter", "both"])
def test_nothing_tells_what_others_voted(role) -> None:
    world = make_disputed()
    person, case = person_of(world, role), world.cases[0]

    def look(*labels: int | None, only: str = "") -> Callable[[], Seen]:
        def see() -> Seen:
            for voter, label in zip(world.voters[1:], labels, strict=False):
                cast_vote(case=case, voter=voter, label=label, reason="for a reason")
            return walk(world, person, world.rows, only)

        return see

    alone = in_a_world(look())
    assert len([each for each in alone.values() if not isinstance(each, int)]) > 200
    assert differences(alone, in_a_world(look(1, None))) == []
    # The comparison can fail: what three votes came to is shown.
    decided = in_a_world(look(1, 1, 1, only="judgments"))
    assert differences(in_a_world(look(only="judgments")), decided)


def test_nothing_tells_what_agents_said_before_a_first_judgment() -> None:
    """To somebody who is a reviewer too, and may open more than other voters."""
    world = make_disputed()
    person, case = person_of(world, "both"), world.cases[0]
    other = make_snapshot(rounds=3, practice=True)
    other["positions"][0] |= {"reason": "Something else.", "response": "no", "references": []}

    def look(*, others: bool = False, judged: bool = False, only: str = "") -> Callable[[], Seen]:
        def see() -> Seen:
            if others:
                EscalationCase.objects.filter(pk=case.pk).update(snapshot=other)
                turns = Turn.objects.filter(debate__case=case)
                turns.update(reason="Something else.", response="no", label=0)
            if judged:
                client, url = signed_in(person), world.url(f"vote/{case.pk}/")
                client.get(url)
                client.post(url, {"label": "1", "stage": "first"})
            return walk(world, person, world.rows, only)

        return see

    assert differences(in_a_world(look()), in_a_world(look(others=True))) == []
    after = [in_a_world(look(others=each, judged=True, only="/vote/")) for each in (False, True)]
    assert differences(*after)  # the comparison can fail


def test_nothing_tells_a_blind_scorer_the_weights() -> None:
    """Nor one who is an annotator of the domain too."""
    desk = make_desk()
    draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=5, seed=1)
    person = make_member(desk.benchmark, "both", "annotator", "reviewer")
    rows = {
        "query": [desk.query.pk],
        "aspect": [each.pk for each in desk.aspects],
        "passage": [each.pk for each in desk.passages],
        "task": [RescoreTask.objects.get().pk],
    }

    def look(*, others: bool = False, scored: bool = False, only: str = "") -> Callable[[], Seen]:
        def see() -> Seen:
            for aspect, weight in zip(desk.aspects, (1, 4), strict=True):
                if others:
                    row = Aspect.objects.get(pk=aspect.pk)
                    row.write(expected=row.version, actor=desk.author, weight=weight)
            if scored:
                review = reviews.start_review(query=desk.query, reviewer=person)
                reviews.score_weights(review=review, actor=person, weights=desk.weights)
            return walk(desk, person, rows, only)

        return see

    assert differences(in_a_world(look()), in_a_world(look(others=True))) == []
    after = [in_a_world(look(others=each, scored=True, only="/queries/")) for each in (False, True)]
    assert differences(*after)  # who has scored sees them


def test_nothing_tells_a_blind_scorer_what_another_scored() -> None:
    desk = make_desk()
    draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=5, seed=1)
    task = RescoreTask.objects.get()
    rows = {
        "query": [desk.query.pk],
        "aspect": [each.pk for each in desk.aspects],
        "passage": [each.pk for each in desk.passages],
        "task": [task.pk],
    }

    def look(*weights: int) -> Callable[[], Seen]:
        def see() -> Seen:
            given = dict(zip((each.pk for each in desk.aspects), weights, strict=True))
            score_task(task=task, actor=desk.reviewer, weights=given)
            return walk(desk, desk.third, rows)

        return see

    assert differences(in_a_world(look(1, 1)), in_a_world(look(5, 4))) == []


def test_nothing_tells_an_expert_what_another_labelled() -> None:
    world = make_panel_world(queries=2)
    panel = make_panel(world, labels_per_item=2, per_domain=2)
    first, second = world.voters[:2]
    practise(world, panel, first, second)
    item = first_item(panel)
    rows = {
        "panel": [panel.pk],
        "item": [item.pk],
        "case": [item.case_id],
        "query": [item.case.query_id],
        "passage": [item.case.passage_id],
        "vote": next_votes(),
    }

    def look(label: int | None) -> Callable[[], Seen]:
        def see() -> Seen:
            give(world, item, second, label, reason="for a reason")
            return walk(world, first, rows)

        return see

    assert differences(in_a_world(look(1)), in_a_world(look(None))) == []
