"""Two worlds that differ in whose answer is whose: byte for byte the same to a rater.

As tests/annotate/voting/test_blind_worlds.py, whose worlds are made in transactions rolled back.
"""

import pytest

from annotate.answers import comparing
from annotate.answers.comparing import rate_pair
from annotate.answers.services import choose_answer
from annotate.models import AnswerPair
from tests.annotate.answering import GOOD, OTHER
from tests.annotate.answers.test_comparisons import rate
from tests.annotate.test_api import script
from tests.annotate.voting.test_blind_worlds import answer_of
from tests.annotate.world import signed_in
from tests.markup import one_line
from tests.worlds import in_a_world

pytestmark = pytest.mark.django_db


def look(room, person):
    """All that a rater can open of the answers, and what shows something of the query."""
    client, api = signed_in(person), script(person)
    query = f"queries/{room.query.pk}/"
    pair = AnswerPair.objects.get(query=room.query)
    seen = {}
    for path in (
        query, f"{query}answer/", f"{query}answer/history/", "answers/", "queries/",
        "answers/?state=published", "answers/?state=unpublished", "answers/comparisons/",
        f"answers/comparisons/{pair.comparison_id}/", f"{query}answer/?from=model", "answers/runs/",
    ):  # fmt: skip
        seen[path] = answer_of(client.get(room.url(path)))
    for path in (
        f"{query}answers/", "answer-comparisons/", "queries/", "judgments/",
        f"answer-comparisons/{pair.comparison_id}/report/",
    ):  # fmt: skip
        seen["api", path] = answer_of(api.get(f"/api{room.url(path)}"))
    seen["home"] = answer_of(client.get("/home/annotate/"))
    seen["benchmark"] = answer_of(client.get(room.url("")))
    for answer in (pair.human_id, pair.model_id):
        for verb in ("choose", "review", "restore"):
            path = room.url(f"{query}answer/{answer}/{verb}/")
            seen["post", verb, answer] = answer_of(client.post(path))
    return seen


def rating(room, person):
    """The pair as this person rates it."""
    pair = AnswerPair.objects.get(query=room.query)
    shown = script(person).get(f"/api{room.url(f'answer-pairs/{pair.pk}/')}").json()
    page = signed_in(person).get(room.url("answers/rate/"))
    return {shown["first"], shown["second"]}, answer_of(page)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["both", "reviewer"])
def test_outside_of_the_rating_nothing_tells_whose_answer_is_whose(room, role) -> None:
    person = getattr(room, role)

    def world(human, model, chosen) -> dict:
        comparing.draw_comparison(access=room.access(room.admin), size=2)
        written, made = room.write(human), room.generate(model)
        if chosen == "model":
            choose_answer(answer=made, actor=room.admin)
        else:
            choose_answer(answer=written, actor=room.admin)
        return look(room, person)

    one = in_a_world(lambda: world(GOOD, OTHER, "person"))
    other = in_a_world(lambda: world(OTHER, GOOD, "person"))
    published = in_a_world(lambda: world(GOOD, OTHER, "model"))
    assert one.keys() == other.keys()
    for key in one:
        if key == "benchmark":
            continue
        assert one[key] == other[key], key
        assert one[key] == published[key], key


@pytest.mark.slow
def test_the_comparison_can_fail_and_does_for_who_may_see(room) -> None:
    def world(human, model):
        comparing.draw_comparison(access=room.access(room.admin))
        room.write(human)
        room.generate(model)
        return look(room, room.admin)

    assert in_a_world(lambda: world(GOOD, OTHER)) != in_a_world(lambda: world(OTHER, GOOD))


def test_a_rater_sees_both_texts_and_in_both_worlds_the_same_two(room) -> None:
    def world(human, model):
        comparing.draw_comparison(access=room.access(room.admin))
        room.write(human)
        room.generate(model)
        return rating(room, room.reviewer)

    texts, (status, _, page) = in_a_world(lambda: world(GOOD, OTHER))
    swapped, _ = in_a_world(lambda: world(OTHER, GOOD))
    assert texts == swapped == {GOOD, OTHER}
    assert status == 200
    for word in ("gpt-5", "person’s", "human", room.author.username + "<"):
        assert word not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "others",
    [[((5, 5), (1, 1), "human")], [((1, 1), (5, 5), "model")], []],
)
def test_what_others_gave_is_told_to_no_rater_and_no_admin(room, others) -> None:
    def world(given):
        comparing.draw_comparison(access=room.access(room.admin))
        room.write()
        room.generate()
        pair = AnswerPair.objects.get(query=room.query)
        rate(room, pair, room.second)  # so that the pair counts as rated in every world
        for human, model, preferred in given:
            rate(room, pair, room.both, human=human, model=model, preferred=preferred)
        return rating(room, room.reviewer)[1], look(room, room.reviewer), look(room, room.admin)

    assert in_a_world(lambda: world(others)) == in_a_world(
        lambda: world([((3, 3), (3, 3), "neither")])
    )


def test_a_writer_sees_nothing_of_the_models_answer_before_their_own(room) -> None:
    def world(model):
        comparing.draw_comparison(access=room.access(room.admin))
        made = room.generate(model)
        client, api = signed_in(room.author), script(room.author)
        query = f"queries/{room.query.pk}/"
        seen = [
            answer_of(client.get(room.url(f"{query}answer/{path}")))
            for path in ("", "history/", "?from=model")
        ]
        seen.append(answer_of(api.get(f"/api{room.url(f'{query}answers/')}")))
        for verb in ("choose", "restore"):
            seen.append(answer_of(client.post(room.url(f"{query}answer/{made.pk}/{verb}/"))))
        return seen

    one, other = in_a_world(lambda: world(GOOD)), in_a_world(lambda: world(OTHER))
    assert one == other
    assert [status for status, _, _ in one[-2:]] == [404, 404]


def test_a_rating_in_words_of_places_is_all_that_its_rater_reads_again(room) -> None:
    comparing.draw_comparison(access=room.access(room.admin))
    room.write()
    room.generate()
    pair = AnswerPair.objects.get(query=room.query)
    points = dict.fromkeys(("first_completeness", "first_quality"), 4)
    points |= dict.fromkeys(("second_completeness", "second_quality"), 2)
    rate_pair(
        pair=pair, access=room.access(room.reviewer), **points,
        preferred="first", note="One is clearer.",
    )  # fmt: skip
    url = room.url(f"answers/rate/?pair={pair.pk}")
    page = one_line(signed_in(room.reviewer).get(url))
    assert 'name="first_quality" value="4" checked' in page
    assert "One is clearer." in page
