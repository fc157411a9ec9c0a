"""Gradings to their end, with the practice model or somebody's endpoint over real HTTP."""

import json

import pytest

from evaluation.judges.cards import cards_of
from evaluation.rag.grading import forecast, retry_failed, start_grading
from evaluation.rag.models import GradeRun, GradeState, RagRun
from evaluation.tasks import GRADES
from kit.errors import Refused
from llm import endpoints
from llm.models import Call
from tests.annotate.world import signed_in
from tests.debate.answering import answering
from tests.evaluation.rag.room import Place, make_place
from tests.llm.stub import status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def place() -> Place:
    return make_place()


def graded(run: RagRun, **options) -> GradeRun:
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        found = start_grading(rag_run=run, endpoint=endpoint, actor=None, claimed=True, **options)
        GRADES.drive(found)
    found.refresh_from_db()
    return found


def test_every_answer_is_graded_and_one_that_says_nothing_is_0_without_a_call(place) -> None:
    run = place.run()
    found = graded(run)
    assert (found.status, found.error, found.done, found.total) == ("done", "", 8, 8)
    rows = {(g.answer.source.name, g.answer.query_id): g for g in found.grades.all()}
    good = rows["good", place.room.query.pk]
    assert (good.state, good.value, good.said) == (GradeState.GRADED, 1.0, "True")
    bare = rows["no retrieval", place.room.query.pk]
    assert (bare.state, bare.value, bare.call) == (GradeState.GRADED, 0.0, None)
    informed = run.answers.filter(is_informed=True).values("query", "answers").distinct()
    assert found.calls.count() == len({json.dumps(each) for each in informed})
    source = run.sources.get(name="good")
    place_of = source.sheet["queries"].index(place.room.query.pk)
    assert found.sheet[str(source.pk)][place_of] == 1.0


@pytest.mark.slow
def test_long_answers_are_scored_against_the_reference(place) -> None:
    run = place.run(harness="long")
    found = graded(run)
    assert (found.status, found.error) == ("done", "")
    values = [grade.value for grade in found.grades.all()]
    assert {value for value in values if value is not None} <= {10.0 * n for n in range(11)}
    row = found.grades.get(answer__source__name="gold evidence", answer__query=place.room.query)
    assert row.said.endswith(f"SCORE: {row.value:.0f}")
    assert row.value > 50


@pytest.mark.few
@pytest.mark.parametrize(
    ("script", "first", "then", "asked"),
    [
        # The ledger would tell the same: what could not be read is asked anew.
        (["Hm.", "Hm.", "True"], ("unreadable", None), ("graded", 1.0), 3),
        (["Hm.", "True"], ("graded", 1.0), None, 2),
        ([status(400), "True"], ("failed", None), ("graded", 1.0), 2),
    ],
)
def test_what_cannot_be_read_is_no_grade_and_nothing_is_paid_twice(
    place, settings, script, first, then, asked
) -> None:
    place.room.other.answers = []
    place.room.other.save()
    run = place.run(runs=[place.good], baselines=False)
    with answering(settings, *script) as stub:
        found = start_grading(
            rag_run=run, endpoint=endpoints.for_role("grader"), actor=None, claimed=True
        )
        GRADES.drive(found)
        found.refresh_from_db()
        row = found.grades.get()
        assert (row.state, row.value) == first
        assert found.sheet == {str(run.sources.get().pk): [first[1]]}
        if then:
            retry_failed(run=found, actor=None)
            found.refresh_from_db()
            assert found.claim()
            GRADES.drive(found)
            row.refresh_from_db()
            assert (row.state, row.value) == then
        else:
            with pytest.raises(Refused, match="No grade of this run has failed"):
                retry_failed(run=found, actor=None)
        assert len(stub.asked) == asked


