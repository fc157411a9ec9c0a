"""Two worlds that differ only in the author's weights, or in others' blind scores, look the same
to whoever may still have to score blind. Masked is what differs in every answer (world.masked)."""

import pytest
from django.db import transaction

from annotate.models import Aspect, RescoreTask, Review
from annotate.services import reviews as verbs
from annotate.services.rescoring import draw_sample, score_task
from tests.annotate.reviewing import make_desk
from tests.annotate.world import hx, masked, signed_in
from tests.factories import make_member


class Undone(Exception):
    """Ends one world."""


@pytest.fixture
def desk(db):
    desk = make_desk()
    draw_sample(benchmark=desk.benchmark, actor=desk.admin, size=5, seed=1)
    desk.both = make_member(desk.benchmark, "both", "annotator", "reviewer")
    return desk


def everything(desk, person):
    """Every page, fragment and answer on which weights of the query could stand."""
    client = signed_in(person)
    query = f"queries/{desk.query.pk}/"
    paths = ["", "queries/", query, f"{query}?passage={desk.passages[0].pk}", "reviews/"]
    paths += ["rescoring/", "agreement/", "agreement/weights/", "agreement/sample/"]
    paths += ["agreement/sample/items/", "agreement/sample/labels.csv", "disputes/", "passages/"]
    paths += [f"passages/{desk.passages[0].pk}/", "experiments/", f"{query}collect/"]
    paths += [f"reviews/{each.pk}/" for each in Review.objects.all()]
    seen = {}
    for path in paths:
        for prefix in ("", "/api"):
            for headers in ({}, hx("passages")):
                answer = client.get(f"{prefix}{desk.url(path)}", **headers)
                kept = {
                    name: value
                    for name, value in answer.items()
                    if name not in ("Content-Security-Policy", "Set-Cookie", "Content-Length")
                }
                body = b"".join(answer) if answer.streaming else masked(answer)
                seen[prefix, path, bool(headers)] = (answer.status_code, kept, body)
    for path in (f"{query}aspects/", f"{query}gold-passages/", "rescoring/"):
        answer = client.get(f"/api{desk.url(path)}")
        seen["api", path] = (answer.status_code, answer.content)
    home = client.get("/home/annotate/")
    return seen | {"home": masked(home)}


def seen_after(desk, person, change):
    with pytest.raises(Undone), transaction.atomic():
        change()
        seen = everything(desk, person)
        raise Undone
    return seen


def other_weights(desk):
    def change():
        for aspect, weight in zip(desk.aspects, (1, 4), strict=True):
            row = Aspect.objects.get(pk=aspect.pk)
            row.write(expected=row.version, actor=desk.author, weight=weight, rationale="All.")

    return change


@pytest.mark.parametrize("who", ["reviewer", "third", "both"])
def test_weights_of_others_cannot_be_seen_before_scoring(desk, who):
    person = getattr(desk, who)
    assert seen_after(desk, person, other_weights(desk)) == everything(desk, person)


def test_weights_cannot_be_seen_in_a_review_that_is_blind(desk):
    verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    before = everything(desk, desk.reviewer)
    assert seen_after(desk, desk.reviewer, other_weights(desk)) == before
    assert "How much does each aspect weigh?" in str(before)


def test_the_comparison_can_fail(desk):
    """Whoever has scored sees the weights."""
    review = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    verbs.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    before = everything(desk, desk.reviewer)
    assert seen_after(desk, desk.reviewer, other_weights(desk)) != before


@pytest.mark.parametrize("who", ["third", "both"])
def test_blind_scores_of_others_cannot_be_seen(desk, who):
    """Another's weights, whichever they were, leave nothing that a later scorer could see."""
    person = getattr(desk, who)

    def scored(weights):
        def change():
            task = RescoreTask.objects.get()
            given = dict(zip((each.pk for each in desk.aspects), weights, strict=True))
            score_task(task=task, actor=desk.reviewer, weights=given)

        return change

    assert seen_after(desk, person, scored((1, 1))) == seen_after(desk, person, scored((5, 4)))


def test_review_of_others_cannot_be_opened(desk):
    review = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    verbs.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    for person in (desk.third, desk.both, desk.outsider):
        for prefix in ("", "/api"):
            answer = signed_in(person).get(f"{prefix}{desk.url(f'reviews/{review.pk}/')}")
            assert answer.status_code == 403
    # Its author may, and an admin.
    for person in (desk.author, desk.admin):
        assert signed_in(person).get(desk.url(f"reviews/{review.pk}/")).status_code == 200
