"""Blind comparisons: drawn by domain, rated without knowing, reported when closed."""

import pytest
from django.core.exceptions import PermissionDenied
from django.test import override_settings

from annotate.answers import comparing
from annotate.answers.comparing import (
    as_shown,
    human_is_first,
    rate_pair,
    rateable,
    shown_to,
    to_rate,
)
from annotate.answers.report import report
from annotate.answers.rights import answers_are_hidden, model_is_hidden
from annotate.assignments.services import claim_query
from annotate.models import AnswerPair, AnswerRating
from kit.errors import Refused
from kit.models import Event
from tests.annotate.answering import GOOD, OTHER
from tests.factories import make_member


def draw(room, **options):
    return comparing.draw_comparison(access=room.access(room.admin), **options)


def complete(room):
    """A comparison whose pair of `query` has both answers."""
    drawn = draw(room)
    room.write()
    room.generate()
    return drawn, drawn.pairs.get(query=room.query)


def rate(room, pair, person, human=(5, 4), model=(3, 2), preferred="human", **more):
    """Give points by whose answer it is, in the order in which the person sees them."""
    human_first = human_is_first(pair, person)
    given = {"human": human, "model": model}
    order = ("human", "model") if human_first else ("model", "human")
    places = dict(zip(order, ("first", "second"), strict=True))
    points = {
        f"{place}_{what}": value
        for side, place in places.items()
        for what, value in zip(("completeness", "quality"), given[side], strict=True)
    }
    return rate_pair(
        pair=pair,
        access=room.access(person),
        **points,
        preferred=places.get(preferred, "neither"),
        **more,
    )


def test_queries_with_gold_are_drawn_and_filled_as_answers_come(room) -> None:
    drawn = draw(room)
    assert set(drawn.pairs.values_list("query__qid", flat=True)) == {"7", "8"}
    pair = drawn.pairs.get(query=room.query)
    assert (pair.human, pair.model) == (None, None)
    mine, made = room.write(), room.generate()
    pair.refresh_from_db()
    assert (pair.human, pair.model) == (mine, made)
    better = room.write(GOOD + " More [lamps/page_4.txt].", expected=1)
    pair.refresh_from_db()
    assert pair.human == better
    assert Event.objects.filter(verb="draw comparison").count() == 1


def test_an_answer_that_was_there_before_is_compared_too(room) -> None:
    mine = room.write()
    assert draw(room).pairs.get(query=room.query).human == mine


def test_an_answer_begun_from_a_models_is_not_compared(room) -> None:
    room.write(OTHER + " So.", base=room.generate())
    assert list(draw(room).pairs.values_list("query__qid", flat=True)) == ["8"]


def test_what_was_rated_stays_what_is_compared(room) -> None:
    _, pair = complete(room)
    rate(room, pair, room.reviewer)
    before = AnswerPair.objects.get(pk=pair.pk)
    room.write("Changed [lamps/page_1.txt].", expected=1)
    after = AnswerPair.objects.get(pk=pair.pk)
    assert (after.human, after.model) == (before.human, before.model)


def test_only_admins_draw_and_close_and_one_at_a_time(room) -> None:
    with pytest.raises(PermissionDenied):
        comparing.draw_comparison(access=room.access(room.reviewer))
    for wrong in ({"size": 0}, {"seed": -1}, {"seed": 2**31}):
        with pytest.raises(Refused):
            draw(room, **wrong)
    first = draw(room, size=1)
    assert first.pairs.count() == 1
    with pytest.raises(Refused, match="open already"):
        draw(room)
    with pytest.raises(PermissionDenied):
        comparing.close_comparison(comparison=first, access=room.access(room.reviewer))
    comparing.close_comparison(comparison=first, access=room.access(room.admin))
    with pytest.raises(Refused):
        comparing.close_comparison(comparison=first, access=room.access(room.admin))
    again = draw(room, size=1)
    assert list(again.pairs.values_list("query")) == list(first.pairs.values_list("query"))


def test_pairs_go_to_reviewers_of_the_domain_and_never_to_who_wrote(room) -> None:
    _, pair = complete(room)
    both_wrote = make_member(room.benchmark, "wrote", "annotator", "reviewer")
    waiting = {
        person.username: pair in to_rate(room.access(person))
        for person in (room.reviewer, room.second, room.both, room.author, room.admin)
    }
    assert waiting == {
        "reviewer": True, "second": True, "both": True, "author": False, "admin": False,
    }  # fmt: skip
    assert not to_rate(room.access(room.outsider)).exists()
    claim_query(query=room.query, actor=both_wrote)
    assert not to_rate(room.access(both_wrote)).exists()


def test_somebody_who_corrected_the_answer_does_not_rate_it(room) -> None:
    room.write()
    from annotate.answers.services import write_answer

    write_answer(query=room.query, actor=room.both, text=OTHER, expected=1)
    draw(room)
    room.generate()
    assert room.query.answer_pairs.get() not in rateable(room.access(room.both))


