"""Worlds that differ only in what a person must not know yet: every route answers them the same.

The addresses are those of the whole route table (tests/walking.py), with every number that the
worlds hold; masked is what walking.py lists. Each kind of secret is shown to be able to be seen.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from annotate.models import Aspect, EscalationCase, RescoreTask, Vote
from annotate.review import services as reviews
from annotate.review.rescoring import draw_sample, score_task
from annotate.voting.services import cast_vote
from corpus.models import Pool
from debate.models import Debate, DebateRun, Turn
from tests.annotate.panels.drawing import first_item, give, make_panel, make_panel_world, practise
from tests.annotate.reviewing import complete
from tests.annotate.world import World, make_snapshot, signed_in
from tests.factories import make_member, make_pool
from tests.walking import Walk, differences
from tests.worlds import in_a_world

Seen = dict[tuple[str, str], Any]
PEOPLE = {"voter": ("annotator",), "scorer": ("reviewer",), "both": ("annotator", "reviewer")}


@pytest.fixture(scope="module")
def made(undone_database: None) -> World:
    """One query with everything: disputes that a run escalated, aspects that await their second
    review and are in a sample of weights, an item of a panel; and who has said nothing of it."""
    world = make_panel_world(queries=0)
    benchmark, query, author = world.benchmark, world.query, world.voters[0]
    world.people = {name: make_member(benchmark, name, *roles) for name, roles in PEOPLE.items()}
    cases = [world.case(), world.case()]
    pool = make_pool(benchmark, *((query, case.passage) for case in cases), name="argued")
    debates = argue(world, pool)
    world.aspects, passages = complete(query, author)
    draw_sample(benchmark=benchmark, actor=world.admin, size=5, seed=1)
    drawn_from = make_pool(benchmark, (query, world.passage), name="drawn")
    panel = make_panel(world, labels_per_item=2, per_domain=1, pool=drawn_from)
    practise(world, panel, world.voters[1], world.people["voter"], world.people["both"])
    world.item = first_item(panel)
    last = Vote.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    world.rows = {
        "query": [query.pk],
        "passage": [cases[0].passage_id, passages[0].pk, world.passage.pk],
        "case": [cases[0].public_id, world.item.case.public_id],
        "aspect": [world.aspects[0].pk],
        "task": [RescoreTask.objects.get().pk],
        "run": [debates[0].run_id],
        "debate": [debates[0].pk],
        "pool": [pool.pk],
        "panel": [panel.pk],
        "item": [world.item.pk],
        "vote": [last + 1, last + 2],  # the keys that the next votes will have
    }
    return world


def argue(world: World, pool: Pool) -> list[Debate]:
    """The debates of the cases, as a run left them."""
    run = DebateRun.objects.create(
        benchmark=world.benchmark, pool=pool, name="run", endpoint="practice", model="m",
        status="done", total=2, done=2,
    )  # fmt: skip
    debates = [
        Debate.objects.create(
            run=run, query=case.query, passage=case.passage, case=case, status="escalated", round=2
        )
        for case in world.cases
    ]
    for debate in debates:
        for agent, response in (("A", "yes"), ("B", "no")):
            Turn.objects.create(
                debate=debate, round=2, agent=agent, response=response, label=response == "yes",
                stance="relevant", reason="It states the turning.", prompt_sha256="0",
            )  # fmt: skip
    return debates


@pytest.fixture
def world(db: None, made: World, settings: Any) -> World:
    """The same to each test: what it changes is undone. Sessions stay in this process, because
    thousands of requests would each read theirs from the database."""
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
    return made


def secrets(world: World, who: str, *, other: bool) -> None:
    """What this person may not know: in the other world all of it is something else.

    Annotators read each other's weights, and reviewers what agents said.
    """
    give(world, world.item, world.voters[1], None if other else 1, reason="for a reason")
    score(world, (5, 4) if other else (1, 1))
    if other:
        vote(world, 1, None)
        if who != "scorer":
            argue_otherwise(world)
        if who != "voter":
            weigh_otherwise(world)


def score(world: World, weights: tuple[int, int]) -> None:
    given = dict(zip((each.pk for each in world.aspects), weights, strict=True))
    score_task(task=RescoreTask.objects.get(), actor=world.reviewer, weights=given)


def vote(world: World, *labels: int | None) -> None:
    for voter, label in zip(world.voters[1:], labels, strict=False):
        cast_vote(case=world.cases[0], voter=voter, label=label, reason="for a reason")


def argue_otherwise(world: World) -> None:
    snapshot = make_snapshot(rounds=3, practice=True)
    snapshot["positions"][0] |= {"reason": "Something else.", "response": "no", "references": []}
    case = world.cases[0]
    EscalationCase.objects.filter(pk=case.pk).update(snapshot=snapshot)
    turns = Turn.objects.filter(debate__case=case)
    turns.update(reason="Something else.", response="no", label=0)


def weigh_otherwise(world: World) -> None:
    for aspect, weight in zip(world.aspects, (1, 4), strict=True):
        row = Aspect.objects.get(pk=aspect.pk)
        row.write(expected=row.version, actor=world.voters[0], weight=weight, rationale="All.")


def walk(world: World, person: User, only: str = "", **options: bool) -> Seen:
    return Walk(person, world.benchmark.slug, world.rows, **options).seen(only)


@pytest.mark.parametrize(
    ("who", "only", "fewest"),
    [
        ("both", "/api/", 40),
        *(pytest.param(who, "", 80, marks=pytest.mark.slow) for who in ("voter", "scorer")),
        pytest.param("both", "", 200, marks=pytest.mark.slow),
    ],
)
def test_nothing_tells_votes_arguments_weights_scores_or_labels(
    who: str, only: str, fewest: int, world: World
) -> None:
    """In the suite the API, to somebody with two roles, who may open more than others and knows
    less; where there is time the pages, too, with their fragments, other orders and filters."""

    def look(*, other: bool) -> Callable[[], Seen]:
        def see() -> Seen:
            secrets(world, who, other=other)
            rest = who == "both" and not only
            return walk(world, world.people[who], only, fragments=rest, filters=rest)

        return see

    seen = in_a_world(look(other=False))
    opened = [each for each in seen.values() if not isinstance(each, int)]
    assert len(opened) > fewest
    assert differences(seen, in_a_world(look(other=True))) == []


def judge(world: World, person: User) -> None:
    client, url = signed_in(person), world.url(f"vote/{world.cases[0].public_id}/")
    client.get(url)
    client.post(url, {"label": "1", "stage": "first"})


def review(world: World, person: User) -> None:
    mine = reviews.start_review(query=world.query, reviewer=person)
    weights = {each.pk: 3 for each in world.aspects}
    reviews.score_weights(review=mine, actor=person, weights=weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "come_to_know", "only"),
    [
        (lambda world: vote(world, 1, 1, 1), lambda *_: None, "judgments"),
        (argue_otherwise, judge, "/vote/"),
        (weigh_otherwise, review, "/queries/"),
    ],
    ids=["votes that decided", "arguments after a judgment", "weights after scoring"],
)
def test_the_comparison_can_fail(change, come_to_know, only: str, world: World) -> None:
    person = world.people["both"]

    def look(*, other: bool) -> Callable[[], Seen]:
        def see() -> Seen:
            if other:
                change(world)
            come_to_know(world, person)
            return walk(world, person, only, fragments=False, filters=False)

        return see

    assert differences(in_a_world(look(other=False)), in_a_world(look(other=True)))
