"""Answers that experts score blind: who is asked, what they see, what is kept."""

import re

import pytest
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from annotate.answers.comparing import draw_comparison
from annotate.answers.services import choose_answer
from annotate.grading import services as verbs
from annotate.grading.services import grade_answer, next_answer, open_sample, to_grade
from annotate.home import waiting_work
from annotate.models import AnswerGrade, Aspect, GradedAnswer
from annotate.workspace.aspects import add_aspect, save_aspect
from kit.errors import Refused
from kit.models import Event
from tests.annotate.answering import GOOD, Room
from tests.annotate.test_api import script
from tests.annotate.voting.test_blind_worlds import answer_of
from tests.annotate.world import signed_in
from tests.worlds import in_a_world

NOW = timezone.now()
FULL = {"a1": 1.0, "a2": 0.5, "a3": 0.0}


def draw(room: Room, *texts: str, people: int = 2, **options):
    answers = [
        GradedAnswer(query=room.query, origin=f"agent:{n}:1", text=text)
        for n, text in enumerate(texts, 1)
    ]
    return open_sample(access=room.access(room.admin), answers=answers, people=people, **options)


def grade(room: Room, person, answer: GradedAnswer, scores=None, quality: int = 4, **more):
    more.setdefault("shown", verbs.shown_of(answer, verbs.aspects_of(answer)))
    return grade_answer(
        answer=answer, access=room.access(person), scores=scores or FULL, quality=quality, **more
    )


def marks(page: str) -> str:
    (found,) = re.findall(r'name="shown" value="([^"]+)"', page)
    return found


def edit(room: Room, number: int, **fields) -> None:
    aspect = Aspect.objects.get(query=room.query, k=number)
    now = {name: getattr(aspect, name) for name in ("content", "rationale", "weight")}
    save_aspect(aspect=aspect, actor=room.author, expected=aspect.version, **(now | fields))


def test_annotators_of_the_domain_are_asked_and_nobody_else(room) -> None:
    draw(room, GOOD)
    asked = {
        name: to_grade(room.access(getattr(room, name))).count()
        for name in ("author", "colleague", "both", "reviewer", "admin", "outsider")
    }
    assert asked == {
        "author": 1, "colleague": 1, "both": 1, "reviewer": 0, "admin": 0, "outsider": 0
    }  # fmt: skip
    (work,) = [w for w in waiting_work(room.author) if w.key == "K"]
    assert (work.name, work.left) == ("Answers to score blind", 1)
    answer = GradedAnswer.objects.get()
    for name in ("reviewer", "admin", "outsider"):
        with pytest.raises(Refused, match="does not wait for you"):
            grade(room, getattr(room, name), answer)
    with pytest.raises(PermissionDenied):
        open_sample(access=room.access(room.author), answers=[])


def test_an_answer_waits_until_enough_people_scored_it(room) -> None:
    draw(room, GOOD, people=2)
    answer = GradedAnswer.objects.get()
    given = grade(room, room.author, answer, note=" Thin. ")
    assert (given.scores, given.quality, given.note) == (FULL, 4, "Thin.")
    assert given.weights == {"a1": 5, "a2": 3, "a3": 2}
    assert next_answer(room.access(room.author)) is None
    grade(room, room.colleague, answer)
    assert next_answer(room.access(room.both)) is None
    grade(room, room.both, answer)  # it was open already: what is typed is not lost
    assert AnswerGrade.objects.standing().count() == 3
    assert Event.objects.filter(verb="score answer", scope="lamps#answers").count() == 3


def test_a_correction_needs_a_reason_and_keeps_what_was_said(room) -> None:
    sample = draw(room, GOOD)
    answer = GradedAnswer.objects.get()
    first = grade(room, room.author, answer)
    with pytest.raises(Refused, match="Say why"):
        grade(room, room.author, answer, quality=2)
    second = grade(room, room.author, answer, quality=2, reason="I misread it.")
    first.refresh_from_db()
    assert (first.stands, first.superseded_by, second.stands) == (False, second, True)
    verbs.close_sample(sample=sample, access=room.access(room.admin))
    with pytest.raises(Refused, match="does not wait"):
        grade(room, room.author, answer, quality=1, reason="Again.")
    with pytest.raises(Refused, match="closed already"):
        verbs.close_sample(sample=sample, access=room.access(room.admin))