def test_points_go_to_whose_answer_was_shown(room) -> None:
    _, pair = complete(room)
    given = rate(room, pair, room.reviewer, preferred="model")
    assert (given.human_completeness, given.human_quality) == (5, 4)
    assert (given.model_completeness, given.model_quality) == (3, 2)
    assert given.preferred == "model"
    shown = as_shown(given)
    place = "second" if given.human_first else "first"
    assert shown["preferred"] == place
    assert shown[f"{place}_quality"] == 2
    texts = shown_to(AnswerPair.objects.get(pk=pair.pk), room.reviewer)
    assert texts[0 if given.human_first else 1] == GOOD


def test_the_order_depends_on_a_secret_on_the_pair_and_on_the_rater(room) -> None:
    _, pair = complete(room)
    people = [make_member(room.benchmark, f"r{n}", "reviewer") for n in range(24)]
    orders = [human_is_first(pair, person) for person in people]
    assert len(set(orders)) == 2
    assert orders == [human_is_first(pair, person) for person in people]
    with override_settings(SEED_KEY="another key of the server " * 3):
        assert orders != [human_is_first(pair, person) for person in people]


def test_a_correction_needs_a_reason_and_supersedes(room) -> None:
    _, pair = complete(room)
    first = rate(room, pair, room.reviewer)
    with pytest.raises(Refused, match="why you change"):
        rate(room, pair, room.reviewer, human=(1, 1))
    second = rate(room, pair, room.reviewer, human=(1, 1), reason="Read again.")
    first.refresh_from_db()
    assert (first.stands, first.superseded_by) == (False, second)
    assert AnswerRating.objects.standing().get() == second
    assert Event.objects.filter(verb="rate answers", scope="lamps#answers").count() == 2


@pytest.mark.parametrize("human", [(0, 3), (6, 3), (3, 0)])
def test_points_off_the_scale_are_refused(room, human) -> None:
    _, pair = complete(room)
    with pytest.raises(Refused):
        rate(room, pair, room.reviewer, human=human)


def test_nothing_is_rated_after_the_end(room) -> None:
    drawn, pair = complete(room)
    comparing.close_comparison(comparison=drawn, access=room.access(room.admin))
    with pytest.raises(Refused, match="does not wait"):
        rate(room, pair, room.reviewer)


def test_answers_are_kept_from_raters_and_the_models_from_the_writer(room) -> None:
    drawn = draw(room)
    room.generate()
    hidden = {
        person.username: answers_are_hidden(room.access(person), room.query)
        for person in (room.reviewer, room.both, room.author, room.admin, room.outsider)
    }
    assert hidden == {
        "reviewer": True, "both": True, "author": False, "admin": False, "outsider": False,
    }  # fmt: skip
    assert model_is_hidden(room.access(room.author), room.query)
    room.write()
    assert not model_is_hidden(room.access(room.author), room.query)
    comparing.close_comparison(comparison=drawn, access=room.access(room.admin))
    assert not answers_are_hidden(room.access(room.reviewer), room.query)


@pytest.mark.slow
def test_the_report_counts_a_query_once_and_says_how_far_raters_agree(room) -> None:
    drawn, pair = complete(room)
    room.write("Leaves fall [leaves/page_9.txt].", query=room.other)
    room.generate("Leaves are shed [leaves/page_9.txt].", room.other)
    other = drawn.pairs.get(query=room.other)
    rate(room, pair, room.reviewer, human=(5, 5), model=(3, 4), preferred="human")
    rate(room, pair, room.second, human=(4, 5), model=(3, 4), preferred="human")
    rate(room, other, room.reviewer, human=(2, 3), model=(4, 4), preferred="model")
    rate(room, other, room.second, human=(3, 3), model=(4, 4), preferred="neither")
    sheets = {each.name: each for each in report(drawn)}
    completeness, quality = sheets["means"].rows
    # (4.5 + 2.5) / 2, (3 + 4) / 2; differences -1.5 and 1.5
    assert [cell.value for cell in completeness[1:4]] == [3.5, 3.5, 0.0]
    assert completeness[1].low is not None
    assert [cell.value for cell in quality[1:4]] == [4.0, 4.0, 0.0]
    assert completeness[6].value == 2
    assert completeness[6].url == room.url(f"answers/comparisons/{drawn.pk}/ratings/")
    assert [row[1].value for row in sheets["preferences"].rows] == [2, 1, 1]
    agreement = {(row[0].value, row[1].value): row for row in sheets["agreement"].rows}
    kappa = agreement["Overall quality", "reviewer and second, quadratic κ"]
    assert (kappa[2].value, kappa[3].value) == (1.0, 4)
    # Completeness: 5-4, 3-3, 2-3, 4-4: 1 - mean squared distance over that expected.
    assert agreement["Completeness", "reviewer and second, quadratic κ"][2].value == pytest.approx(
        0.666667, abs=1e-6
    )
    assert sheets["domains"].rows[0][0].value == "biology"
    assert sheets["order"].rows[0][2].value == 3


def test_a_report_without_ratings_says_so(room) -> None:
    drawn, _ = complete(room)
    assert all(not each.rows and each.empty for each in report(drawn))
