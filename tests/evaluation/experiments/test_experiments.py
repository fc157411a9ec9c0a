"""Experiments: runs beside one reference, on the page, in the file and in the API."""

import csv
import io
import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from annotate.models import Aspect, EscalationCase, Vote, VotingPlan
from corpus.models import PoolEntry
from debate.models import DebateRun, Turn
from debate.references import reference_called
from debate.runs.trajectories import Trajectory
from evaluation.experiments.services import (
    Parts,
    create_experiment,
    measure,
    sheets,
    systems_of,
    table,
)
from evaluation.experiments.views import charts
from evaluation.models import Experiment
from kit.charts.drawing import LEFT
from kit.errors import Refused
from kit.models import Event
from llm.models import Call
from tests.debate.runs.test_screens import make_debate, make_run
from tests.debate.runs.test_screens_room import make_call
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
)

pytestmark = pytest.mark.django_db
TRUTH = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
FIRST = [1, 1, 1, None, 0, 0, 0, 0, 1, None]
SECOND = [1, 1, 0, 1, 0, 0, 0, 0, 0, 0]


@pytest.fixture
def admin(benchmark) -> Any:
    return make_member(benchmark, "admin", "admin")


@pytest.fixture
def client(admin) -> Client:
    client = Client()
    client.force_login(admin)
    return client


@pytest.fixture
def runs(benchmark) -> list[DebateRun]:
    """The worked example of docs/protocol.md 6.9, and a run that disputes nothing."""
    query = make_query(benchmark, "7")
    passages = [make_passage(benchmark, f"p{number}") for number in range(10)]
    for passage, truth in zip(passages, TRUTH, strict=True):
        make_gold(query, passage, label=truth)
    made = []
    for labels in (FIRST, SECOND):
        run = make_run(benchmark, status="done")
        for number, (passage, label) in enumerate(zip(passages, labels, strict=True)):
            status, fields = ("escalated", {}) if label is None else ("agreed", {"round": 1})
            debate = make_debate(run, status, query=query, passage=passage, label=label, **fields)
            for place, agent in enumerate("AB"):
                key = 100 * run.pk + 10 * place + number
                call = make_call(key, elapsed_s=2.0 + place + number % 2)
                Turn.objects.create(
                    debate=debate, round=1, agent=agent, stance="relevant", label=label, call=call
                )
        made.append(run)
    return made


@pytest.fixture
def experiment(benchmark, runs, admin) -> Experiment:
    gold = benchmark.domains.get().gold_versions.get()
    return create_experiment(
        benchmark=benchmark, name="two", reference=f"gold-{gold.pk}", runs=runs, actor=admin
    )


def test_runs_are_compared_as_table_1_does(experiment) -> None:
    sheet = table(experiment, measure(experiment))
    assert sheet.header[1:6] == (
        "Pairs",
        "Irrelevant found",
        "Relevant found",
        "Balanced accuracy",
        "Disputed",
    )
    values = [[cell.value for cell in row[1:]] for row in sheet.rows]
    # First: 4/5 and 3/3, two disputed, which nobody settled. Second: 6/6 and 3/4, none disputed.
    assert values[0][:6] == pytest.approx([10, 0.8, 1.0, 0.9, 0.2, 0.9])
    assert values[1][:6] == pytest.approx([10, 1.0, 0.75, 0.875, 0.0, 0.875])
    # Agents take 2 and 3 s in even pairs, 3 and 4 s in odd ones: 6 s on average, at once 3.5.
    assert values[0][6:] == [None, 6.0, 3.5, 0.0]
    for row in sheet.rows:
        assert all(cell.low <= cell.value <= cell.high for cell in row[2:7])


@pytest.mark.slow
def test_every_number_leads_to_its_rows(client, experiment) -> None:
    first, second = table(experiment, measure(experiment)).rows
    wanted = {0: [10, 4, 3, 8, 2, 10], 1: [10, 6, 3, 10, 0, 10]}
    for place, row in enumerate((first, second)):
        found = [client.get(cell.url).context["table"].total for cell in row[1:7]]
        assert found == wanted[place]
        assert client.get(row[0].url).status_code == 200


