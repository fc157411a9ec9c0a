"""A third person settles what stays open: who may, what it does, and taking it back."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.adjudication.items import read_item
from annotate.adjudication.queue import find_item, open_items, quick_count
from annotate.adjudication.services import (
    settle_case,
    settle_verdicts,
    settle_weight,
    undo_decision,
)
from annotate.models import Adjudication, CaseStatus, EscalationCase, GoldPassage, Vote
from annotate.review.rescoring import draw_sample, next_task, score_task
from annotate.review.services import (
    answer_point,
    ask_changes,
    score_weights,
    send_back,
    settle_point,
    start_review,
    step_in,
)
from annotate.voting.services import cast_vote
from annotate.workspace.aspects import add_aspect, write_weight
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from annotate.workspace.scales import scale_of_benchmark
from corpus.access import enter
from corpus.models import Judgment, Source
from kit.errors import Refused
from kit.models import Event
from tests.annotate.panels.drawing import first_item, give, make_panel, make_panel_world, practise
from tests.annotate.reviewing import make_desk
from tests.annotate.world import World, make_world, signed_in
from tests.factories import make_member

pytestmark = pytest.mark.django_db


def undecided(world: World) -> EscalationCase:
    """Five votes without a majority."""
    case = world.case()
    for voter, label in zip(world.voters, [1, 0, None, None, None], strict=True):
        cast_vote(case=case, voter=voter, label=label, reason="for a reason")
    case.refresh_from_db()
    assert case.status == CaseStatus.EXPERT
    return case


def access(world, person):
    return enter(person, world.benchmark.slug)


def standing(case: EscalationCase) -> Judgment | None:
    pair = {"query": case.query, "passage": case.passage}
    return Judgment.objects.standing().filter(**pair).first()


def test_nobody_settles_that_what_the_query_excludes_is_relevant() -> None:
    world = make_world()
    case = undecided(world)
    case.query.excluded_ids = [case.passage.pid]
    case.query.save()
    who = access(world, world.reviewer)
    with pytest.raises(Refused, match="leave this passage out"):
        settle_case(case=case, access=who, label=1, reason="It says so.")
    case.refresh_from_db()
    assert case.status == CaseStatus.EXPERT
    settle_case(case=case, access=who, label=0, reason="It does not.")


def test_a_case_without_majority_is_settled_by_somebody_else() -> None:
    world = make_world()
    case = undecided(world)
    who = access(world, world.reviewer)
    (item,) = open_items(who)
    assert (item.kind, item.key, quick_count(who)) == ("majority", str(case.public_id), 1)
    made = settle_case(case=case, access=who, label=1, reason=" It says so. ")
    case.refresh_from_db()
    label = standing(case)
    assert label is not None
    assert (case.status, case.label, case.judgment) == (CaseStatus.CLOSED, 1, label)
    assert (label.source, label.label, made.judgment) == (Source.EXPERT, 1, label)
    votes = list(Vote.objects.filter(case=case).order_by("pk").values_list("pk", flat=True))
    assert label.provenance == {
        "rule": "adjudicated",
        "tie_break": "none",
        "kind": "majority",
        "reason": "It says so.",
        "case": case.pk,
        "origin": case.origin,
        "votes": votes,
        "guideline_version": 0,
    }
    event = Event.objects.get(target_type="annotate.adjudication", verb="settle")
    assert (event.actor, event.data["label"]) == (world.reviewer, 1)
    assert open_items(who) == []
    with pytest.raises(Refused, match="settled meanwhile"):
        settle_case(case=case, access=access(world, world.admin), label=0, reason="No.")


def test_who_had_a_part_does_not_settle() -> None:
    world = make_world()
    case = undecided(world)
    membership = world.benchmark.memberships.get(user=world.voters[0])
    membership.roles = ["annotator", "reviewer", "admin"]
    membership.save()
    voter = access(world, world.voters[0])
    assert open_items(voter) == []
    with pytest.raises(PermissionDenied, match="had a part"):
        settle_case(case=case, access=voter, label=1, reason="Mine was right.")
    # Whose verdict was taken back had a part too, and who took it back.
    other = make_member(world.benchmark, "other", "annotator", "reviewer")
    taker = make_member(world.benchmark, "taker", "annotator", "reviewer")
    pair = {"query": case.query, "passage": case.passage}
    discard_passage(**pair, reason="noise", actor=other)
    discard_passage(**pair, reason="noise", actor=taker)
    undo_verdict(**pair, actor=taker)
    undo_verdict(**pair, actor=taker)
    for person in (other, taker):
        with pytest.raises(PermissionDenied, match="had a part"):
            settle_case(case=case, access=access(world, person), label=1, reason="So.")
    for person in (world.outsider, make_member(world.benchmark, "plain", "annotator")):
        with pytest.raises(PermissionDenied):
            settle_case(case=case, access=access(world, person), label=1, reason="So.")
    assert standing(case) is None


@pytest.mark.parametrize(("label", "reason"), [(1, "  "), (2, "So.")])
def test_a_decision_needs_a_label_and_a_reason(label, reason) -> None:
    world = make_world()
    case = undecided(world)
    with pytest.raises(Refused):
        settle_case(case=case, access=access(world, world.admin), label=label, reason=reason)
    assert Adjudication.objects.count() == 0


def test_taken_back_the_case_waits_again() -> None:
    world = make_world()
    case = undecided(world)
    admin = access(world, world.admin)
    made = settle_case(
        case=case, access=access(world, world.reviewer), label=0, reason="It does not say so."
    )
    other = make_member(world.benchmark, "other-reviewer", "reviewer")
    with pytest.raises(PermissionDenied):
        undo_decision(decision=made, access=access(world, other))
    undo_decision(decision=made, access=admin)
    case.refresh_from_db()
    made.refresh_from_db()
    assert (case.status, case.label, standing(case)) == (CaseStatus.EXPERT, None, None)
    assert made.undone_by == world.admin
    assert Vote.objects.standing().filter(case=case).count() == 5
    with pytest.raises(Refused, match="already"):
        undo_decision(decision=made, access=admin)
    # A slip is put right by whoever made it.
    assert len(open_items(access(world, world.reviewer))) == 1
    settle_case(case=case, access=access(world, world.reviewer), label=1, reason="It does.")
    assert standing(case).label == 1


def test_an_unreadable_case_is_settled_while_it_is_open_and_shows_no_vote() -> None:
    world = make_world()
    case = world.case(kind="unreadable")
    cast_vote(case=case, voter=world.voters[0], label=1)
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    assert open_items(access(world, both)) == []  # they may still vote on it
    who = access(world, world.reviewer)
    item = find_item(who, f"unreadable-{case.public_id}")
    assert item is not None
    assert list(read_item(item)["said"]) == []
    made = settle_case(case=case, access=who, label=0, reason="Noise.")
    with pytest.raises(Refused, match="decided"):
        cast_vote(case=case, voter=world.voters[1], label=1)
    undo_decision(decision=made, access=who)
    cast_vote(case=case, voter=world.voters[1], label=1)


def test_settled_is_settled_for_those_it_was_settled_between() -> None:
    world = make_world()
    case = undecided(world)
    settle_case(case=case, access=access(world, world.admin), label=1, reason="It does.")
    pair = {"query": case.query, "passage": case.passage}
    for act in (
        lambda: discard_passage(**pair, reason="noise", actor=world.voters[0]),
        lambda: undo_verdict(**pair, actor=world.voters[0]),
    ):
        with pytest.raises(Refused, match="third person"):
            act()
    # Which aspect it supports is still for the annotators to say.
    aspect = add_aspect(query=case.query, actor=world.voters[0], content="Light.", weight=3)
    assign_passage(**pair, aspect=aspect, actor=world.voters[0])
    with pytest.raises(Refused, match="third person"):
        discard_passage(**pair, reason="noise", actor=world.voters[1])
    decision = Adjudication.objects.get()
    with pytest.raises(Refused, match="another verdict"):
        undo_decision(decision=decision, access=access(world, world.admin))
    undo_verdict(**pair, actor=world.voters[0])
    undo_decision(decision=decision, access=access(world, world.admin))
    assert standing(case) is None


def test_experts_who_differ_on_a_passage() -> None:
    world = make_world()
    first, second = world.voters[:2]
    pair = {"query": world.query, "passage": world.passage}
    aspect = add_aspect(query=world.query, actor=first, content="Light.", weight=3)
    assign_passage(**pair, aspect=aspect, actor=first)
    who = access(world, world.reviewer)
    assert open_items(who) == []
    discard_passage(**pair, reason="noise", note="a menu", actor=second)
    (item,) = open_items(who)
    assert (item.kind, item.key) == ("verdicts", f"{world.query.pk}-{world.passage.pk}")
    assert open_items(access(world, second)) == []
    said = [(each["who"], each["what"], each["reason"]) for each in read_item(item)["said"]]
    assert said == [
        ("Expert 1", "supports a1: Light.", ""),
        ("Expert 2", "not relevant", "noise: a menu"),
    ]
    made = settle_verdicts(**pair, access=who, label=1, reason="The menu is short.")
    gold = GoldPassage.objects.standing().get(**pair)
    assert (gold.aspect, gold.created_by, gold.judgment) == (aspect, first, made.judgment)
    assert open_items(who) == []
    undo_decision(decision=made, access=who)
    assert not GoldPassage.objects.standing().filter(**pair).exists()
    label = Judgment.objects.standing().get(**pair)
    assert (label.label, label.provenance["rule"]) == (0, "discarded")
    assert len(open_items(who)) == 1
    assert [each.kind for each in open_items(access(world, world.admin))] == ["verdicts"]
    settle_verdicts(**pair, access=access(world, world.admin), label=0, reason="It is a menu.")
    assert open_items(access(world, world.admin)) == []


def test_one_expert_who_changes_their_mind_is_no_conflict() -> None:
    world = make_world()
    pair = {"query": world.query, "passage": world.passage}
    aspect = add_aspect(query=world.query, actor=world.voters[0], content="Light.", weight=3)
    assign_passage(**pair, aspect=aspect, actor=world.voters[0])
    discard_passage(**pair, reason="noise", actor=world.voters[0])
    assert open_items(access(world, world.admin)) == []
    with pytest.raises(Refused, match="settled meanwhile"):
        settle_verdicts(**pair, access=access(world, world.admin), label=1, reason="So.")


def test_who_labelled_a_pair_for_a_panel_does_not_settle_its_dispute() -> None:
    world = make_panel_world(queries=1)
    panel = make_panel(world, labels_per_item=2, per_domain=1)
    item, expert = first_item(panel), world.voters[0]
    pair = {"query": item.case.query, "passage": item.case.passage}
    dispute = EscalationCase.objects.create(
        # Before the panel's item in every order, as where the debate came first.
        pk=item.case_id - 1000, kind="dispute", origin="debate:1", status="expert", **pair,
    )  # fmt: skip
    practise(world, panel, expert)
    give(world, item, expert, 1)
    world.benchmark.memberships.filter(user=expert).update(roles=["annotator", "reviewer", "admin"])
    who = access(world, expert)
    assert open_items(who) == []
    assert [each.key for each in open_items(access(world, world.admin))] == [str(dispute.public_id)]
    with pytest.raises(PermissionDenied, match="had a part"):
        settle_case(case=dispute, access=who, label=1, reason="I know.")


def test_weights_far_apart_wait_for_an_admin() -> None:
    desk = make_desk(weights=(5, 2))
    draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=1)
    task = next_task(access(desk, desk.reviewer))
    assert task is not None
    first, second = desk.aspects
    score_task(task=task, actor=desk.reviewer, weights={first.pk: 3, second.pk: 3})
    admin = access(desk, desk.admin)
    assert [item.name for item in open_items(admin)] == [f"weights-{first.pk}"]
    assert open_items(access(desk, desk.third)) == []
    with pytest.raises(PermissionDenied):
        settle_weight(aspect=first, access=access(desk, desk.third), weight=4, reason="So.")
    with pytest.raises(Refused, match="settled meanwhile"):
        settle_weight(aspect=second, access=admin, weight=4, reason="So.")
    made = settle_weight(aspect=first, access=admin, weight=4, reason="Half way.")
    first.refresh_from_db()
    assert (first.weight, made.before, open_items(admin)) == (4, 5, [])
    undo_decision(decision=made, access=admin)
    first.refresh_from_db()
    assert first.weight == 5
    # An admin who wrote on the query is no third person.
    first.write(expected=first.version, actor=desk.admin, weight=1)
    assert open_items(admin) == []


def test_no_score_contradicts_a_weight_that_nobody_chose() -> None:
    desk = make_desk(weights=(5, 2))
    draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=1)
    task = next_task(access(desk, desk.reviewer))
    assert task is not None
    first, second = desk.aspects
    score_task(task=task, actor=desk.reviewer, weights={first.pk: 3, second.pk: 2})
    desk.query.aspects.filter(pk=first.pk).update(weighed=False)
    assert open_items(access(desk, desk.admin)) == []
    first.refresh_from_db()
    write_weight(first, desk.admin, 4)
    first.refresh_from_db()
    assert first.chosen_weight == 4


def test_a_benchmark_says_how_far_apart_two_weights_are_in_conflict() -> None:
    desk = make_desk(weights=(5, 2))
    draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=1)
    first, second = desk.aspects
    task = next_task(access(desk, desk.reviewer))
    assert task is not None
    score_task(task=task, actor=desk.reviewer, weights={first.pk: 2, second.pk: 3})
    client, url = signed_in(desk.admin), desk.url("guidelines/scale/")
    found = {}
    for far in ("1", "2", "3", "4"):
        client.post(url, {"scale": "likert5", "far": far})
        found[far] = [item.key for item in open_items(access(desk, desk.admin))]
    both = sorted([str(first.pk), str(second.pk)])
    assert {far: sorted(keys) for far, keys in found.items()} == {
        "1": both, "2": [str(first.pk)], "3": [str(first.pk)], "4": []
    }  # fmt: skip
    for wrong in ("0", "5", "x"):
        page = client.post(url, {"scale": "likert5", "far": wrong}, follow=True)
        assert "1 to 4 points apart" in page.content.decode()
    assert scale_of_benchmark(desk.benchmark).far == 4
    route = f"/api{desk.url('weight-scale/')}"
    client.put(route, {"scale": "likert5", "far": 2}, content_type="application/json")
    assert client.get(route).json() == {"scale": "likert5", "far": 2}


def test_a_review_in_dispute_is_taken_up_by_a_third_person() -> None:
    desk = make_desk()
    review = start_review(query=desk.query, reviewer=desk.reviewer)
    score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    from annotate.review.points import check_passage

    answers = {"explicit": False, "credible": True, "relevant": True}
    point = check_passage(
        review=review,
        actor=desk.reviewer,
        passage=desk.passages[1],
        checks=answers,
        reason="topic_only",
        note="Only the topic.",
    )
    ask_changes(review=review, actor=desk.reviewer)
    answer_point(review=review, point=point, actor=desk.author, agree=False, text="It is there.")
    assert open_items(access(desk, desk.admin)) == []
    send_back(review=review, actor=desk.author)
    for person in (desk.reviewer, desk.author, desk.outsider):
        assert open_items(access(desk, person)) == []
    (item,) = open_items(access(desk, desk.third))
    assert item.name == f"reviews-{review.pk}"
    step_in(review=review, access=access(desk, desk.third))
    review.refresh_from_db()
    assert (review.status, review.third) == ("third", desk.third)
    # An admin may take the place of a third person who settled nothing.
    step_in(review=review, access=access(desk, desk.admin))
    review.refresh_from_db()
    settle_point(review=review, point=point, actor=desk.admin, uphold=False, text="It is there.")
    assert GoldPassage.objects.standing().filter(passage=desk.passages[1]).exists()
    with pytest.raises(PermissionDenied):
        step_in(review=review, access=access(desk, desk.reviewer))


@pytest.mark.slow
def test_screens_lead_from_item_to_item_by_buttons() -> None:
    world = make_world()
    cases = [undecided(world) for _ in range(2)]
    client = signed_in(world.reviewer)
    page = client.get(world.url("adjudication/")).content.decode()
    assert page.count("No majority") >= 3
    url = world.url(f"adjudication/majority-{cases[0].public_id}/?kind=majority")
    page = client.get(url).content.decode()
    assert "Voter 5" in page
    for voter in world.voters:
        assert voter.username not in page
    answer = client.post(url, {"label": "1"})
    assert answer.status_code == 422
    assert "Say why you decide so." in answer.content.decode()
    answer = client.post(url, {"label": "1", "reason": "It does."})
    assert answer.url == world.url(f"adjudication/majority-{cases[1].public_id}/?kind=majority")
    assert client.get(world.url(f"adjudication/majority-{cases[0].public_id}/")).status_code == 404
    # A second tab is told, and led on.
    answer = client.post(url, {"label": "0", "reason": "No."})
    assert (answer.status_code, answer.url.endswith(f"{cases[1].public_id}/?kind=majority")) == (
        302,
        True,
    )
    client.post(world.url("adjudication/undo/"))
    cases[0].refresh_from_db()
    assert cases[0].status == CaseStatus.EXPERT


def test_the_api_calls_the_same_verbs() -> None:
    from tests.annotate.test_api import script

    world = make_world()
    case = undecided(world)
    api, base = script(world.admin), f"/api{world.url('adjudication/')}"
    found = api.get(base).json()
    assert found["results"][0]["name"] == f"majority-{case.public_id}"
    assert {each["kind"]: each["count"] for each in found["counts"]}["majority"] == 1
    item = api.get(f"{base}items/majority-{case.public_id}/").json()
    assert len(item["said"]) == 5
    assert not any(voter.username in str(item) for voter in world.voters)
    body = {"label": 0, "reason": ""}
    assert (
        api.post(f"{base}items/majority-{case.public_id}/", body, format="json").status_code == 409
    )
    body["reason"] = "It does not."
    made = api.post(f"{base}items/majority-{case.public_id}/", body, format="json")
    assert (made.status_code, made.json()["decision"]["label"]) == (201, 0)
    (row,) = api.get(f"{base}decisions/").json()["results"]
    assert api.delete(f"{base}decisions/{row['id']}/").status_code == 204
    case.refresh_from_db()
    assert case.status == CaseStatus.EXPERT


def test_a_point_of_shares_is_a_tenth_in_conflicts() -> None:
    desk = make_desk(weights=(5, 2))
    desk.query.aspects.update(scale="shares", weight=40)
    draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=1)
    first, second = desk.aspects
    task = next_task(access(desk, desk.reviewer))
    assert task is not None
    score_task(task=task, actor=desk.reviewer, weights={first.pk: 20, second.pk: 59})
    (item,) = open_items(access(desk, desk.admin))
    assert item.key == str(first.pk)
    client, url = signed_in(desk.admin), desk.url(f"adjudication/{item.name}/")
    page = client.get(url).content.decode()
    assert 'type="number"' in page
    assert client.post(url, {"weight": "30", "reason": "Both."}).status_code == 302
    first.refresh_from_db()
    assert (first.weight, first.scale) == (30, "shares")
