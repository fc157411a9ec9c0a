"""What a release tells of second reviews, and how it is held against itself."""

import json

import pytest

from annotate.models import WeightScore
from annotate.review import points
from annotate.review import services as verbs
from evaluation.content.evidence import pseudonyms
from evaluation.exporters.files import write_sums
from evaluation.verification.folder import verify
from tests.annotate.review.test_reviews import lower
from tests.annotate.reviewing import GOOD, look_at_all, make_desk
from tests.evaluation.conftest import release_into


@pytest.fixture
def reviewed(db, tmp_path):
    """An accepted review: the first weight lowered from 5 to 3, the rest fine."""
    desk = make_desk()
    review = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    verbs.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    point = lower(desk, review)
    look_at_all(review, but=(desk.aspects[0].pk,))
    review = verbs.ask_changes(review=review, actor=desk.reviewer)
    verbs.answer_point(review=review, point=point, actor=desk.author, agree=True)
    review = verbs.send_back(review=review, actor=desk.author)
    verbs.accept_review(review=review, actor=desk.reviewer)
    release_into(desk.benchmark, tmp_path / "r")
    return desk, tmp_path / "r"


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_weight_that_nobody_chose_is_told_as_none(reviewed, tmp_path) -> None:
    desk, _ = reviewed
    WeightScore.objects.filter(aspect=desk.aspects[1]).update(author_weighed=False)
    release_into(desk.benchmark, tmp_path / "later", version="0.2.0")
    [row] = rows(tmp_path / "later/evidence/reviews/biology.jsonl")
    assert [each["author"] for each in row["weights"]] == [5, None]


def test_a_review_is_told_with_pseudonyms_and_without_words(reviewed) -> None:
    desk, folder = reviewed
    name = pseudonyms("garden", "0.1.0")
    [row] = rows(folder / "evidence/reviews/biology.jsonl")
    author, reviewer = name(desk.author.pk), name(desk.reviewer.pk)
    assert (row["query_id"], row["author"], row["reviewer"]) == ("7", author, reviewer)
    assert "third" not in row
    assert [(each["aspect"], each["author"], each["blind"]) for each in row["weights"]] == [
        ("biology-7-a1", 5, 4),
        ("biology-7-a2", 2, 2),
    ]
    assert {"kind": "aspects", "check": "balanced", "status": "fine"} in row["points"]
    lowered = {"kind": "weight", "aspect": "biology-7-a1", "status": "agreed", "from": 5, "to": 3}
    assert lowered in row["points"]
    told = "".join(path.read_text() for path in folder.rglob("*.jsonl"))
    assert "Not the core." not in told
    assert "reviewer" not in {row["reviewer"], row["author"]}


def test_each_label_names_its_review_and_the_card_how_far_weights_agree(reviewed) -> None:
    desk, folder = reviewed
    reviewer = pseudonyms("garden", "0.1.0")(desk.reviewer.pk)
    evidence = rows(folder / "evidence/biology.jsonl")
    assert [row["review"] for row in evidence] == [{"reviewer": reviewer, "status": "fine"}] * 2
    card = (folder / "README.md").read_text().partition("## Second reviews")[2]
    assert "1 query was looked at by a second expert" in card
    assert WeightScore.objects.count() == 2
    # Of 5 and 2 beside 4 and 2 (docs/protocol.md 6.12): 1 - .5 / mean of 4, 1, 9, 0 over all pairs.
    expected = 1 - ((5 - 4) ** 2 + 0) / 2 / (((5 - 4) ** 2 + (5 - 2) ** 2 + (2 - 4) ** 2 + 0) / 4)
    assert f"authors is\n{expected:.3f}" in card


def test_a_review_that_goes_on_is_not_told(db, tmp_path) -> None:
    desk = make_desk()
    review = verbs.start_review(query=desk.query, reviewer=desk.reviewer)
    verbs.score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    points.check_passage(review=review, actor=desk.reviewer, passage=desk.passages[0], checks=GOOD)
    release_into(desk.benchmark, tmp_path / "r")
    assert not (tmp_path / "r/evidence/reviews").exists()
    assert all("review" not in row for row in rows(tmp_path / "r/evidence/biology.jsonl"))
    assert "Second reviews" not in (tmp_path / "r/README.md").read_text()


def test_reviews_are_held_against_the_evidence(reviewed) -> None:
    _, folder = reviewed
    assert verify(folder).differences == []
    path = folder / "evidence/reviews/biology.jsonl"
    [row] = rows(path)
    path.write_text(json.dumps(row | {"reviewer": row["author"]}) + "\n")
    write_sums(folder)
    found = {(each.file, each.why) for each in verify(folder).differences}
    assert found == {
        ("evidence/reviews/biology.jsonl", "one person has two parts in a review"),
        ("evidence/biology.jsonl", "its review is not what the reviews say of it"),
    }
