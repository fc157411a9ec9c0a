"""Lists of what a benchmark holds: search, filters, order, links, and who sees what."""

from datetime import date
from typing import Any

import pytest
from django.test import Client

from corpus.judgments.services import record_judgment
from corpus.models import CorpusVersion, GoldVersion, Judgment, Source
from tests.factories import (
    index_texts,
    make_benchmark,
    make_document,
    make_gold,
    make_member,
    make_passage,
    make_query,
    make_ranking,
    make_version,
)
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    return make_benchmark(domains=("biology", "robotics"))


@pytest.fixture
def client(benchmark) -> Client:
    signed_in = Client()
    signed_in.force_login(make_member(benchmark, "reader", "reviewer"))
    return signed_in


def table(client: Client, path: str) -> Any:
    response = client.get(f"/b/demo/{path}")
    assert response.status_code == 200
    return response.context["table"]


def text(client: Client, path: str) -> str:
    return one_line(client.get(f"/b/demo/{path}"))


# --- Passages --------------------------------------------------------------------------------


def test_passages_are_ordered_by_domain_and_id_and_narrowed(benchmark, client) -> None:
    for domain, pid in (("robotics", "a/2"), ("biology", "b/1"), ("biology", "a/10")):
        make_passage(benchmark, pid, domain)
    make_passage(benchmark, "a/1", "biology", text=None)
    index_texts(benchmark)

    def pids(query: str) -> list[str]:
        return [row.pid for row in table(client, f"passages/?{query}").rows]

    assert pids("") == ["a/1", "a/10", "b/1", "a/2"]
    assert pids("sort=-passage") == ["a/2", "b/1", "a/10", "a/1"]
    assert pids("domain=robotics") == ["a/2"]
    assert pids("text=no") == ["a/1"]
    assert pids("q=a/1") == ["a/1", "a/10"]
    assert pids("q=stands+a/10") == ["a/10"]
    assert pids("q=a/&domain=robotics") == ["a/2"]
    assert pids("q=zzz") == []
    assert len(pids("domain=nowhere&text=maybe&version=x")) == 4


def test_passages_of_an_older_version_can_be_looked_at(benchmark, client) -> None:
    make_passage(benchmark, "old")
    older = CorpusVersion.objects.current(benchmark)
    make_version(benchmark, "cleaned")
    make_passage(benchmark, "new")

    def pids(query: str) -> list[str]:
        return [row.pid for row in table(client, f"passages/?{query}").rows]

    assert pids("") == ["new"]
    assert pids(f"version={older.pk}") == ["old"]
    elsewhere = CorpusVersion.objects.current(make_benchmark("other"))
    assert pids(f"version={elsewhere.pk}") == ["new"]


def test_list_says_how_much_can_be_searched_so_far(benchmark, client) -> None:
    make_passage(benchmark)
    assert "0 of 1 passages can be searched so far" in text(client, "passages/")
    index_texts(benchmark)
    assert "so far" not in text(client, "passages/")


def test_counted_passages_are_listed_with_their_number(benchmark, client) -> None:
    for n in range(60):
        make_passage(benchmark, f"a/{n:02}", ("biology", "robotics")[n % 3 == 0])
    index_texts(benchmark)
    last = table(client, "passages/?page=2")
    assert (last.total, last.first, last.last, last.has_next) == (60, 51, 60, False)
    assert last.rows[-1].pid == "a/57"
    assert table(client, "passages/?domain=robotics").total == 20
    assert table(client, "passages/?domain=robotics&text=yes").total == 20
    assert table(client, "passages/?domain=robotics&q=a/0").total == 4  # 00, 03, 06, 09


# --- Pages -----------------------------------------------------------------------------------


def test_pages_are_listed_with_their_passages(benchmark, client) -> None:
    page = make_document(benchmark, "moths.html", title="Moths by night")
    make_document(benchmark, "lamps.html", "robotics", title="On lamps by night")
    for n in range(2):
        make_passage(benchmark, f"moths_{n}", document=page, text=f"Wings number{n}.")
    index_texts(benchmark)

    def ids(query: str) -> list[str]:
        return [row.doc_id for row in table(client, f"documents/?{query}").rows]

    assert ids("") == ["moths.html", "lamps.html"]
    assert table(client, "documents/").rows[0].passage_count == 2
    assert ids("q=mot") == ["moths.html"]
    assert ids("q=wings+number1") == ["moths.html"]
    assert ids("q=NIGHT+lam") == ["lamps.html"]
    assert ids("q=night") == ["moths.html", "lamps.html"]
    assert ids("q=night&domain=robotics") == ["lamps.html"]
    assert ids("q=night+wings") == []
    assert ids("domain=robotics") == ["lamps.html"]
    body = text(client, f"documents/{page.pk}/")
    assert "moths_1" in body
    assert "What stands on page moths.html." in body