def test_experiment_is_made_in_the_form_and_shown_with_its_drawing(client, runs, benchmark) -> None:
    address = "/b/demo/experiments/"
    gold = benchmark.domains.get().gold_versions.get()
    form = {"name": "both", "reference": f"gold-{gold.pk}", "runs": [run.pk for run in runs]}
    response = client.post(address, form)
    made = Experiment.objects.get()
    assert (response.status_code, response.url) == (302, f"{address}{made.pk}/")
    assert set(made.runs.all()) == set(runs)
    assert Event.objects.get(verb="create experiment").data["runs"] == [run.pk for run in runs]
    page = client.get(response.url).content.decode()
    assert page.count('class="dot"') == 2
    assert "90.0 %" in page
    assert " style=" not in page
    assert "both" in client.get(address).content.decode()


def test_drawing_places_runs_by_both_measures(experiment) -> None:
    (x, y), (other_x, other_y) = dots(charts(measure(experiment))[0])
    assert x > other_x == LEFT  # two of ten disputed, against none
    assert y < other_y  # the better stands higher


def dots(drawing: object) -> list[tuple[float, float]]:
    found = re.findall(r'<circle class="dot" cx="([\d.]+)" cy="([\d.]+)"', str(drawing))
    return [(float(x), float(y)) for x, y in found]


def test_without_labels_nothing_is_drawn(benchmark, runs, admin, client) -> None:
    made = create_experiment(
        benchmark=benchmark, name="x", reference="people", runs=runs, actor=admin
    )
    assert charts(measure(made)) == []
    assert client.get(f"/b/demo/experiments/{made.pk}/").status_code == 200


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"reference": "gold-999"}, "reference"),
        ({"runs": []}, "runs"),
        ({"name": "two"}, "name"),
    ],
)
def test_wrong_experiment_is_refused_naming_the_field(
    experiment, runs, admin, change, field
) -> None:
    values = {"name": "new", "reference": "people", "runs": runs} | change
    with pytest.raises(Refused) as refusal:
        create_experiment(benchmark=experiment.benchmark, actor=admin, **values)
    assert refusal.value.field == field
    assert Experiment.objects.count() == 1


def test_runs_over_other_pairs_or_of_others_are_refused(benchmark, runs, admin) -> None:
    elsewhere = make_run(benchmark)
    DebateRun.objects.filter(pk=elsewhere.pk).update(pool=make_pool(benchmark, name="other"))
    elsewhere.refresh_from_db()
    foreign = make_run(make_benchmark("other"))
    for run, words in ((elsewhere, "different pairs"), (foreign, "another benchmark")):
        with pytest.raises(Refused, match=words):
            create_experiment(
                benchmark=benchmark,
                name="n",
                reference="people",
                runs=[runs[0], run],
                actor=admin,
            )