@pytest.mark.slow
def test_a_grading_that_is_killed_goes_on_and_asks_nothing_twice(place, settings) -> None:
    run = place.run(runs=[place.good], baselines=False)
    with answering(settings, "True", "True") as stub:
        found = start_grading(
            rag_run=run, endpoint=endpoints.for_role("grader"), actor=None, claimed=True
        )
        GRADES.drive(found)
        assert len(stub.asked) == 2
        # As if the worker had died after the calls, before anything was stored.
        found.grades.update(state=GradeState.WAITING, value=None, said="", call=None)
        GradeRun.objects.filter(pk=found.pk).update(
            status="running", done=0, lease_until="2020-01-01T00:00Z", sheet={}
        )
        found.groups.update(status="running", done=0, lease_until="2020-01-01T00:00Z")
        GRADES.take_part(found.pk)
        found.refresh_from_db()
        assert (found.status, found.done) == ("done", 2)
        assert len(stub.asked) == 2
    assert list(found.grades.values_list("value", flat=True)) == [1.0, 1.0]
    assert Call.objects.filter(account=found.account).count() == 2


@pytest.mark.slow
def test_another_replicate_asks_again_and_its_card_says_what_changed(place, settings) -> None:
    run = place.run(runs=[place.good], baselines=False)
    with answering(settings, "True", "True", "False", "True") as stub:

        def grading(**options) -> list[float | None]:
            endpoint = endpoints.for_role("grader")
            found = start_grading(
                rag_run=run, endpoint=endpoint, actor=None, claimed=True, **options
            )
            GRADES.drive(found)
            return list(found.grades.order_by("pk").values_list("value", flat=True))

        assert grading() == [1.0, 1.0]
        assert grading() == [1.0, 1.0]
        (card,) = cards_of(run.benchmark)
        # What the ledger tells again was not said again.
        assert (len(stub.asked), card.again.n) == (2, 0)
        assert sorted(grading(replicate=1)) == [0.0, 1.0]
        assert len(stub.asked) == 4
    (card,) = cards_of(run.benchmark)
    assert (card.again.hits, card.again.n) == (1, 2)


def test_what_cannot_be_is_refused(place) -> None:
    with endpoints.practice_if_unconfigured("answerer") as endpoint:
        run = place.start(endpoint, claimed=False)
        with pytest.raises(Refused, match="when their run is done"):
            start_grading(rag_run=run, endpoint=endpoint, actor=None)
        for options, field in (
            ({"profile": "paper"}, "profile"),
            ({"replicate": -1}, "replicate"),
            ({"temperature": -1.0}, "temperature"),
            ({"reasoning_effort": "much"}, "reasoning_effort"),
        ):
            with pytest.raises(Refused) as refusal:
                start_grading(rag_run=run, endpoint=endpoint, actor=None, **options)
            assert refusal.value.field == field


def test_a_forecast_counts_answers_that_say_something(place) -> None:
    run = place.run()
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        told = forecast(run, endpoint)
    assert told["calls"] == run.answers.filter(is_informed=True).count()
    assert told["input_tokens"] > 100 * told["calls"]


def test_a_grader_is_chosen_with_its_sampling_and_its_own_forecast(
    place, settings, tmp_path
) -> None:
    run = place.run()
    at = {"base_url": "http://gpu.example/v1", "default_model": "llama"}
    path = tmp_path / "endpoints.json"
    path.write_text(json.dumps([{"name": "paid", **at}, {"name": "gpu", **at, "free": True}]))
    settings.ASSAY_ENDPOINTS = str(path)
    client, base = signed_in(place.room.admin), place.room.url("")
    api = f"/api{base}rag-runs/{run.pk}/grading/"
    first = client.get(api).json()
    assert first["usd"] is None  # no price is known of the first
    thinking = client.get(f"{api}?endpoint=gpu&reasoning_effort=low").json()
    assert float(thinking["usd"]) == 0
    # 4,000 tokens more a call for thoughts of a low effort.
    assert thinking["output_tokens"] - first["output_tokens"] == 4_000 * first["calls"]
    page = client.get(f"{base}rag/{run.pk}/").content.decode()
    assert f'hx-get="{base}rag/{run.pk}/grade/"' in page
    form = {
        "endpoint": "gpu", "profile": "strict", "temperature": "0.5", "reasoning_effort": "low",
        "replicate": "0",
    }  # fmt: skip
    told = client.get(f"{base}rag/{run.pk}/grade/", form, headers={"HX-Request": "true"})
    assert f"{thinking['output_tokens']:,}" in told.content.decode()
    assert client.post(f"{base}rag/{run.pk}/grade/", form).status_code == 302
    found = GradeRun.objects.get()
    assert (found.endpoint, found.config["temperature"], found.config["reasoning_effort"]) == (
        "gpu", 0.5, "low"
    )  # fmt: skip