def test_long_page_is_read_in_parts(benchmark, client) -> None:
    page = make_document(benchmark, text="x" * 50_000 + "the end")
    assert "the end" not in text(client, f"documents/{page.pk}/")
    assert "the end" in text(client, f"documents/{page.pk}/?part=2")
    assert "the end" in text(client, f"documents/{page.pk}/?part=99")


def test_page_of_a_version_that_is_still_loading_does_not_exist(benchmark, client) -> None:
    page = make_document(benchmark)
    CorpusVersion.objects.update(state="loading")
    assert client.get(f"/b/demo/documents/{page.pk}/").status_code == 404
    assert table(client, "documents/").rows == []


def test_source_that_is_no_web_address_is_no_link(benchmark, client) -> None:
    page = make_document(benchmark, source_url="javascript:alert(1)")
    assert 'href="javascript' not in text(client, f"documents/{page.pk}/")


# --- Judgments -------------------------------------------------------------------------------


@pytest.fixture
def labels(benchmark) -> dict[str, Judgment]:
    """An old and a current gold, a superseded debate label, a trial and a human label."""
    query, other = make_query(benchmark, "12"), make_query(benchmark, "3", "robotics")
    first, second = make_passage(benchmark, "a/1"), make_passage(benchmark, "b/1", "robotics")
    old = make_gold(query, first)[0]
    GoldVersion.objects.update(is_current=False, digest="d0")
    pair = {"query": query, "passage": first, "provenance": {}}
    return {
        "old": old,
        "gold": make_gold(query, first, label=2)[0],
        "debate": record_judgment(**pair, label=0, source=Source.DEBATE, practice=True),
        "human": record_judgment(**pair, label=1, source=Source.HUMAN),
        "trial": record_judgment(
            query=other, passage=second, provenance={}, label=0, source=Source.LARA, trial=True
        ),
    }


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", "old gold debate human trial"),
        ("counts=yes", "gold human"),
        ("counts=no", "old debate trial"),
        ("source=original", "old gold"),
        ("source=since", "debate human trial"),
        ("source=human", "human"),
        ("status=superseded", "debate"),
        ("status=trial", "trial"),
        ("label=relevant&counts=yes", "gold human"),
        ("label=other", "debate trial"),
        ("practice=True", "debate"),
        ("domain=robotics", "trial"),
        ("q=12", "old gold debate human"),
        ("q=b/", "trial"),
        ("q=biology-12", "old gold debate human"),
        ("q=biology-3", ""),
        ("q=robotics-", "trial"),
        ("q=zzz", ""),
        ("query=x&passage=9999999&gold=0", "old gold debate human trial"),
    ],
)
def test_judgments_are_narrowed(client, labels, query: str, names: str) -> None:
    shown = {row.pk for row in table(client, f"judgments/?{query}").rows}
    assert shown == {labels[name].pk for name in names.split()}


def test_links_name_a_query_a_passage_and_a_gold(client, labels) -> None:
    old, trial = labels["old"], labels["trial"]

    def pks(query: str) -> list[int]:
        return [row.pk for row in table(client, f"judgments/?{query}").rows]

    assert pks(f"query={trial.query_id}") == [trial.pk]
    assert pks(f"passage={trial.passage_id}") == [trial.pk]
    assert pks(f"gold={old.gold_version_id}") == [old.pk]
    assert f"query={trial.query_id}" in table(client, f"judgments/?query={trial.query_id}").query


def test_gold_versions_say_which_is_current(client, labels) -> None:
    golds = client.get("/b/demo/gold/").context["golds"]
    assert [(row["gold"].is_current, row["count"], row["relevant"]) for row in golds] == [
        (False, 1, 1),
        (True, 1, 1),
    ]


def test_numbers_of_the_overview_lead_to_their_rows(benchmark, client, labels) -> None:
    make_passage(benchmark, "lost", text=None)
    page = client.get("/b/demo/")
    row = next(each for each in page.context["domains"] if each["name"] == "biology")
    base = "domain=biology&"
    counted = {
        "original": f"judgments/?{base}counts=yes&source=original&label=relevant",
        "added": f"judgments/?{base}counts=yes&source=since",
        "without_text": f"passages/?{base}text=no",
        "passages": f"passages/?{base}",
        "queries": f"queries/?{base}",
    }
    for name, path in counted.items():
        assert table(client, path).total == row[name], name
    for link in counted.values():
        assert link.rstrip("&").replace("&", "&amp;") in one_line(page)


# --- Retrieval runs --------------------------------------------------------------------------


def test_runs_lead_to_rankings_and_passages(benchmark, client) -> None:
    query = make_query(benchmark, "12", text="Why do moths circle?", excluded_ids=["a/3"])
    good, bad, lost = (make_passage(benchmark, f"a/{n}") for n in (1, 2, 3))
    make_gold(query, good)
    record_judgment(query=query, passage=bad, label=0, source=Source.HUMAN, provenance={})
    ranked = make_ranking(query, "a/2", "gone", "a/1", "a/3", scores=[4, 3.5, 2, 1])
    runs = table(client, "retrieval/").rows
    assert [(run.name, run.query_count, run.depth) for run in runs] == [("bm25", 1, 4)]
    lists = table(client, f"retrieval/{ranked.run_id}/").rows
    assert [(row.query, row.ranked) for row in lists] == [(query, 4)]
    rows = table(client, f"retrieval/{ranked.run_id}/{query.pk}/").rows
    columns = ("rank", "score", "passage", "label", "is_excluded")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (1, 4, bad, 0, False),
        (2, 3.5, None, None, False),
        (3, 2, good, 1, False),
        (4, 1, lost, None, True),
    ]
    body = text(client, f"retrieval/{ranked.run_id}/{query.pk}/")
    assert "not in the corpus" in body


