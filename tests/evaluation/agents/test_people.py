"""People beside the judge: what is drawn, who sees what, and how far both agree."""

from collections.abc import Iterator

import pytest

from annotate.grading.services import aspects_of, grade_answer, shown_of
from annotate.models import AnswerGrade, GradedAnswer
from evaluation.agents.models import AgentRun, AnswerVerdict, JudgeRun
from evaluation.agents.trust.people import (
    agreement_table,
    answer_key,
    beside,
    corrected_table,
    draw_sample,
    in_short,
    samples,
)
from kit.errors import Refused
from kit.stats.predicted import Stratum, corrected_mean
from tests.annotate.test_api import script
from tests.annotate.voting.test_blind_worlds import answer_of
from tests.annotate.world import signed_in
from tests.evaluation.agents.room import Place
from tests.evaluation.agents.test_agent_screens import judged

pytestmark = pytest.mark.django_db(transaction=True)


def drawn(place: Place, *runs, **options):
    access = place.room.access(place.room.admin)
    return draw_sample(access=access, runs=runs, **options)


def told_apart(run: AgentRun) -> AgentRun:
    """The practice model answers alike throughout; here each round has words of its own, and each
    further repetition."""
    for item in run.items.all():
        item.answers = [
            each | {"text": f"{each['text']} {each['round']}.{item.repetition or ''}"}
            for each in item.answers
        ]
        item.save()
    return run


def names(answer: GradedAnswer) -> list[str]:
    rows = answer.query.aspects.filter(removed_at=None).order_by("k")
    return [f"a{each.k}" for each in rows]


def score(place: Place, person, answer: GradedAnswer, score: float, quality: int) -> AnswerGrade:
    scores = dict.fromkeys(names(answer), score)
    access = place.room.access(person)
    shown = shown_of(answer, aspects_of(answer))
    return grade_answer(answer=answer, access=access, scores=scores, quality=quality, shown=shown)


def say(judge: JudgeRun, answer: GradedAnswer, score: float, quality: int) -> None:
    """Let the judge have said this of the answer."""
    item, number = answer_key(answer.origin)
    row = judge.verdicts.get(item=item, round=number)
    AnswerVerdict.objects.filter(pk=row.pk).update(
        state="judged",
        quality=quality,
        completeness=1 + round(4 * score),
        scores=dict.fromkeys(names(answer), score),
    )


def test_the_agreement_of_judge_and_people_is_cohens_weighted_kappa(place) -> None:
    from sklearn.metrics import cohen_kappa_score

    run = told_apart(place.run(rounds=3))
    judge = judged(place, run)
    drawn(place, run, size=6, people=2)
    answers = list(GradedAnswer.objects.order_by("pk"))[:3]
    room = place.room
    machine, author, colleague = [5, 4, 1], [4, 4, 2], [5, 3, 1]
    for answer, said, one, other in zip(answers, machine, author, colleague, strict=True):
        say(judge, answer, 1.0, said)
        score(place, room.author, answer, 1.0 if one > 2 else 0.5, one)
        score(place, room.colleague, answer, 1.0, other)
    found = beside(judge)
    assert found.answers == 3
    ours = found.kappa("quality")
    pairs = (machine * 2, author + colleague)
    assert ours.value == pytest.approx(
        cohen_kappa_score(*pairs, weights="quadratic", labels=[1, 2, 3, 4, 5])
    )
    # By hand: squares of differences (1, 0, 1, 0, 1, 0) sum to 3, over 6 pairs 1/2. The judge gives
    # 5, 4, 1 a third each; people 1, 2, 3, 5 a sixth each and 4 two sixths. Expected squares: from
    # 5 (16 + 9 + 4 + 0 + 2 * 1) / 6 = 31/6, from 4 (9 + 4 + 1 + 1) / 6 = 15/6, from 1
    # (0 + 1 + 4 + 16 + 2 * 9) / 6 = 39/6; their mean is 85/18. 1 - (1/2) / (85/18) = 76/85.
    assert ours.value == pytest.approx(76 / 85)
    assert found.kappa("quality", "linear").value == pytest.approx(
        cohen_kappa_score(*pairs, weights="linear", labels=[1, 2, 3, 4, 5])
    )
    assert found.kappa("aspects").reason  # the judge gave 1 to everything: nothing to agree on
    table = agreement_table(found)
    row = next(each for each in table.rows if each[0].value.startswith("Quality"))
    assert row[2].low < ours.value < row[2].high
    assert "quality 0.89" in in_short(found)
    assert any("people, α" in each[1].value for each in table.rows)

    page = signed_in(room.admin).get(room.url("agent-board/")).content.decode()
    assert "Judge and people" in page
    assert "its quadratic κ is" in page
    sheets = signed_in(room.admin).get(f"/api{room.url('agent-board/')}").json()
    assert [each["name"] for each in sheets[-2:]] == ["people", "corrected"]