@pytest.mark.parametrize(
    ("scores", "quality", "words"),
    [
        ({"a1": 1.0, "a2": 1.0}, 3, "Score a3"),
        ({**FULL, "a2": 0.7}, 3, "Score a2"),
        ({**FULL, "a9": 1.0}, 3, "No aspect is called a9"),
        (FULL, 0, "1 to 5 points"),
        (FULL, 6, "1 to 5 points"),
    ],
)
def test_what_is_off_the_scale_or_missing_is_refused(room, scores, quality, words) -> None:
    draw(room, GOOD)
    with pytest.raises(Refused, match=words):
        grade(room, room.author, GradedAnswer.objects.get(), scores, quality)
    assert not AnswerGrade.objects.exists()


def test_one_text_of_a_query_is_drawn_once_and_empty_ones_never(room) -> None:
    draw(room, GOOD, f" {GOOD}\n", "", "Another.")
    assert set(GradedAnswer.objects.values_list("origin", flat=True)) == {"agent:1:1", "agent:4:1"}
    with pytest.raises(Refused, match="no answer"):
        draw(room, " ")
    for name, value in (("size", 0), ("seed", -1), ("people", 11)):
        with pytest.raises(Refused) as refusal:
            draw(room, GOOD, **{name: value})
        assert refusal.value.field == name


def test_the_seed_draws_the_same_and_the_server_key_orders_it(room, settings) -> None:
    texts = [f"Answer {n}." for n in range(12)]

    def drawn(key: str, seed: int) -> tuple[set[str], list[str]]:
        settings.SEED_KEY = key
        sample = draw(room, *texts, size=8, seed=seed)
        rows = list(sample.answers.values_list("origin", flat=True))
        found = next_answer(room.access(room.author))
        assert found is not None
        return set(rows), [*rows, found.origin]

    one, other = (in_a_world(lambda key=key: drawn(key, 3)) for key in ("one key", "another"))
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert in_a_world(lambda: drawn("one key", 4))[0] != one[0]


def test_who_still_has_to_write_the_reference_is_not_shown_it(room) -> None:
    draw(room, GOOD)
    draw_comparison(access=room.access(room.admin), size=2)
    assert to_grade(room.access(room.author)).count() == 0
    room.write()  # the answer by a person that the comparison waited for
    assert to_grade(room.access(room.author)).count() == 1
    assert to_grade(room.access(room.both)).count() == 0  # who may rate it in the comparison


@pytest.mark.slow
def test_the_screen_scores_corrects_and_goes_on(room) -> None:
    choose_answer(answer=room.write(), actor=room.admin)
    draw(room, "First text.", "Second text.")
    client, url = signed_in(room.author), room.url("answers/grade/")
    page = client.get(url).content.decode()
    assert "<b>1 of 2</b>" in page
    assert GOOD[:40] in page  # the reference, as the judge has it
    shown = next_answer(room.access(room.author))
    assert shown is not None
    assert shown.text in page
    sent = {"answer": shown.pk, "a1": "1", "a2": "0.5", "quality": "4", "note": "So."}
    sent["shown"] = marks(page)
    refused = client.post(url, sent)
    assert refused.status_code == 422
    assert "Score a3 with 0, .5 or 1." in refused.content.decode()
    assert client.post(url, sent | {"a3": "0"}).headers["Location"] == url
    assert AnswerGrade.objects.get().scores == FULL
    assert "<b>2 of 2</b>" in client.get(url).content.decode()
    again = client.get(f"{url}?answer={shown.pk}").content.decode()
    assert "Why you change your scores" in again
    client.post(url, sent | {"a3": "1", "reason": "It is there."})
    assert AnswerGrade.objects.standing().get().scores["a3"] == 1
    # An aspect that came meanwhile is asked for; what was chosen stays chosen.
    add_aspect(query=room.query, actor=room.author, content="One more.", weight=1)
    second = next_answer(room.access(room.author))
    assert second is not None
    page = client.get(f"{url}?answer={second.pk}").content.decode()
    late = client.post(url, sent | {"answer": second.pk, "a3": "0", "shown": marks(page)})
    assert late.status_code == 422
    assert "Score a4" in late.content.decode()


