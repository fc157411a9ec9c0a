"""Agreement of blind scores with the authors' weights, with the worked numbers of the protocol."""

import csv
import io

import pytest

from annotate.models import Aspect, RescoreTask, WeightScore
from annotate.review import points
from annotate.review import services as reviews
from annotate.review.rescoring import draw_sample, score_task
from annotate.workspace.gold import assign_passage
from kit.errors import Refused
from tests.annotate.reviewing import make_desk
from tests.annotate.world import signed_in
from tests.factories import make_passage, make_query
from tests.markup import one_line

# docs/protocol.md 6.12: unweighted .375, linear .583333, quadratic .75.
A, B = (5, 4, 3, 2, 1, 5, 3, 4, 2, 1), (5, 3, 3, 2, 2, 4, 3, 5, 2, 3)


@pytest.fixture
def desk(db):
    return make_desk()


def score_pairs(desk, pairs, domain="biology"):
    """One query whose aspects have these weights of author and blind scorer."""
    query = make_query(desk.benchmark, f"{domain}-10", domain)
    aspects = [
        Aspect.objects.create(
            query=query, k=n, position=n, content=f"c{n}", weight=a, created_by=desk.author
        )
        for n, (a, _) in enumerate(pairs, 1)
    ]
    draw_sample(benchmark=desk.benchmark, actor=desk.admin)
    task = RescoreTask.objects.filter(query=query).latest("pk")
    weights = {each.pk: b for each, (_, b) in zip(aspects, pairs, strict=True)}
    score_task(task=task, actor=desk.third, weights=weights)


def table(desk, what, name):
    answer = signed_in(desk.admin).get(desk.url(f"agreement/{what}/{name}.csv"))
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_a_weight_that_nobody_chose_is_no_label(desk):
    """A new aspect begins in the middle of the scale; that is not its author's opinion."""
    Aspect.objects.filter(pk=desk.aspects[1].pk).update(weighed=False)
    review = reviews.start_review(query=desk.query, reviewer=desk.reviewer)
    reviews.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    labels = table(desk, "weights", "labels")
    assert [(row["rater"], row["label"]) for row in labels] == [
        ("author", "5"),
        ("blind scorer", "4"),
    ]
    page = one_line(signed_in(desk.admin).get(desk.url("agreement/weights/")))
    assert "1 scores are left out: nobody had chosen" in page
    # And no sample asks anybody to score such a query.
    with pytest.raises(Refused, match="No query has aspects with weights"):
        draw_sample(benchmark=desk.benchmark, actor=desk.admin)


def test_worked_numbers_of_the_protocol(desk):
    score_pairs(desk, list(zip(A, B, strict=True)))
    rows = {row["Coefficient"]: row for row in table(desk, "sample", "coefficients")}
    for name, value in {
        "Cohen’s κ": 0.375,
        "Cohen’s κ, linear": 0.583333,
        "Cohen’s κ, quadratic": 0.75,
    }.items():
        assert float(rows[name]["Value"]) == pytest.approx(value, abs=5e-7)
    page = one_line(signed_in(desk.admin).get(desk.url("agreement/sample/")))
    assert "0.750" in page
    assert "third" in {row["Scorer"] for row in table(desk, "sample", "people")}
    assert table(desk, "weights", "coefficients") == []


def test_full_scale_counts_and_domains_stand_apart(desk):
    score_pairs(desk, [(1, 1), (1, 1), (5, 5), (5, 4)])
    score_pairs(desk, [(2, 2), (3, 3)], domain="weather")
    rows = {row["Domain"]: row for row in table(desk, "sample", "domains")}
    assert float(rows["biology"]["Cohen’s κ, linear"]) == pytest.approx(0.875)
    assert float(rows["biology"]["Cohen’s κ, quadratic"]) == pytest.approx(0.965517, abs=5e-7)
    assert float(rows["weather"]["Cohen’s κ"]) == 1.0


def test_items_behind_lead_to_the_aspect(desk):
    score_pairs(desk, [(1, 1), (1, 2), (5, 5)])
    page = signed_in(desk.admin).get(desk.url("agreement/sample/items/"), {"show": "split"})
    shown = one_line(page)
    assert "biology-biology-10-a2" in shown
    assert "author: <b>1</b> · blind scorer: <b>2</b>" in shown