def test_ranking_is_paged(benchmark, client) -> None:
    ranked = make_ranking(make_query(benchmark), *(f"p{n}" for n in range(120)))
    path = f"retrieval/{ranked.run_id}/{ranked.query_id}/"
    last = table(client, f"{path}?page=99")
    assert ([row["pid"] for row in last.rows][:1], last.number, last.has_next) == (
        ["p100"],
        3,
        False,
    )
    assert table(client, path).next_query == "?page=2"


@pytest.mark.parametrize(
    ("shown", "places"),
    [
        ("relevant", [(3, "a/1")]),
        ("other", [(1, "a/2")]),
        ("none", [(2, "gone"), (4, "a/3")]),
        ("missing", [(2, "gone")]),
        ("excluded", [(4, "a/3")]),
        ("nonsense", [(1, "a/2"), (2, "gone"), (3, "a/1"), (4, "a/3")]),
    ],
)
def test_places_of_a_ranking_are_narrowed(benchmark, client, shown: str, places) -> None:
    query = make_query(benchmark, "12", excluded_ids=["a/3"])
    good, bad, _ = (make_passage(benchmark, f"a/{n}") for n in (1, 2, 3))
    make_gold(query, good)
    record_judgment(query=query, passage=bad, label=0, source=Source.HUMAN, provenance={})
    ranked = make_ranking(query, "a/2", "gone", "a/1", "a/3")
    path = f"retrieval/{ranked.run_id}/{query.pk}/?show={shown}"
    assert [(row["rank"], row["pid"]) for row in table(client, path).rows] == places


def test_narrowed_ranking_keeps_its_filter_from_page_to_page(benchmark, client) -> None:
    ranked = make_ranking(make_query(benchmark), *(f"p{n}" for n in range(120)))
    path = f"retrieval/{ranked.run_id}/{ranked.query_id}/"
    found = table(client, f"{path}?show=missing&page=2")
    assert (found.total, found.first, found.last) == (120, 51, 100)
    assert found.next_query == "?show=missing&page=3"
    assert "Nothing matches" in text(client, f"{path}?show=relevant")


def test_ranking_takes_the_passage_of_its_own_domain(benchmark, client) -> None:
    make_passage(benchmark, "same", "robotics")
    ranked = make_ranking(make_query(benchmark), "same")
    rows = table(client, f"retrieval/{ranked.run_id}/{ranked.query_id}/").rows
    assert rows[0]["passage"] is None


def test_lists_of_a_run_are_searched_and_filtered(benchmark, client) -> None:
    first = make_ranking(make_query(benchmark, "12", text="Why do moths circle a lamp?"), "a")
    make_ranking(make_query(benchmark, "3", "robotics"), "a")

    def qids(query: str) -> list[str]:
        rows = table(client, f"retrieval/{first.run_id}/?{query}").rows
        return [row.query.qid for row in rows]

    assert qids("") == ["12", "3"]
    assert qids("q=1") == ["12"]
    assert qids("q=biology-12") == ["12"]
    assert qids("q=biology-3") == []
    assert qids("q=Lamp+moth") == ["12"]
    assert qids("domain=robotics") == ["3"]


@pytest.mark.parametrize("path", ["documents/", "judgments/", "gold/", "retrieval/"])
def test_empty_lists_say_what_to_do(client, path: str) -> None:
    assert 'class="empty"' in text(client, path)


@pytest.mark.parametrize("of", ["the passage", "its page"])
def test_a_passage_shows_where_it_is_from(benchmark, client, of) -> None:
    source = {"source_url": "https://example.org/frost", "fetched_on": date(2024, 5, 31)}
    page = make_document(benchmark, **(source if of == "its page" else {}))
    own = source if of == "the passage" else {}
    passage = make_passage(benchmark, "a/1", title="On frost", document=page, **own)
    shown = text(client, f"passages/{passage.pk}/")
    for words in ("On frost", 'href="https://example.org/frost"', "Fetched on 31 May 2024"):
        assert words in shown
    if of == "its page":
        assert "Fetched on 31 May 2024" in text(client, f"documents/{page.pk}/")


def test_an_address_that_is_none_of_the_web_is_no_link(benchmark, client) -> None:
    passage = make_passage(benchmark, "a/1", source_url="javascript:alert(1)")
    shown = text(client, f"passages/{passage.pk}/")
    assert "javascript:alert(1)" in shown
    assert 'href="javascript' not in shown
