"""The screens of reference answers over HTTP: editor, history, rating, report."""

import pytest

from annotate.answers import comparing
from annotate.drafts.services import keep_draft
from annotate.models import AnswerRating, ReferenceAnswer
from tests.annotate.answering import GOOD, OTHER
from tests.annotate.answers.test_comparisons import complete, rate
from tests.annotate.test_api import script
from tests.annotate.world import hx, signed_in
from tests.markup import one_line


def page(room, person, path="", **headers):
    return signed_in(person).get(room.url(f"queries/{room.query.pk}/answer/{path}"), **headers)


def send(room, person, path="", **body):
    return signed_in(person).post(room.url(f"queries/{room.query.pk}/answer/{path}"), body)


def test_the_editor_shows_every_gold_passage_with_a_key_to_cite_it(room) -> None:
    shown = one_line(page(room, room.author))
    for number, pid in enumerate(sorted(room.passages), start=1):
        assert f'data-cite="{pid}" data-cite-number="{number}"' in shown
        assert room.passages[pid].text in shown
    assert "leaves/page_9.txt" not in shown
    assert 'data-draft="answer"' in shown
    assert "0 of 3 aspects cited" in shown


def test_submitting_keeps_a_version_settles_the_draft_and_publishes(room) -> None:
    place = room.url(f"queries/{room.query.pk}/answer/")
    keep_draft(person=room.author, place=place, name="answer", text="typed")
    answer = send(room, room.author, text=GOOD, version="0", _drafts="answer")
    assert answer.status_code == 302
    assert room.author.__class__.objects.get(pk=room.author.pk).pk
    from annotate.models import Draft

    assert not Draft.objects.exists()
    shown = one_line(page(room, room.author))
    assert "published" in shown
    assert "3 of 3 aspects cited" in shown


def test_a_stale_submission_shows_both_and_loses_nothing(room) -> None:
    room.write()
    answer = send(room, room.colleague, text="My own words.", version="0", reason="r")
    assert answer.status_code == 409
    shown = one_line(answer)
    assert "My own words." in shown
    assert "Insects roll their backs" in shown
    assert 'name="version" value="1"' in shown
    again = send(room, room.colleague, text="My own words.", version="1")
    assert again.status_code == 302
    assert ReferenceAnswer.objects.standing().get().text == "My own words."


def test_what_is_wrong_is_said_and_what_was_typed_stays(room) -> None:
    answer = send(room, room.author, text="  ", version="0")
    assert answer.status_code == 422
    assert "Write an answer first." in one_line(answer)
    answer = send(room, room.author, text="Typed words.", version="x")
    assert answer.status_code == 422
    assert "Typed words." in one_line(answer)


def test_the_live_checks_name_places(room) -> None:
    url = room.url(f"queries/{room.query.pk}/answer/check/")
    text = "Good [lamps/page_1.txt]. Bad [leaves/page_9.txt]."
    shown = signed_in(room.author).post(url, {"text": text}, **hx("answer-checks"))
    body = one_line(shown)
    assert body.lstrip().startswith("<section")
    assert "Sentence 2 cites [leaves/page_9.txt]: this passage is no gold" in body
    assert "1 of 3 aspects cited" in body
    given = script(room.author).post(
        f"/api{room.url(f'queries/{room.query.pk}/answers/check/')}",
        {"text": text},
        content_type="application/json",
    )
    data = given.json()
    assert data["coverage"] == {"a1": 1, "a2": 0, "a3": 0}
    assert [each["cited"] for each in data["findings"] if each["is_error"]] == ["leaves/page_9.txt"]


def test_a_query_without_gold_says_what_to_do_next(room) -> None:
    from tests.factories import make_query

    bare = make_query(room.benchmark, "bare", "biology")
    shown = one_line(signed_in(room.author).get(room.url(f"queries/{bare.pk}/answer/")))
    assert "Write them first" in shown
    assert "answer-form" not in shown


def test_beginning_with_the_models_answer_is_said_and_kept(room) -> None:
    made = room.generate()
    shown = one_line(page(room, room.author, "?from=model"))
    assert f'name="base" value="{made.pk}"' in shown
    assert "counts as corrected" in shown
    send(room, room.author, text=OTHER + " So.", version="0", base=str(made.pk))
    assert ReferenceAnswer.objects.by_people().get().begun_from == "model"


def test_history_shows_what_changed_and_restores(room) -> None:
    first = room.write()
    room.write(GOOD.replace("Warm", "Hot"), expected=1, reason="A better word.")
    shown = one_line(page(room, room.author, "history/"))
    assert "<del>Warm</del>" in shown
    assert "<ins>Hot</ins>" in shown
    assert "A better word." in shown
    assert send(room, room.author, f"{first.pk}/restore/", version="2").status_code == 302
    assert ReferenceAnswer.objects.standing().get().text == GOOD
    send(room, room.author, f"{first.pk}/restore/", version="2")
    assert ReferenceAnswer.objects.count() == 3


