"""The same lists for scripts: filters, and a word about what does not exist."""

from typing import Any

import pytest
from django.test import Client

from corpus.judgments.services import record_judgment
from corpus.models import GoldVersion, Judgment, Source
from tests.factories import (
    index_texts,
    make_benchmark,
    make_document,
    make_gold,
    make_member,
    make_passage,
    make_query,
    make_ranking,
    make_token,
)
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    return make_benchmark(domains=("biology", "robotics"))


@pytest.fixture
def api(benchmark) -> Client:
    token = make_token(make_member(benchmark, "annotator-1", "annotator"))
    return Client(headers={"Authorization": f"Token {token}"})


def rows(api: Client, path: str) -> list[dict[str, Any]]:
    return api.get(f"/api/b/demo/{path}").json()["results"]


def test_passages_are_found_and_filtered(benchmark, api) -> None:
    make_passage(benchmark, "a/1", text="Moths circle.")
    make_passage(benchmark, "a/2", "robotics", text=None)
    index_texts(benchmark)

    def pids(query: str) -> list[str]:
        return [row["pid"] for row in rows(api, f"passages/?{query}")]

    assert pids("") == ["a/1", "a/2"]
    assert pids("q=moths") == ["a/1"]
    assert pids("q=a/2") == ["a/2"]
    assert pids("domain=robotics") == ["a/2"]
    assert pids("text=yes") == ["a/1"]


def test_passages_have_the_same_pages_before_and_after_they_are_counted(benchmark, api) -> None:
    for n in range(7):
        make_passage(benchmark, f"a/{n}", ("biology", "robotics")[n % 2])

    def pages() -> list[tuple[int, list[str], bool]]:
        found = []
        for query in ("", "domain=robotics&"):
            for offset in range(9):
                page = api.get(f"/api/b/demo/passages/?{query}limit=2&offset={offset}").json()
                pids = [row["pid"] for row in page["results"]]
                found.append((page["count"], pids, bool(page["next"])))
        return found

    before = pages()
    assert before[0] == (7, ["a/0", "a/2"], True)
    assert before[6] == (7, ["a/5"], False)
    assert before[9] == (3, ["a/1", "a/3"], True)
    index_texts(benchmark)
    assert pages() == before
    assert api.get(f"/api/b/demo/passages/?offset={10**30}").json()["results"] == []


def test_value_that_does_not_exist_is_refused(benchmark, api) -> None:
    for path in ("passages", "documents", "queries", "judgments"):
        response = api.get(f"/api/b/demo/{path}/?domain=nowhere")
        assert response.status_code == 400
        assert response.json() == {"domain": "No such domain: nowhere."}


def test_pages_and_one_with_its_text(benchmark, api) -> None:
    page = make_document(benchmark, "moths.html", text="All about moths.")
    listed = rows(api, "documents/?q=moth")
    assert [row["doc_id"] for row in listed] == ["moths.html"]
    assert "text" not in listed[0]
    assert api.get(f"/api/b/demo/documents/{page.pk}/").json()["text"] == "All about moths."


def test_judgments_count_now_unless_asked_otherwise(benchmark, api) -> None:
    query, passage = make_query(benchmark), make_passage(benchmark)
    make_gold(query, passage)
    GoldVersion.objects.update(is_current=False, digest="d0")
    make_gold(query, passage, label=2)
    pair = {"query": query, "passage": passage, "provenance": {}}
    record_judgment(**pair, label=0, source=Source.DEBATE)
    record_judgment(**pair, label=1, source=Source.HUMAN)

    def labels(query: str) -> list[tuple[str, int]]:
        return [(row["source"], row["label"]) for row in rows(api, f"judgments/?{query}")]

    assert labels("") == [("original", 2), ("human", 1)]
    assert labels("counts=no") == [("original", 1), ("debate", 0)]
    assert labels("status=superseded") == [("debate", 0)]
    assert labels("source=since") == [("human", 1)]
    older = GoldVersion.objects.get(is_current=False)
    assert labels(f"gold={older.pk}") == [("original", 1)]
    golds = rows(api, "gold-versions/")
    assert [gold["is_current"] for gold in golds] == [False, True]


def test_queries_by_domain_and_words(benchmark, api) -> None:
    make_query(benchmark, "1", text="Where does hail come from?")
    make_query(benchmark, "2", "robotics")
    assert [row["qid"] for row in rows(api, "queries/?q=hail")] == ["1"]
    assert [row["qid"] for row in rows(api, "queries/?domain=robotics")] == ["2"]
    assert [row["qid"] for row in rows(api, "queries/?q=robotics-2")] == ["2"]


def test_retrieval_runs_with_their_rankings(benchmark, api) -> None:
    ranked = make_ranking(make_query(benchmark, "1"), "b", "a", scores=[2, 1])
    make_ranking(make_query(benchmark, "2", "robotics"), "c")
    assert [(run["name"], run["query_count"]) for run in rows(api, "retrieval-runs/")] == [
        ("bm25", 2)
    ]
    path = f"retrieval-runs/{ranked.run_id}/"
    assert api.get(f"/api/b/demo/{path}").json()["depth"] == 2
    first, second = rows(api, f"{path}lists/")
    assert first == {"domain": "biology", "query": "1", "pids": ["b", "a"], "scores": [2.0, 1.0]}
    assert second["scores"] is None
    assert [row["query"] for row in rows(api, f"{path}lists/?domain=robotics")] == ["2"]


def test_what_a_file_said_beside_its_texts_is_given_too(benchmark, api) -> None:
    more = {"description": "Tell why.", "narrative": "Names a cause.", "extra": {"items": [1, "x"]}}
    query = make_query(benchmark, gold_ids_long=["a/b.txt"], **more)
    passage = make_passage(benchmark, extra={"url": "u"}, source_url="https://example.org/")
    make_gold(query, passage, label=2)
    Judgment.objects.update(subtopics={"1": 2, "2": -1})
    (found,) = rows(api, "queries/")
    assert {name: found[name] for name in more} == more
    assert found["gold_ids_long"] == ["a/b.txt"]
    (text,) = rows(api, "passages/")
    assert (text["extra"], text["source_url"]) == ({"url": "u"}, "https://example.org/")
    (label,) = rows(api, "judgments/")
    assert label["subtopics"] == {"1": 2, "2": -1}


def test_screens_show_it_as_well(benchmark) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "annotator-2", "annotator"))
    query = make_query(benchmark, narrative="Names a cause.", extra={"items": ["<b>"]})
    passage = make_passage(benchmark, extra={"pubmed_id": "77"})
    make_gold(query, passage, label=-1)
    Judgment.objects.update(subtopics={"7": -1})
    page = one_line(client.get(f"/b/demo/queries/{query.pk}/"))
    assert "Names a cause." in page
    assert '<dt class="break"><b>items</b></dt>' in page
    assert "[&quot;&lt;b&gt;&quot;]" in page
    page = one_line(client.get(f"/b/demo/passages/{passage.pk}/"))
    assert "pubmed_id" in page
    assert "not relevant (-1)" in page
    assert "by subtopic: 7 -1" in one_line(client.get("/b/demo/judgments/"))
