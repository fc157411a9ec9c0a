"""Pools out of retrieval runs (docs/protocol.md 2.1, D02): the union, then the service."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from corpus.models import Judgment, Pool, PoolBuild, PoolEntry, RetrievalRun, Source
from corpus.pooling import Ranking, SystemRank, duplicates, top, union
from corpus.pools.builds import build_pool
from corpus.tasks import build_pool as build_in_worker
from kit.errors import Refused
from kit.models import Event
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_query,
    make_ranking,
)

# The union, pure.


def test_union_keeps_every_place_and_cuts_at_the_depth() -> None:
    rankings = {
        "bm25": Ranking(["a", "b", "c"], [3.0, 2.0, 1.0]),
        "dense": Ranking(["b", "d", "a"], [0.9, 0.8, 0.7]),
        "plain": Ranking(["e"]),
    }
    assert union(rankings, 2) == {
        "a": [SystemRank("bm25", 1, 3.0)],
        "b": [SystemRank("bm25", 2, 2.0), SystemRank("dense", 1, 0.9)],
        "d": [SystemRank("dense", 2, 0.8)],
        "e": [SystemRank("plain", 1, None)],
    }


def test_ranking_is_by_score_then_id_whatever_the_file_says() -> None:
    ranking = Ranking(["c", "b", "a", "d"], [1.0, 2.0, 1.0, 3.0])
    assert [pid for pid, _ in top(ranking, 3)] == ["d", "b", "a"]


def test_excluded_ids_go_before_the_cut_and_repeats_count_once() -> None:
    ranking = Ranking(["x", "a", "a", "b", "c"])
    assert [pid for pid, _ in top(ranking, 2, excluded={"x", "N/A"})] == ["a", "b"]


def test_scores_must_be_as_many_as_ids() -> None:
    with pytest.raises(ValueError, match="zip"):
        top(Ranking(["a", "b"], [1.0]), 2)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), max_size=4), st.integers(1, 8))
def test_union_is_the_set_union_of_the_tops(lists: list[list[str]], depth: int) -> None:
    rankings = {f"s{n}": Ranking(pids) for n, pids in enumerate(lists)}
    expected = set().union(*(list(dict.fromkeys(pids))[:depth] for pids in lists), [])
    places = union(rankings, depth)
    assert places.keys() == expected
    assert all(place.rank <= depth for each in places.values() for place in each)


def test_twins_are_linked_to_the_first_and_unloaded_texts_are_not() -> None:
    texts = [("a", "x"), ("b", "y"), ("c", "x"), ("d", None), ("e", None), ("f", "x "), ("g", "x")]
    assert duplicates(texts) == {"c": "a", "g": "a"}


# The service.


@pytest.fixture
def benchmark(db):
    """Query 1 is ranked by three systems; query 2 has no answers; query 3 only by one."""
    benchmark = make_benchmark()
    one, two = make_query(benchmark, "1"), make_query(benchmark, "2", answers=[" "])
    three = make_query(benchmark, "3", excluded_ids=["p5"])
    texts = {"p3": "same text", "p4": "same text"}
    passages = {
        f"p{n}": make_passage(benchmark, f"p{n}", text=texts.get(f"p{n}", f"Text {n}."))
        for n in range(1, 7)
    }
    make_gold(one, passages["p1"])
    make_ranking(one, "p1", "p2", "p3", name="bm25", scores=[3, 2, 1])
    make_ranking(one, "p4", "p3", "gone", name="dense", scores=[0.9, 0.8, 0.7])
    make_ranking(one, "p2", name="plain")
    make_ranking(two, "p2", "p3", name="bm25", scores=[2, 1])
    make_ranking(three, "p5", "p6", "p2", name="bm25", scores=[3, 2, 1])
    return benchmark


def build(benchmark, depth: int = 3, **options) -> Pool:
    runs = list(RetrievalRun.objects.filter(benchmark=benchmark))
    return build_pool(benchmark=benchmark, runs=runs, depth=depth, actor=None, **options)


def pairs(pool: Pool) -> dict[tuple[str, str], list]:
    rows = pool.entries.select_related("query", "passage")
    return {
        (row.query.qid, row.passage.pid): [
            (p["system"], p["rank"], p["score"]) for p in row.systems
        ]
        for row in rows
    }


def test_pool_is_the_union_without_gold_with_every_place(benchmark) -> None:
    assert pairs(build(benchmark)) == {
        ("1", "p2"): [("bm25", 2, 2), ("plain", 1, None)],
        ("1", "p3"): [("bm25", 3, 1), ("dense", 2, 0.8)],
        ("1", "p4"): [("dense", 1, 0.9)],
        ("3", "p6"): [("bm25", 1, 2)],  # p5 is excluded, and goes before the cut
        ("3", "p2"): [("bm25", 2, 1)],
    }


def test_counts_say_what_was_left_out_and_what_each_system_brought(benchmark) -> None:
    found = build(benchmark).provenance
    systems = {each["system"]: each for each in found.pop("systems")}
    assert found == {
        "kind": "pooling",
        "depth": 3,
        "queries": 2,
        "pairs": 5,
        "gold_removed": 1,
        "unknown": 1,
        "without_text": 0,
        "twins": 1,
        "skipped_no_answer": 1,
    }
    keys = ("pairs", "alone", "short", "absent")
    counts = {name: tuple(each[key] for key in keys) for name, each in systems.items()}
    # dense and plain rank nothing for query 3; plain gives one passage where three are wanted.
    assert counts == {"bm25": (4, 2, 0, 0), "dense": (2, 1, 0, 1), "plain": (1, 0, 1, 1)}


def test_same_text_under_two_ids_stays_twice_and_is_linked(benchmark) -> None:
    pool = build(benchmark)
    linked = pool.entries.exclude(same_text_as=None).get()
    assert (linked.passage.pid, linked.same_text_as.passage.pid) == ("p4", "p3")


def test_what_people_call_relevant_is_gold_and_what_machines_do_is_not(benchmark) -> None:
    query = benchmark.domains.get().queries.get(qid="1")
    for pid, source, label in (("p2", "expert", 1), ("p3", "debate", 1), ("p4", "human", 0)):
        passage = benchmark.versions.get().passages.get(pid=pid)
        Judgment.objects.create(query=query, passage=passage, label=label, source=Source(source))
    assert {pid for qid, pid in pairs(build(benchmark)) if qid == "1"} == {"p3", "p4"}


def test_depth_cuts_every_list(benchmark) -> None:
    assert pairs(build(benchmark, depth=1)).keys() == {("1", "p4"), ("1", "p2"), ("3", "p6")}


def test_made_up_name_is_never_one_that_is_taken(benchmark) -> None:
    names = {build(benchmark).name, build(benchmark).name}
    assert len(names) == 2


def test_building_is_an_event_and_the_pool_has_a_name(benchmark) -> None:
    pool = build(benchmark)
    assert pool.name == "Union of 3 runs, top 3"
    event = Event.objects.get(verb="build pool")
    assert (event.target_id, event.data["pairs"]) == (str(pool.pk), 5)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"depth": 0}, "1 to 1000"), ({"depth": 1001}, "1 to 1000"), ({"runs": []}, "at least one")],
)
def test_pool_that_cannot_be_is_refused(benchmark, options, complaint) -> None:
    given = {"runs": list(RetrievalRun.objects.all()), "depth": 3} | options
    with pytest.raises(Refused, match=complaint):
        build_pool(benchmark=benchmark, actor=None, **given)


def test_name_that_is_taken_and_foreign_runs_are_refused(benchmark) -> None:
    build(benchmark, name="mine")
    with pytest.raises(Refused, match="named 'mine' already"):
        build(benchmark, name="mine")
    with pytest.raises(Refused, match="another benchmark"):
        build_pool(
            benchmark=make_benchmark("other"),
            runs=list(RetrievalRun.objects.all()),
            depth=3,
            actor=None,
        )


def test_empty_pool_is_refused_with_the_reason_and_leaves_nothing(benchmark) -> None:
    make_ranking(benchmark.domains.get().queries.get(qid="2"), "p1", name="only")
    runs = [RetrievalRun.objects.get(name="only")]
    with pytest.raises(Refused, match="1 queries without answers"):
        build_pool(benchmark=benchmark, runs=runs, depth=3, actor=None)
    assert not Pool.everything.exists()
    assert not PoolEntry.objects.exists()


@pytest.mark.slow
def test_many_queries_cost_few_statements_each(benchmark, django_assert_max_num_queries) -> None:
    passage = make_passage(benchmark, "more")
    for n in range(120):
        make_ranking(make_query(benchmark, f"many{n}"), passage.pid, name="bm25")
    with django_assert_max_num_queries(4 * 122 + 60):
        assert build(benchmark).provenance["pairs"] == 5 + 120


# The command, the screen, the API.


def test_command_builds_from_named_runs_and_prints_counts(benchmark) -> None:
    out = StringIO()
    options = {"runs": ["bm25", "dense"], "depth": 2, "json": True, "stdout": out}
    call_command("build_pool", benchmark="demo", **options)
    told = json.loads(out.getvalue())
    assert [each["system"] for each in told["systems"]] == ["bm25", "dense"]
    assert told["pairs"] == Pool.objects.get().entries.count()
    out = StringIO()
    call_command("build_pool", benchmark="demo", depth=2, stdout=out)
    assert "bm25: " in out.getvalue()


def test_command_names_what_is_missing(benchmark) -> None:
    with pytest.raises(CommandError, match="no retrieval run 'x'; it has bm25, dense, plain"):
        call_command("build_pool", benchmark="demo", runs=["x"])
    with pytest.raises(CommandError, match="no benchmark 'y'"):
        call_command("build_pool", benchmark="y")


def test_admin_ticks_runs_and_reads_what_each_brought(benchmark) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "ada", "admin"))
    runs = [run.pk for run in RetrievalRun.objects.filter(name__in=("bm25", "dense"))]
    answer = client.post(
        "/b/demo/pools/new/", {"runs": runs, "depth": 3, "name": "Two"}, follow=True
    )
    assert "Waiting to begin" in answer.content.decode()
    build = PoolBuild.objects.get()
    assert not Pool.objects.exists()
    build_in_worker(build.pk)
    answer = client.get(f"/b/demo/pools/builds/{build.pk}/", follow=True)
    text = answer.content.decode()
    assert "Two" in text
    assert "already gold, left out" in text
    assert "same text as p3" in text
    assert client.get("/b/demo/pools/").content.decode().count("Two") == 1
    filtered = client.get(f"/b/demo/pools/{Pool.objects.get().pk}/?twin=yes").content.decode()
    assert "same text as p3" in filtered
    assert ">p6<" not in filtered


def test_form_says_what_is_wrong_where(benchmark) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "ada", "admin"))
    answer = client.post("/b/demo/pools/new/", {"depth": 3})
    assert answer.status_code == 422
    assert "Choose at least one retrieval run." in answer.content.decode()


def test_api_builds_and_shows_the_pairs(benchmark) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "ada", "admin"))
    runs = [run.pk for run in RetrievalRun.objects.all()]
    made = client.post("/api/b/demo/pools/", {"runs": runs, "depth": 3}, "application/json")
    assert (made.status_code, made.json()["status"], made.json()["pool"]) == (202, "queued", None)
    build_in_worker(made.json()["id"])
    done = client.get(f"/api/b/demo/pools/builds/{made.json()['id']}/").json()
    assert (done["status"], done["done"], done["total"]) == ("done", 3, 3)
    url = f"/api/b/demo/pools/{done['pool']}/"
    assert client.get(url).json()["provenance"]["pairs"] == 5
    assert client.get(url).json()["name"] == "Union of 3 runs, top 3"
    first = client.get(f"{url}pairs/").json()["results"][0]
    assert (first["query"], first["systems"][0]["rank"]) == ("1", 2)
    wrong = client.post("/api/b/demo/pools/", {"runs": [999]}, "application/json")
    assert (wrong.status_code, wrong.json()["field"]) == (409, "runs")