@pytest.mark.few
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda room: edit(room, 2, content="Something else."), "a2"),
        (lambda room: edit(room, 3, weight=4), "a3"),
        (lambda room: Aspect.objects.filter(query=room.query, k=1).update(removed_at=NOW), "a1"),
        (lambda room: (edit(room, 1, content="B."), edit(room, 2, content="C.")), "a1, a2"),
    ],
)
def test_scores_count_for_the_words_that_were_shown_and_no_others(room, change, named) -> None:
    draw(room, GOOD)
    answer = GradedAnswer.objects.get()
    client, url = signed_in(room.author), room.url("answers/grade/")
    sent = {"answer": answer.pk, "a1": "1", "a2": "0.5", "a3": "0", "quality": "4", "note": "So."}
    sent["shown"] = marks(client.get(url).content.decode())
    path = f"/api{room.url(f'answers-to-grade/{answer.pk}/')}"
    body = {"scores": FULL, "quality": 4, "shown": script(room.author).get(path).json()["shown"]}
    assert body["shown"] == sent["shown"]
    change(room)
    said = f"Changed meanwhile: {named}. Look at the aspects again, then score."
    # One fault does not hide the other, for the form comes back with the new words.
    for more in ({}, {"quality": ""}):
        refused = client.post(url, sent | more)
        page = refused.content.decode()
        assert (refused.status_code, said in page) == (422, True)
        assert page.count("changed meanwhile") == (0 if named == "a1" else len(named.split()))
    # What was chosen and written is still there.
    assert re.search(r'name="a2"\s+value="0.5"\s+data-digit="5"\s+checked', page)
    assert ">So.</textarea>" in page
    api = script(room.author)
    refused = api.post(path, body, content_type="application/json")
    assert (refused.status_code, refused.json()["field"]) == (409, "shown")
    assert said in refused.json()["detail"]
    assert not AnswerGrade.objects.exists()
    assert client.post(url, sent | {"shown": marks(page)}).status_code == 302
    present = {f"a{each.k}" for each in verbs.aspects_of(answer)}
    assert set(AnswerGrade.objects.get().scores) == present


def test_reasons_and_order_of_aspects_change_nothing_that_was_shown(room) -> None:
    draw(room, GOOD)
    answer = GradedAnswer.objects.get()
    shown = verbs.shown_of(answer, verbs.aspects_of(answer))
    edit(room, 2, rationale="Because.")
    Aspect.objects.filter(query=room.query, k=1).update(position=9)
    assert grade(room, room.author, answer, shown=shown).scores == FULL


def test_the_api_scores_as_the_screen_does(room) -> None:
    draw(room, GOOD)
    api, base = script(room.author), f"/api{room.url('answers-to-grade/')}"
    shown = api.get(f"{base}next/").json()
    assert [each["id"] for each in shown["aspects"]] == ["a1", "a2", "a3"]
    assert (shown["text"], shown["given"], shown["reference"]) == (GOOD, None, "")
    path = f"{base}{shown['answer']}/"
    body = {"scores": FULL, "quality": 5, "shown": shown["shown"]}
    assert api.post(path, body, content_type="application/json").status_code == 204
    assert api.get(f"{base}next/").json()["answer"] is None
    assert api.get(path).json()["given"] == {"scores": FULL, "quality": 5, "note": ""}
    again = api.post(path, body, content_type="application/json")
    assert (again.status_code, again.json()["field"]) == (409, "reason")
    stranger = script(room.outsider)
    assert stranger.get(f"{base}next/").status_code == 403
    assert script(room.admin).get(path).status_code == 403


def test_whose_the_answer_is_and_what_others_gave_is_shown_to_nobody_who_scores(room) -> None:
    """Two worlds: another run, another seed, and another person's scores; the same page."""

    def world(first: int, seed: int, theirs: dict[str, float], quality: int):
        answers = [
            GradedAnswer(query=room.query, origin=f"agent:{first + n}:{n}", text=text)
            for n, text in enumerate(("One text.", "Another text."), 1)
        ]
        access = room.access(room.admin)
        sample = open_sample(access=access, answers=answers, people=2, seed=seed)
        other = sample.answers.order_by("text").first()
        assert other is not None
        grade(room, room.colleague, other, theirs, quality, note=f"I give {quality}.")
        # The keyed order follows the numbers of rows: each world asks for both by name.
        client, api = signed_in(room.author), script(room.author)
        seen = {}
        for each in sample.answers.order_by("text"):
            page = client.get(room.url(f"answers/grade/?answer={each.pk}"))
            row = api.get(f"/api{room.url(f'answers-to-grade/{each.pk}/')}").json()
            seen[each.text] = (answer_of(page)[2].replace(str(each.pk), "N"), row | {"answer": 0})
        seen["home"] = answer_of(client.get("/home/annotate/"))
        return seen

    one = in_a_world(lambda: world(100, 1, FULL, 1))
    two = in_a_world(lambda: world(700, 1, {"a1": 0.0, "a2": 0.0, "a3": 1.0}, 5))
    assert one == two
    assert "agent:" not in str(one)
    assert "colleague" not in str(one)


def test_a_query_without_aspects_is_left_alone(room) -> None:
    draw(room, GOOD)
    Aspect.objects.filter(query=room.query).update(removed_at=timezone.now())
    assert not to_grade(room.access(room.author)).exists()