def test_three_point_scales_are_not_mixed_with_five(desk):
    score_pairs(desk, [(1, 1), (3, 2), (5, 5)])
    WeightScore.objects.filter(author_weight=1).update(scale="likert3")
    page = one_line(signed_in(desk.admin).get(desk.url("agreement/sample/")))
    assert "1 scores on another scale are left out" in page


def test_weights_are_for_admins_only(desk):
    score_pairs(desk, [(1, 1), (3, 2)])
    for path in ("agreement/sample/", "agreement/weights/", "agreement/sample/items/"):
        assert signed_in(desk.reviewer).get(desk.url(path)).status_code == 403
        assert signed_in(desk.admin).get(desk.url(path)).status_code == 200
    api = signed_in(desk.reviewer).get(f"/api{desk.url('agreement/sample/')}")
    assert api.status_code == 403


def test_reviews_and_verdicts(desk):
    review = reviews.start_review(query=desk.query, reviewer=desk.reviewer)
    reviews.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    rows = {row["Coefficient"]: row for row in table(desk, "weights", "coefficients")}
    assert float(rows["Percent agreement"]["Value"]) == 0.5
    assert table(desk, "verdicts", "coefficients") == []
    good = dict.fromkeys(("explicit", "credible", "relevant"), True)
    for key in ("comprehensive", "balanced", "sound", "granularity"):
        points.check_aspects(review=review, actor=desk.reviewer, key=key, fine=True)
    for aspect in desk.aspects:
        points.check_weight(review=review, actor=desk.reviewer, aspect=aspect, weight=aspect.weight)
    for passage in desk.passages:
        points.check_passage(review=review, actor=desk.reviewer, passage=passage, checks=good)
    reviews.accept_review(review=review, actor=desk.reviewer)
    rows = {row["Coefficient"]: row for row in table(desk, "verdicts", "coefficients")}
    assert float(rows["Percent agreement"]["Value"]) == 1.0
    assert rows["Cohen’s κ"]["Value"].startswith("Every label is 1.")


def test_verdicts_have_a_kappa_once_authors_answered(desk):
    """Four passages: two kept, one removal agreed to, one objected to and then kept."""
    for n in (3, 4):
        passage = make_passage(desk.benchmark, f"page/{n}", "biology")
        assign_passage(query=desk.query, passage=passage, aspect=desk.aspects[0], actor=desk.author)
        desk.passages.append(passage)
    review = reviews.start_review(query=desk.query, reviewer=desk.reviewer)
    reviews.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    mine = {"review": review, "actor": desk.reviewer}
    for key in ("comprehensive", "balanced", "sound", "granularity"):
        points.check_aspects(**mine, key=key, fine=True)
    for aspect in desk.aspects:
        points.check_weight(**mine, aspect=aspect, weight=aspect.weight)
    good = dict.fromkeys(("explicit", "credible", "relevant"), True)
    found = [
        points.check_passage(
            **mine, passage=each, checks=good | ({} if n in (0, 1) else {"explicit": False}),
            reason="topic_only", note="Only the topic.",
        )
        for n, each in enumerate(desk.passages)
    ]  # fmt: skip
    reviews.ask_changes(**mine)
    for point, agree in ((found[2], True), (found[3], False)):
        reviews.answer_point(
            review=review, point=point, actor=desk.author, agree=agree, text="It is there."
        )
    reviews.send_back(review=review, actor=desk.author)
    reviews.yield_point(**mine, point=found[3])
    reviews.accept_review(**mine)
    rows = {row["Coefficient"]: row for row in table(desk, "answered", "coefficients")}
    # author 1 1 0 1, reviewer 1 1 0 0: observed .75, by chance .5.
    assert float(rows["Cohen’s κ"]["Value"]) == pytest.approx(0.5)
    rows = {row["Domain"]: row for row in table(desk, "answered", "domains")}
    assert float(rows["biology"]["Cohen’s κ"]) == pytest.approx(0.5)
    rows = {row["Coefficient"]: row for row in table(desk, "verdicts", "coefficients")}
    assert rows["Cohen’s κ"]["Value"].startswith("Rater 'author' gave 1")