def test_the_judges_mean_is_corrected_by_the_sample(place) -> None:
    run = told_apart(place.run(rounds=3))
    judge = judged(place, run)
    drawn(place, run, size=6, people=2)
    answers = list(GradedAnswer.objects.order_by("pk"))
    judge.verdicts.update(state="judged", quality=4, completeness=4, scores={})
    for answer, said, people in zip(answers, (5, 4, 2, 1), (4, 4, 1, 2), strict=False):
        say(judge, answer, 1.0, said)
        score(place, place.room.author, answer, 0.5, people)
    # A second person: the mean of both counts.
    score(place, place.room.colleague, answers[3], 0.5, 1)
    table = corrected_table([run], judge)
    row = next(each for each in table.rows if each[1].value == "quality")
    size = judge.verdicts.count()
    raw = (5 + 4 + 2 + 1 + 4 * (size - 4)) / size
    wanted = corrected_mean([Stratum(size, raw, [(5, 4), (4, 4), (2, 1), (1, 1.5)])])
    # cov / var of (5, 4, 2, 1) and (4, 4, 1, 1.5): deviations 2, 1, -1, -2 and 1.375, 1.375,
    # -1.625, -1.125: 8 / 10. People's 2.625 moved by .8 (raw - 3).
    assert wanted.value == pytest.approx(2.625 + 0.8 * (raw - 3))
    assert [cell.value for cell in row[2:6]] == [size, raw, 4, 2.625]
    assert (row[6].value, row[6].low) == pytest.approx((wanted.value, wanted.low))
    completeness = next(each for each in table.rows if each[1].value == "completeness")
    assert completeness[6].value == pytest.approx(3.0)
    assert completeness[6].low is None  # people never differ among themselves: nothing to go by


@pytest.mark.slow
def test_a_judge_is_corrected_by_strata_of_its_scores_where_people_gave_enough(place) -> None:
    run = told_apart(place.run(rounds=3, repetitions=8))
    judge = judged(place, run)
    drawn(place, run, size=20, people=1)
    judge.verdicts.update(state="judged", quality=4, completeness=4, scores={})
    # The judge says 1 where people say 1 and 2 by turns, 5 where they say 2 and 3, else 4.
    answers = list(GradedAnswer.objects.order_by("pk"))
    for place_of, answer in enumerate(answers):
        said, people = (1, 1 + place_of % 2) if place_of < 10 else (5, 2 + place_of % 2)
        say(judge, answer, 1.0, said)
        score(place, place.room.author, answer, 0.5, people)
    size = judge.verdicts.count()
    assert (size, len(answers)) == (48, 20)
    table = corrected_table([run], judge)
    row = next(each for each in table.rows if each[1].value == "quality")
    # Ten of 48 have 1 from the judge and 1.5 from people; the others 5, or 4, and 2.5. Along a line
    # it would be 2 + .25 ((10 + 28 * 4 + 50) / 48 - 3) = 2.15.
    assert row[6].value == pytest.approx((10 * 1.5 + 38 * 2.5) / 48)


