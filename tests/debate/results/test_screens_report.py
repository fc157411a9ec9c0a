"""After the run: tables beside a reference and another run, and the rows behind each number."""

import csv
import io
import re
from typing import Any

import pytest

from annotate.models import CaseStatus, EscalationCase
from corpus.judgments.services import record_judgment
from corpus.models import Source
from debate.models import Debate, Turn
from debate.references import reference_called
from debate.results.report import report
from debate.runs.trajectories import trajectories
from tests.debate.runs.test_screens import client, make_debate, make_run, text, url  # noqa: F401
from tests.debate.runs.test_screens_room import make_call
from tests.factories import make_gold, make_passage, make_query

pytestmark = pytest.mark.django_db
TRUTH = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
GIVEN = [1, 1, 1, None, 0, 0, 0, 0, 1, None]


@pytest.fixture
def run(benchmark) -> Any:
    """The worked example of docs/protocol.md 6.9, its reference an imported gold."""
    run = make_run(benchmark, status="done")
    query = make_query(benchmark, "7")
    for number, (truth, label) in enumerate(zip(TRUTH, GIVEN, strict=True)):
        passage = make_passage(benchmark, f"p{number}")
        make_gold(query, passage, label=truth)
        status, fields = ("escalated", {}) if label is None else ("agreed", {"round": 1})
        make_debate(run, status, query=query, passage=passage, label=label, **fields)
    make_debate(run, "agreed", label=1, round=1)  # not in the gold
    return run


def gold_of(run: Any) -> Any:
    pk = run.benchmark.domains.get().gold_versions.get().pk
    return reference_called(run.benchmark, f"gold-{pk}")


def sheet(run: Any, name: str, **options: Any) -> Any:
    return next(each for each in report(run, **options) if each.name == name)


def test_labels_beside_a_gold_are_those_of_the_worked_example(run) -> None:
    row = sheet(run, "accuracy", reference=gold_of(run)).rows[0]
    assert [cell.value for cell in row[1:]] == pytest.approx([1.0, 0.8, 0.9, 0.2])
    assert all(cell.low < cell.value <= cell.high for cell in row[1:])


@pytest.mark.slow
def test_every_number_leads_to_the_rows_that_it_counts(client, run) -> None:  # noqa: F811
    gold = gold_of(run)
    row = sheet(run, "accuracy", reference=gold).rows[0]
    # 3 relevant found; 4 irrelevant found; 8 labelled; 2 disputed.
    wanted = [3, 4, 8, 2]
    found = [client.get(cell.url).context["table"].total for cell in row[1:]]
    assert found == wanted
    for link in re.findall(
        r'href="([^"]*pairs/\?[^"]*)"',
        text(client.get(url("debate-run-report", run.pk), {"reference": gold.key})),
    ):
        assert client.get(link.replace("&amp;", "&")).status_code == 200


def test_labels_of_people_count_once_their_case_is_closed(run) -> None:
    debate = run.debates.filter(status="escalated").first()
    record_judgment(
        query=debate.query, passage=debate.passage, label=1, source=Source.HUMAN, provenance={}
    )
    case = EscalationCase.objects.create(
        origin="x", query=debate.query, passage=debate.passage, status=CaseStatus.OPEN
    )
    people = reference_called(run.benchmark, "people")
    assert people.truths() == {}
    EscalationCase.objects.filter(pk=case.pk).update(status=CaseStatus.CLOSED, label=1)
    Debate.objects.filter(pk=debate.pk).update(case=case)
    assert people.truths() == {(debate.query_id, debate.passage_id): 1}
    assert reference_called(run.benchmark, "experts").truths() == {}
    overall = sheet(run, "accuracy", reference=people).rows[1]
    assert (overall[1].value, overall[2].value) == (1.0, None)


def make_turn(debate: Debate, number: int, agent: str, label: int | None, **fields: Any) -> None:
    response = {1: "yes", 0: "no", None: ""}[label]
    Turn.objects.create(
        debate=debate,
        round=number,
        agent=agent,
        stance="relevant" if agent == "A" else "irrelevant",
        label=label,
        response=response,
        **fields,
    )


