"""Screens, API and commands of generated answers, over what the practice model made."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from corpus.models import Query
from evaluation.rag.models import GradeRun, RagRun
from evaluation.scores.sheets import carry_out, request_sheet
from llm import endpoints
from tests.evaluation.rag.boards import Sheets
from tests.evaluation.rag.room import TRUE, Place, make_place
from tests.evaluation.rag.test_board import G, R, scores
from tests.evaluation.rag.test_grade_runs import graded
from tests.factories import make_gold

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def place() -> Place:
    return make_place()


def signed_in(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def score(place: Place) -> None:
    """Old gold that neither system finds, beside what experts assigned; and its scores."""
    make_gold(place.room.query, place.room.passages["lamps/page_3.txt"])
    make_gold(place.room.other, place.room.foreign)
    carry_out(request_sheet(benchmark=place.room.benchmark, actor=None, claimed=True))


@pytest.mark.slow
def test_answer_grade_board_and_cell_tell_one_story(place) -> None:
    score(place)
    run = place.run()
    grading = graded(run)
    client, base = signed_in(place.room.admin), place.room.url("")
    page = client.get(f"{base}rag-board/").content.decode()
    assert "RAGAlign@10" in page
    assert "Rank shift" in page
    assert "practice model answers and grades by shared words" in page
    sheets = {each["name"]: each for each in client.get(f"/api{base}rag-board/").json()}
    assert list(sheets) == ["generation", "align", "correlation", "systems", "shift", "gain"]
    systems = [row[0]["value"] for row in sheets["generation"]["rows"]]
    assert systems == ["no retrieval", "gold evidence", "good", "poor"]
    sent = client.get(f"{base}rag-board/align.csv?outcome=accuracy")
    rows = list(csv.DictReader(io.StringIO(sent.getvalue().decode("utf-8-sig"))))
    (good,) = [row for row in rows if (row["system"], row["gold"]) == ("good", "after holes")]
    # `good` finds gold of both queries and quotes both true answers.
    assert (good["hit and correct"], good["RAGAlign@10"], good["left out"]) == ("2", "1.0", "0")
    (base_row,) = [row for row in rows if (row["system"], row["gold"]) == ("good", "before holes")]
    assert (base_row["hit and correct"], base_row["miss and correct"]) == ("1", "1")

    source = run.sources.get(name="good")
    asked = f"{source.pk}/?view=base&cell=miss_correct&outcome=accuracy"
    opened = client.get(f"{base}rag-board/cells/{asked}").content.decode()
    assert str(place.room.query) in opened
    assert str(place.room.other) not in opened
    found = client.get(f"/api{base}rag-board/cells/{asked}").json()["results"]
    assert [each["query"] for each in found] == [place.room.query.pk]

    answer = run.answers.get(source=source, query=place.room.query)
    page = client.get(f"{base}rag/answers/{answer.pk}/").content.decode()
    for words in (TRUE, "Generated", "lamps/page_2.txt", "1 more had no text here", "True"):
        assert words in page
    told = client.get(f"/api{base}rag-answers/{answer.pk}/").json()
    assert (told["answers"], told["accuracy"], told["missing"]) == ([TRUE], 1, 1)
    page = client.get(f"{base}grade-runs/{grading.pk}/").content.decode()
    assert "not asked: the answer says nothing" in page
    page = client.get(f"{base}rag/{run.pk}/").content.decode()
    assert "Grade its answers" in page
    assert "Calls" in page
    assert run.name in client.get(f"{base}rag/").content.decode()


def test_a_run_is_set_up_forecast_and_graded_on_the_screen(place) -> None:
    client, base = signed_in(place.room.admin), place.room.url("")
    assert "Nothing to compare yet" in client.get(f"{base}rag-board/").content.decode()
    with endpoints.practice_if_unconfigured("answerer") as endpoint:
        page = client.get(f"{base}rag/new/").content.decode()
        assert page.count("checked") == 3  # both runs and the baselines
        both = f"runs={place.good.pk}&runs={place.poor.pk}"
        told = client.get(f"{base}rag/forecast/?{both}&baselines=on").content.decode()
        assert "about 8" in told
        told = client.get(f"/api{base}rag-runs/forecast/?runs=2&baselines=1").json()
        assert (told["queries"], told["calls"]) == (2, 8)
        form = {
            "runs": [place.good.pk],
            "harness": "short",
            "k": "3",
            "endpoint": endpoint.name,
            "temperature": "0",
        }
        sent = client.post(f"{base}rag/new/", form)
        run = RagRun.objects.get()
        assert sent.headers["Location"] == f"{base}rag/{run.pk}/"
        assert (run.k, run.total, run.sources.count()) == (3, 2, 1)
        assert client.post(f"{base}rag/new/", form | {"k": "0"}).status_code == 422
        for given, status, field in (
            ({"runs": [place.good.pk], "k": 0}, 409, "k"),
            ({"runs": [10**6]}, 409, "runs"),
            ({"runs": [], "baselines": False}, 409, "runs"),
        ):
            posted = client.post(f"/api{base}rag-runs/", given, content_type="application/json")
            assert (posted.status_code, posted.json()["field"]) == (status, field)
        given = {"endpoint": endpoint.name, "profile": "strict", "replicate": "0"}
        given |= {"temperature": "0"}
        client.post(f"{base}rag/{run.pk}/grade/", given)
        assert not GradeRun.objects.exists()  # its run is not done
    assert client.post(f"{base}rag/{run.pk}/pause/").status_code == 302
    run.refresh_from_db()
    assert run.status == "paused"


@pytest.mark.slow
def test_the_whole_way_from_the_shell(place, capsys) -> None:
    score(place)
    slug = place.room.benchmark.slug
    with pytest.raises(CommandError, match="Nothing was answered here yet"):
        call_command("rag_align", slug)
    with pytest.raises(CommandError, match="no such RAG run"):
        call_command("grade_answers", slug)
    with pytest.raises(CommandError, match="There is no run nowhere: good, poor"):
        call_command("answer_run", slug, run=["nowhere"])
    call_command("answer_run", slug, json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["states"] == {"answered": 8}
    assert told["sources"] == ["no retrieval", "gold evidence", "good", "poor"]
    call_command("grade_answers", slug, run=told["run"])
    assert "is done: 8 graded" in capsys.readouterr().out
    call_command("grade_answers", slug, run=told["run"], replicate=3)
    assert "is done: 8 graded" in capsys.readouterr().out
    call_command("rag_align", slug)
    out = capsys.readouterr().out
    assert "# Answers of practice-1 by system\nsystem,majority of graders," in out
    assert "# Do answers follow retrieval?" in out
    call_command("rag_align", slug, run=told["run"], outcome="f1", json=True)
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == [
        *("generation", "correlation", "systems", "shift", "gain"),
    ]
    with pytest.raises(CommandError, match="The outcomes are together, grader-"):
        call_command("rag_align", slug, outcome="x")
    Query.objects.filter(pk=place.room.other.pk).update(answers=[])
    call_command("answer_run", slug, harness="long", run=["good"], no_baselines=True)
    assert "is done: 1 answered" in capsys.readouterr().out


def test_a_replicate_is_chosen_on_the_screen_and_in_the_api(place) -> None:
    run = place.run()
    client, base = signed_in(place.room.admin), place.room.url("")
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        given = {"endpoint": endpoint.name, "profile": "strict"}
        form = given | {"replicate": "2", "temperature": "0"}
        sent = client.post(f"{base}rag/{run.pk}/grade/", form)
        assert sent.status_code == 302
        asked = given | {"rag_run": run.pk, "replicate": 5}
        posted = client.post(f"/api{base}grade-runs/", asked, content_type="application/json")
        assert (posted.status_code, posted.json()["config"]["replicate"]) == (202, 5)
        posted = client.post(
            f"/api{base}grade-runs/", asked | {"replicate": -1}, content_type="application/json"
        )
        assert (posted.status_code, posted.json()["field"]) == (409, "replicate")
    screen = GradeRun.objects.earliest("pk")
    assert screen.replicate == 2
    page = client.get(f"{base}grade-runs/{screen.pk}/").content.decode()
    assert "replicate 2" in page


def test_a_page_of_many_queries_asks_the_database_no_more_than_one_of_few(
    django_assert_max_num_queries,
) -> None:
    sheets = Sheets(120)
    source = sheets.system("bm25", G * 15, scores(R * 15))
    sheets.answer(source)
    client = signed_in(sheets.admin)
    client.get("/b/sheets/rag-board/")
    for url in ("rag-board/", f"rag-board/cells/{source.pk}/?cell=hit_correct"):
        with django_assert_max_num_queries(30):
            page = client.get(f"/b/sheets/{url}").content.decode()
    assert page.count('data-label="Query"') == 45  # 3 of 8, 15 times