def test_reviewers_give_their_word_and_authors_read_it(room) -> None:
    written = room.write()
    send(room, room.reviewer, f"{written.pk}/review/", verdict="changes", note="Say more of air.")
    assert "Say more of air." in one_line(page(room, room.author))
    refused = send(room, room.author, f"{written.pk}/review/", verdict="fine")
    assert refused.status_code == 403


def test_versions_of_another_query_do_not_exist_here(room) -> None:
    other = room.write("So [leaves/page_9.txt].", query=room.other)
    for verb in ("restore", "choose", "review"):
        assert send(room, room.author, f"{other.pk}/{verb}/").status_code == 404


def test_rating_by_the_form_goes_on_to_the_next_and_can_be_corrected(room) -> None:
    _, pair = complete(room)
    client, url = signed_in(room.reviewer), room.url("answers/rate/")
    shown = one_line(client.get(url))
    assert shown.count('class="read verbatim"') >= 2
    assert "gpt-5" not in shown
    assert "author" not in shown.split("<main")[1].split("</main>")[0]
    points = {
        "pair": pair.pk, "first_completeness": 5, "first_quality": 4,
        "second_completeness": 2, "second_quality": 1, "preferred": "first",
    }  # fmt: skip
    missing = client.post(url, {"pair": pair.pk, "first_quality": 4, "note": "Half done."})
    assert missing.status_code == 422
    assert "Half done." in one_line(missing)
    assert "1 to 5 points for completeness" in one_line(missing)
    assert client.post(url, points).status_code == 302
    assert "No pair of answers waits" in one_line(client.get(url))
    before = one_line(client.get(f"{url}?pair={pair.pk}"))
    assert 'name="first_completeness" value="5" checked' in before
    assert client.post(url, points).status_code == 422
    assert client.post(url, points | {"reason": "Again."}).status_code == 302
    assert AnswerRating.objects.count() == 2


@pytest.mark.slow
def test_the_report_comes_with_the_end_and_not_before(room) -> None:
    drawn, pair = complete(room)
    rate(room, pair, room.reviewer)
    admin, url = signed_in(room.admin), room.url(f"answers/comparisons/{drawn.pk}/")
    shown = one_line(admin.get(url))
    assert "Points from 1 to 5" not in shown
    for path in ("ratings/", "means.csv", "ratings.csv"):
        assert admin.get(url + path).status_code == 403
    api = f"/api{room.url(f'answer-comparisons/{drawn.pk}/')}"
    assert script(room.admin).get(f"{api}report/").status_code == 403
    assert script(room.admin).get(f"{api}ratings/").status_code == 403
    assert admin.post(url + "close/").status_code == 302
    shown = one_line(admin.get(url))
    assert "Points from 1 to 5" in shown
    lines = b"".join(admin.get(url + "ratings.csv")).decode().splitlines()
    assert lines[0].startswith("domain,query,rater,human_completeness")
    assert lines[1].startswith("biology,7,reviewer,5,4,3,2,human,")
    assert admin.get(url + "ratings/").status_code == 200
    assert script(room.admin).get(f"{api}report/").json()[0]["name"] == "means"


def test_the_list_filters_by_what_is_there(room) -> None:
    room.write()
    room.generate("Leaves [leaves/page_9.txt].", room.other)
    client = signed_in(room.admin)

    def listed(state):
        shown = one_line(client.get(room.url(f"answers/?state={state}"), **hx("results")))
        return {q.qid for q in (room.query, room.other) if f"queries/{q.pk}/answer/" in shown}

    assert listed("person") == listed("published") == {"7"}
    assert listed("model") == listed("unpublished") == {"8"}
    assert listed("none") == set()


def test_the_api_writes_chooses_restores_and_answers_conflicts(room) -> None:
    api, url = script(room.author), f"/api{room.url(f'queries/{room.query.pk}/answers/')}"
    first = api.post(url, {"text": GOOD, "version": 0}, content_type="application/json")
    assert (first.status_code, first.json()["is_chosen"]) == (201, True)
    stale = api.post(url, {"text": OTHER, "version": 0}, content_type="application/json")
    assert (stale.status_code, stale.json()["current"]["version"]) == (409, 1)
    api.post(url, {"text": OTHER, "version": 1}, content_type="application/json")
    again = api.post(
        f"{url}{first.json()['id']}/restore/", {"version": 2}, content_type="application/json"
    )
    assert (again.status_code, again.json()["text"]) == (201, GOOD)
    made = room.generate()
    assert api.post(f"{url}{made.pk}/choose/").json()["is_chosen"]
    assert api.post(f"{url}unchoose/").status_code == 204
    assert api.get(url).json()["count"] == 4


def test_closing_twice_is_refused_over_the_api(room) -> None:
    drawn = comparing.draw_comparison(access=room.access(room.admin))
    url = f"/api{room.url(f'answer-comparisons/{drawn.pk}/close/')}"
    assert script(room.admin).post(url).json()["closed_at"]
    assert script(room.admin).post(url).status_code == 409
