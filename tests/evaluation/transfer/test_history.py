"""What came of aspects, problems, decisions and ratings of both is merged, both ways the same."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import transaction
from hypothesis import example, given
from hypothesis import strategies as st

from annotate.models import (
    Adjudication,
    AnswerComparison,
    AnswerGrade,
    AnswerPair,
    AnswerRating,
    Aspect,
    AspectChange,
    GradedAnswer,
    GradingSample,
    ProblemTag,
    ReferenceAnswer,
)
from annotate.workspace.changes import snapshots
from annotate.workspace.scales import earlier_weights
from corpus.judgments.services import record_judgment
from corpus.models import Judgment
from evaluation.models import MergeConflict
from evaluation.transfer.conflicts import choose
from evaluation.transfer.merging.run import Merge
from evaluation.transfer.writing import pseudonyms
from kit.account import people
from kit.models import Event
from tests.evaluation.transfer.test_people import _side, aspect, at, merge, stranger
from tests.factories import make_gold, make_user

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)
PROBLEMS = ("irrelevant_gold", "structural_noise")
# What somebody does: tags a passage, or takes the tag off; decides a pair, or takes that back;
# weighs the aspect; rates the answers.
DEED = st.one_of(
    st.tuples(st.sampled_from(["tag", "untag"]), st.integers(0, 1), st.sampled_from(PROBLEMS)),
    st.tuples(st.sampled_from(["decide"]), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.sampled_from(["undo"]), st.integers(0, 1), st.just(0)),
    st.tuples(st.sampled_from(["weigh"]), st.just(0), st.integers(1, 5)),
    st.tuples(st.sampled_from(["rate"]), st.integers(1, 2), st.integers(1, 5)),
)
Deed = tuple[str, int, Any]


def make_side(slug: str, *turns: list[Deed]) -> SimpleNamespace:
    """A benchmark where this was done: all sides did the first at the same moments."""
    side = _side(slug)
    make_gold(side.query, *side.passages[:2])
    side.aspect = aspect(side, 1, "Cause", 0, weight=3)
    by = {"model": {"model": "m"}, "person": {"created_by": stranger(5)}}
    answers = [
        at(
            ReferenceAnswer.objects.create(query=side.query, author=who, version=1, text=who, **of),
            0,
        )
        for who, of in by.items()
    ]
    comparison = AnswerComparison.objects.create(
        benchmark=side.benchmark, seed=1, size=1, created_by=stranger(5)
    )
    side.pair = AnswerPair.objects.create(
        comparison=at(comparison, 0), query=side.query, place=0, model=answers[0], human=answers[1]
    )
    for turn, deeds in enumerate(turns):
        for number, deed in enumerate(deeds):
            moment = START + timedelta(days=1 + turn * (1 + len(slug)), seconds=number)
            do(side, moment, *deed)
    return side


def do(side: SimpleNamespace, moment: datetime, what: str, number: int, value: Any) -> None:
    if what == "weigh":
        before = snapshots([side.aspect])
        side.aspect.weight = value
        side.aspect.save()
        dated(
            AspectChange,
            moment,
            query=side.query,
            kind="clarify",
            before=before,
            after=snapshots([side.aspect]),
        )
        return
    if what == "rate":
        mine = AnswerRating.objects.standing().filter(pair=side.pair, rater=stranger(number))
        points = ("human_completeness", "human_quality", "model_completeness", "model_quality")
        old = list(mine)
        mine.update(stands=False)
        made = dated(
            AnswerRating,
            moment,
            pair=side.pair,
            rater=stranger(number),
            preferred="human",
            human_first=True,
            **dict.fromkeys(points, value),
        )
        AnswerRating.objects.filter(pk__in=[each.pk for each in old]).update(superseded_by=made)
        return
    about = {"query": side.query, "passage": side.passages[number]}
    tags = ProblemTag.objects.standing().filter(**about, problem=value)
    decisions = Adjudication.objects.standing().filter(**about)
    if what == "untag":
        tags.update(ended_at=moment)
    elif what == "undo":
        Judgment.objects.filter(pk__in=decisions.values("judgment")).update(status="superseded")
        decisions.update(undone_at=moment)
    elif what == "tag" and not tags.exists():
        dated(ProblemTag, moment, **about, problem=value)
    elif what == "decide" and not decisions.exists():
        label = record_judgment(
            **about, label=value, source="expert", provenance={"rule": "adjudicated"}
        )
        Judgment.objects.filter(pk=label.pk).update(created_at=moment)
        dated(
            Adjudication,
            moment,
            **about,
            kind="majority",
            label=value,
            judgment=label,
            reason="So.",
            adjudicator=stranger(3),
        )


def dated(rows: Any, moment: datetime, /, **fields: Any) -> Any:
    made = rows.objects.create(**fields)
    rows.objects.filter(pk=made.pk).update(created_at=moment)
    return made


def state_of(side: SimpleNamespace) -> dict[str, Any]:
    """What there is, and what of it stands, by what it is about."""
    tags = ProblemTag.objects.filter(query=side.query)
    decisions = Adjudication.objects.filter(query=side.query)
    ratings = AnswerRating.objects.filter(pair=side.pair)
    changes = AspectChange.objects.filter(query=side.query)
    conflicts = MergeConflict.objects.filter(benchmark=side.benchmark)
    return {
        "tags": {(t.passage.pid, t.problem, t.created_at) for t in tags},  # type: ignore[union-attr]
        "tagged": {(t.passage.pid, t.problem) for t in tags.standing()},  # type: ignore[union-attr]
        "decisions": {(d.passage.pid, d.label, d.created_at) for d in decisions},  # type: ignore[union-attr]
        "decided": {(d.passage.pid, d.label) for d in decisions.standing()},  # type: ignore[union-attr]
        "ratings": {(r.rater.username, r.human_quality, r.created_at) for r in ratings},
        "rated": {(r.rater.username, r.human_quality) for r in ratings.standing()},
        "changes": {
            (c.created_at, *(each[0]["weight"] for each in (c.before, c.after))) for c in changes
        },
        "conflicts": {
            (c.kind, c.passage.pid if c.passage else "", frozenset((c.ours, c.theirs)))
            for c in conflicts
        },
    }


def merged(base: list[Deed], one: list[Deed], other: list[Deed], *, turned: bool) -> Any:
    with transaction.atomic():
        sides = [make_side("a", base, one), make_side("bb", base, other)]
        here, there = sides[::-1] if turned else sides
        before = state_of(here)
        Merge(here.benchmark, there.benchmark, digest="d" * 64, actor=None).run()
        found = state_of(here)
        for name in ("tags", "decisions", "ratings", "changes"):
            assert before[name] <= found[name]
        assert before["tagged"] <= found["tagged"]
        # What was decided otherwise there since, in place of the same decision, is decided so here.
        decided = [{pid for pid, _ in of["decided"]} for of in (before, found)]
        assert decided[0] <= decided[1]
        again = Merge(here.benchmark, there.benchmark, digest="d" * 64, actor=None)
        again.run()
        assert state_of(here) == found
        assert (dict(again.told.added), again.told.conflict_count) == ({}, 0)
        transaction.set_rollback(True)
    return found


@pytest.mark.slow
@given(*[st.lists(DEED, max_size=3)] * 3)
@example([("decide", 0, 1)], [("undo", 0, 0), ("decide", 0, 0)], [])
@example([("decide", 0, 1)], [], [("undo", 0, 0), ("decide", 0, 0)])
def test_merging_is_idempotent_and_both_ways_round_come_to_the_same(
    base: list[Deed], one: list[Deed], other: list[Deed]
) -> None:
    found, turned = (merged(base, one, other, turned=way) for way in (False, True))
    for name in ("tags", "decisions", "ratings", "rated", "changes", "conflicts"):
        assert found[name] == turned[name], name
    open_pairs = {pid for _, pid, _ in found["conflicts"]}
    for name in ("tagged", "decided"):
        sure = [{each for each in of[name] if each[0] not in open_pairs} for of in (found, turned)]
        assert sure[0] == sure[1], name


@pytest.fixture
def sides() -> SimpleNamespace:
    return SimpleNamespace(a=make_side("a"), b=make_side("bb"))


def test_earlier_weights_come_with_the_aspects_of_here_and_stay_undone(
    sides: SimpleNamespace,
) -> None:
    own = aspect(sides.a, 2, "Ours", 4)
    theirs = aspect(sides.b, 2, "Theirs", 5, scale="likert3", weight=2)
    shot = snapshots([theirs])
    before = [{**shot[0], "scale": "likert5", "weight": 4, "passages": [sides.b.passages[0].pk, 9]}]
    about = {"query": sides.b.query, "created_by": stranger(1)}
    undoing = dated(AspectChange, START, **about, kind="undo", before=shot, after=before)
    change = dated(
        AspectChange, START, **about, kind="scale", before=before, after=shot, undone_by=undoing
    )
    AspectChange.objects.filter(pk=change.pk).update(updated_at=START)
    forged = people.stand_in(pseudonyms(sides.a.benchmark)(make_user("own").pk))
    AspectChange.objects.create(query=sides.b.query, kind="add", created_by=forged)
    report = merge(sides)
    assert report["left_out"] == [
        {
            "what": "aspect change of 1",
            "why": "somebody of this installation did no such thing here",
        }
    ]
    made = AspectChange.objects.get(query=sides.a.query, kind="scale")
    brought = Aspect.objects.get(query=sides.a.query, content="Theirs")
    assert (brought.k, own.k) == (3, 2)
    assert [(each["pk"], each["k"]) for each in made.before] == [(brought.pk, 3)]
    assert made.before[0]["passages"] == [sides.a.passages[0].pk]
    assert made.undone_by == AspectChange.objects.get(query=sides.a.query, kind="undo")
    assert (made.created_at, made.updated_at) == (START, START)
    assert earlier_weights(sides.a.query, "likert5") == {brought.pk: 4}
    told = Event.objects.filter(verb="merge aspect change", scope="a#merges")
    assert {each.data["from"] for each in told} == {"d" * 64}


def test_a_weight_that_was_settled_stands_where_the_weight_does(sides: SimpleNamespace) -> None:
    for side in (sides.a, sides.b):
        aspect(side, 2, "Other", 7, weight=2 if side is sides.b else 4)
    for k in (1, 2):
        of = Aspect.objects.get(query=sides.b.query, k=k)
        dated(
            Adjudication,
            START + timedelta(days=k),
            kind="weights",
            query=sides.b.query,
            aspect=of,
            weight=of.weight,
            before=1,
            reason="So.",
            adjudicator=stranger(3),
        )
    merge(sides)
    made = Adjudication.objects.filter(query=sides.a.query).order_by("aspect__k")
    assert [(each.weight, each.undone_at is None) for each in made] == [(3, True), (2, False)]


def test_scores_of_answers_name_the_aspects_of_here(sides: SimpleNamespace) -> None:
    for side, words in ((sides.a, "Ours"), (sides.b, "Theirs")):
        aspect(side, 2, words, 4 + len(words))
        sample = GradingSample.objects.create(
            benchmark=side.benchmark, seed=1, size=1, people=2, created_by=stranger(5)
        )
        side.answer = GradedAnswer.objects.create(
            sample=at(sample, 1), query=side.query, origin=f"rag:{side.query.pk}", text="Because."
        )
    grade = AnswerGrade.objects.create(
        answer=sides.b.answer,
        grader=stranger(1),
        scores={"biology-1-a1": 1, "biology-1-a2": 0.5},
        weights={"biology-1-a1": 3, "biology-1-a2": 3},
        quality=4,
    )
    other = GradedAnswer.objects.create(
        sample=sides.b.answer.sample, query=sides.b.query, origin="x", text="Only there."
    )
    AnswerGrade.objects.create(answer=other, grader=stranger(1), scores={}, weights={}, quality=1)
    report = merge(sides)
    made = AnswerGrade.objects.get(answer=sides.a.answer)
    assert made.scores == {"biology-1-a1": 1, "biology-1-a3": 0.5}
    assert (made.grader, made.created_at) == (grade.grader, grade.created_at)
    assert report["left_out"] == [
        {"what": "answer grade of 1", "why": "what it is about is not here"}
    ]


def test_who_has_another_name_there_is_not_counted_twice(sides: SimpleNamespace) -> None:
    # The same rating, by a pseudonym that was claimed there and is another account since.
    do(sides.a, START, "rate", 1, 3)
    do(sides.b, START, "rate", 2, 3)
    do(sides.b, START + timedelta(hours=1), "rate", 2, 5)
    report = merge(sides)
    (standing,) = AnswerRating.objects.standing().filter(pair=sides.a.pair)
    assert (standing.rater_id, standing.human_quality) == (stranger(1).pk, 3)
    assert [each["why"] for each in report["left_out"]] == ["who gave it has another name here"]


def test_of_third_persons_decisions_the_one_behind_the_chosen_label_stands(
    sides: SimpleNamespace,
) -> None:
    do(sides.a, START, "decide", 0, 1)
    do(sides.b, START + timedelta(hours=1), "decide", 0, 0)
    merge(sides)
    decisions = Adjudication.objects.filter(query=sides.a.query)
    assert [each.label for each in decisions.standing()] == [1]
    (conflict,) = MergeConflict.objects.filter(benchmark=sides.a.benchmark)
    admin = make_user("boss")
    choose(conflict=conflict, choice="theirs", actor=admin)
    (stands,) = decisions.standing()
    assert (stands.label, stands.judgment.status) == (0, "standing")
    told = Event.objects.get(verb="choose in conflict").data
    ended = decisions.get(label=1)
    assert (told["decisions_ended"], told["decision"]) == ([ended.pk], stands.pk)
    assert ended.undone_by == admin