def test_what_the_judge_has_not_judged_is_counted_and_left_out(place) -> None:
    run = place.run(rounds=1)
    judge = judged(place, run)
    drawn(place, run)
    for answer in GradedAnswer.objects.all():
        item, number = answer_key(answer.origin)
        rows = judge.verdicts.filter(item=item, round=number)
        rows.update(state="failed", quality=None, completeness=None)
        score(place, place.room.author, answer, 1.0, 3)
    found = beside(judge)
    assert (found.answers, found.unjudged) == (0, GradedAnswer.objects.count())
    assert "No person has scored answers" in in_short(found)


def test_answers_of_several_runs_are_drawn_and_never_a_query_without_aspects(place) -> None:
    one, other = place.run(rounds=1), place.run()
    sample = drawn(place, one, other, size=50)
    items = {answer_key(each.origin)[0] for each in sample.answers.all()}
    runs = set(one.items.model.objects.filter(pk__in=items).values_list("run", flat=True))
    assert runs <= {one.pk, other.pk}
    with pytest.raises(Refused, match="Choose a run"):
        drawn(place)


def test_admins_draw_and_close_readers_read_and_scorers_do_neither(place) -> None:
    run = place.run(rounds=1)
    room = place.room
    base, form = room.url("judge-samples/"), {"runs": [run.pk], "size": 5, "seed": 1, "people": 1}
    for person, read, write in (
        ("admin", 200, 302),
        ("reviewer", 200, 403),
        ("author", 403, 403),
        ("both", 403, 403),
    ):
        client = signed_in(getattr(room, person))
        assert client.get(base).status_code == read, person
        assert client.post(base, form).status_code == write, person
    (sample,) = samples(room.benchmark)
    answer = sample.answers.first()
    assert answer is not None
    score(place, room.author, answer, 0.5, 2)
    admin, api = signed_in(room.admin), script(room.admin)
    assert "author" in admin.get(f"{base}{sample.pk}/").content.decode()
    (row,) = api.get(f"/api{base}{sample.pk}/grades/").json()["results"]
    assert (row["item"], row["quality"]) == (answer_key(answer.origin)[0], 2)
    assert script(room.author).get(f"/api{base}{sample.pk}/grades/").status_code == 403
    posted = api.post(f"/api{base}", {"runs": [run.pk]}, content_type="application/json")
    assert (posted.status_code, posted.json()["people"]) == (201, 2)
    closed = api.post(f"/api{base}{posted.json()['id']}/close/")
    assert closed.json()["closed_at"]
    assert admin.post(f"{base}{sample.pk}/close/").status_code == 302
    assert samples(room.benchmark).filter(closed_at=None).count() == 0


@pytest.mark.slow
def test_whatever_the_judge_said_the_page_of_who_scores_is_the_same(place) -> None:
    """Two worlds of the judge, one after the other: everything that the scorer can open."""
    run = place.run(rounds=1)
    judge = judged(place, run)
    drawn(place, run)
    room = place.room

    def look() -> Iterator[object]:
        client, api = signed_in(room.author), script(room.author)
        for path in ("answers/grade/", "agent-board/", f"agents/{run.pk}/", "judge-samples/", ""):
            yield answer_of(client.get(room.url(path)))
        yield answer_of(client.get(room.url(f"judge-runs/{judge.pk}/")))
        yield answer_of(api.get(f"/api{room.url('answers-to-grade/next/')}"))
        yield answer_of(client.get("/home/annotate/"))

    before = list(look())
    judge.verdicts.update(
        quality=1, completeness=1, justification="Nothing of it is right.", scores={"a1": 0}
    )
    run.name = "Another name"
    run.model = "another-model"
    run.save()
    assert list(look()) == before