def test_file_and_api_hold_the_same_numbers(client, experiment) -> None:
    response = client.get(f"/b/demo/experiments/{experiment.pk}/runs.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    answer = client.get(f"/api/b/demo/experiments/{experiment.pk}/").json()
    place = answer["table"]["header"].index("Balanced accuracy")
    cells = [row[place] for row in answer["table"]["rows"]]
    assert [float(row["Balanced accuracy"]) for row in rows] == [cell["value"] for cell in cells]
    assert [float(row["Balanced accuracy low"]) for row in rows] == [cell["low"] for cell in cells]


def test_script_makes_and_deletes_one(client, runs) -> None:
    address = "/api/b/demo/experiments/"
    body = {"name": "by script", "reference": "people", "runs": [run.pk for run in runs]}
    made = client.post(address, body, content_type="application/json")
    assert (made.status_code, sorted(made.json()["runs"])) == (201, body["runs"])
    again = client.post(address, body, content_type="application/json")
    assert (again.status_code, again.json()["field"]) == (409, "name")
    body |= {"name": "n", "runs": [999]}
    assert client.post(address, body, content_type="application/json").status_code == 409
    assert client.delete(f"{address}{made.json()['id']}/").status_code == 204
    assert not Experiment.objects.exists()
    assert DebateRun.objects.count() == 2


def test_practice_runs_are_marked(client, experiment, runs) -> None:
    DebateRun.objects.filter(pk=runs[0].pk).update(practice=True)
    page = client.get(f"/b/demo/experiments/{experiment.pk}/").content.decode()
    assert "(practice)" in page
    assert "practice model" in page


def test_gold_that_is_gone_leaves_the_page(client, experiment) -> None:
    Experiment.objects.update(reference="gold-999")
    assert reference_called(experiment.benchmark, "gold-999") is None
    assert client.get(f"/b/demo/experiments/{experiment.pk}/").status_code == 200


def test_people_cost_what_their_measured_seconds_cost(client, experiment, runs) -> None:
    run, benchmark = runs[0], experiment.benchmark
    VotingPlan.objects.create(benchmark=benchmark, version=1, hourly_pay="18")
    debate = run.debates.filter(status="escalated").first()
    case = EscalationCase.objects.create(
        origin="debate:1", query=debate.query, passage=debate.passage
    )
    run.debates.filter(pk=debate.pk).update(case=case)
    for number, ms in enumerate((40_000, 60_000, None)):
        voter = make_member(benchmark, f"voter-{number}", "annotator")
        Vote.objects.create(case=case, voter=voter, label=1, elapsed_ms=ms)
    _, parts, people = sheets(experiment, measure(experiment))
    # 100 s at 18 an hour are 0.5; what the models cost is not known.
    assert [cell.value for cell in people.rows[0][1:]] == [1, 3, 2, 100.0, 18.0, 0.5, None]
    assert [cell.value for cell in people.rows[1][1:]] == [0, 0, 0, 0.0, 18.0, 0.0, None]
    assert {row[1].value for row in parts.rows} == {"Role", "Round", "Task"}
    page = client.get(f"/b/demo/experiments/{experiment.pk}/")
    assert "Cost of people" in page.content.decode()
    told = client.get(f"/api/b/demo/experiments/{experiment.pk}/").json()
    assert [each["name"] for each in told["costs"]] == ["parts", "people"]
    address = f"/b/demo/experiments/{experiment.pk}/runs.csv"
    lines = b"".join(client.get(f"{address}?table=people").streaming_content).decode()
    assert lines.startswith("Run,Pairs before people,Votes")
    assert client.get(f"{address}?table=moons").status_code == 404


def test_cost_is_drawn_where_models_cost_something(experiment) -> None:
    assert len(charts(measure(experiment))) == 1
    Call.objects.update(usd="0.01")
    (x, first), (other_x, second) = dots(charts(measure(experiment))[1])
    assert x == other_x > LEFT  # both asked as much
    assert first < second  # the first is right more often


def test_a_pair_that_is_asked_of_two_aspects_costs_each_retriever_its_own(benchmark, runs) -> None:
    """The word index proposed the passage for aspect 1, vectors for aspect 2."""
    query, passage = make_query(benchmark, "8"), make_passage(benchmark, "p")
    run, costs = runs[0], []
    pool = run.pool
    for k, system in ((1, "words"), (2, "vectors")):
        named = [{"system": system, "rank": 1}]
        PoolEntry.objects.create(pool=pool, query=query, passage=passage, aspect=k, systems=named)
        aspect = Aspect.objects.create(query=query, k=k, position=k, content=system)
        debate = make_debate(run, query=query, passage=passage, aspect=aspect)
        took = {(1, "A"): float(k)}
        costs.append(Trajectory(debate.pk, seconds=took, priced={(1, "A"): Decimal(k)}))
    parts = Parts(run, {each.debate for each in costs}, systems_of(pool))
    list(parts.counted(costs))
    spent = {part: cost.usd for (of, part), cost in parts.costs.items() if of == "retriever"}
    assert spent == {"words": 1, "vectors": 2}