def test_time_is_summed_and_each_rounds_slowest(benchmark) -> None:
    run = make_run(benchmark)
    debate = make_debate(run, "agreed", label=1, round=2)
    seconds = {(1, "A"): 4.0, (1, "B"): 3.0, (2, "A"): 5.0, (2, "B"): 1.0}
    for place, ((number, agent), took) in enumerate(seconds.items()):
        label = 1 if number == 2 or agent == "A" else 0
        make_turn(debate, number, agent, label, call=make_call(place, elapsed_s=took))
    (pair,) = trajectories(run)
    assert pair.agreed == {1: None, 2: 1}
    row = sheet(run, "cost").rows[0]
    assert [cell.value for cell in row[1:]] == [1, 13.0, 9.0, None]


def test_agreements_are_followed_through_later_rounds(benchmark) -> None:
    """The five pairs of docs/protocol.md 6.10."""
    run = make_run(benchmark)
    query = make_query(benchmark, "7")
    courses = [((1, 1), (1, 1), 1), ((0, 0), (0, 0), 0), ((1, 1), (1, 0), 1)]
    courses += [((0, 0), (1, 1), 1), ((1, 1), (1, 1), 0)]
    for number, (first, second, truth) in enumerate(courses):
        passage = make_passage(benchmark, f"p{number}")
        make_gold(query, passage, label=truth)
        debate = make_debate(run, "agreed", query=query, passage=passage, label=first[0], round=1)
        for place, labels in enumerate((first, second), start=1):
            for agent, label in zip("AB", labels, strict=True):
                make_turn(debate, place, agent, label)
    found = sheet(run, "persistence", reference=gold_of(run))
    assert [[cell.value for cell in row[1:]] for row in found.rows] == [
        [5, 1.0, 1.0, 0.4, 0.4],
        [5, 0.8, 0.6, 0.25, 0.2],
    ]


@pytest.mark.slow
def test_flips_between_two_runs_lead_to_their_pairs(client, run) -> None:  # noqa: F811
    other = make_run(run.benchmark, name="the other order")
    labels = [1, 1, 0, 1, 0, 0, 0, 1, 1, None]
    for debate, label in zip(run.debates.order_by("pk"), labels, strict=False):
        fields = {"round": 1} if label is not None else {}
        status = "agreed" if label is not None else "escalated"
        make_debate(
            other, status, query=debate.query, passage=debate.passage, label=label, **fields
        )
    found = sheet(run, "flips", other=other)
    cells = [[cell.value for cell in row[1:]] for row in found.rows]
    assert cells == [[3, 1, 0], [1, 3, 0], [1, 0, 1]]
    # 1 against 1: p is 1; 2 of the 8 that both labelled differ.
    assert "2 of 8 labels" in found.notes[0]
    assert "p = 1" in found.notes[0]
    for row in found.rows:
        for cell in row[1:]:
            if cell.value:
                assert client.get(cell.url).context["table"].total == cell.value
    page = text(client.get(url("debate-run-report", run.pk), {"other": other.pk}))
    assert "Labels here and in the other order" in page


def test_tables_are_files_with_their_intervals(client, run) -> None:  # noqa: F811
    gold = gold_of(run)
    address = url("debate-run-table", run.pk, "accuracy")
    response = client.get(address, {"reference": gold.key})
    row = next(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert float(row["Balanced accuracy"]) == pytest.approx(0.9)
    assert float(row["Balanced accuracy low"]) < 0.9 < float(row["Balanced accuracy high"])
    assert client.get(address).status_code == 404
    assert client.get(url("debate-run-table", run.pk, "nonsense")).status_code == 404


def test_report_of_nothing_says_so(client, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark)
    page = text(client.get(url("debate-run-report", run.pk), {"reference": "people", "other": "x"}))
    assert "No pair of this run has a label in this reference." in page
    assert "No turn of this run is stored yet." in page


def test_practice_labels_are_marked(client, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark, practice=True)
    assert "practice model" in text(client.get(url("debate-run-report", run.pk)))
    assert "practice model" in text(client.get(url("debates", run.pk)))


def test_api_answers_the_same_tables_and_names_what_is_unknown(client, run) -> None:  # noqa: F811
    address = f"/api/b/demo/debate-runs/{run.pk}/report/"
    gold = gold_of(run)
    (accuracy, *_) = client.get(address, {"reference": gold.key}).json()
    assert accuracy["name"] == "accuracy"
    assert accuracy["rows"][0][3]["value"] == pytest.approx(0.9)
    for name in ("reference", "other"):
        response = client.get(address, {name: "999"})
        assert (response.status_code, list(response.json())) == (400, [name])
