"""Two worlds that differ only in the author's weights look the same to a reviewer who has begun
and not scored. Who has not begun, and others' blind scores: tests/test_blind_walk.py. Masked is
what differs in every answer (world.masked)."""

import pytest

from annotate.models import Aspect, Review
from annotate.review import services as verbs
from annotate.review.rescoring import draw_sample
from tests.annotate.world import hx, masked, signed_in
from tests.factories import make_member
from tests.walking import HEADERS_APART
from tests.worlds import in_a_world


@pytest.fixture
def desk(desk):
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
        for prefix, headers in (("", {}), ("", hx("passages")), ("/api", {})):
            answer = client.get(f"{prefix}{desk.url(path)}", **headers)
            kept = {name: value for name, value in answer.items() if name not in HEADERS_APART}
            body = b"".join(answer) if answer.streaming else masked(answer)
            seen[prefix, path, bool(headers)] = (answer.status_code, kept, body)
    for path in (f"{query}aspects/", f"{query}gold-passages/", "rescoring/"):
        answer = client.get(f"/api{desk.url(path)}")
        seen["api", path] = (answer.status_code, answer.content)
    home = client.get("/home/annotate/")
    return seen | {"home": masked(home)}


def under_other_weights(desk, person):
    def look():
        for aspect, weight in zip(desk.aspects, (1, 4), strict=True):
            row = Aspect.objects.get(pk=aspect.pk)
            row.write(expected=row.version, actor=desk.author, weight=weight, rationale="All.")
        return everything(desk, person)

    return in_a_world(look)


@pytest.mark.slow
def test_weights_cannot_be_seen_in_a_review_that_is_blind(desk):
    verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    before = everything(desk, desk.reviewer)
    assert under_other_weights(desk, desk.reviewer) == before
    assert "How much does each aspect weigh?" in str(before)


@pytest.mark.slow
def test_the_comparison_can_fail(desk):
    """Whoever has scored sees the weights."""
    review = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    verbs.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    before = everything(desk, desk.reviewer)
    assert under_other_weights(desk, desk.reviewer) != before


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
