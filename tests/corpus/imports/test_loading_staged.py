"""What a load writes before it is shown: nobody reads it, and nothing of a dead load is left."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from corpus.imports import loading
from corpus.imports.loading import load, sweep_dead_loads
from corpus.imports.queries import show_queries
from corpus.imports.texts import fill_passages
from corpus.models import (
    CorpusVersion,
    Domain,
    GoldVersion,
    ImportRun,
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    Query,
)
from tests.corpus.import_files import (
    aspect,
    bright_pro,
    bright_row,
    claimed,
    example,
    imported,
    write_lines,
)
from tests.corpus.imports.test_loading_interrupted import expire
from tests.factories import make_member

pytestmark = pytest.mark.django_db
PAIRS = [{"query_id": 7, "doc_id": "light/Moth_1.txt"}]


@pytest.fixture
def at_the_flip(monkeypatch) -> Callable[..., None]:
    """Call a function when all is written and the last transaction has begun."""

    def install(act: Callable[[], None]) -> None:
        real = loading._lock

        def lock(context) -> None:
            act()
            real(context)

        monkeypatch.setattr(loading, "_lock", lock)

    return install


def second_query(root):
    """The same domain with one more query, its gold and a pair."""
    rows = [example(), example(id=8, query="And bats?")]
    aspects = [aspect(1), aspect(2)]
    more = [aspect(1, id="biology-8-a1"), aspect(2, id="biology-8-a2")]
    pairs = [*PAIRS, {"query_id": 8, "doc_id": "light/Moth_1.txt"}]
    return bright_pro(root, examples=rows, aspects=aspects + more, pairs=pairs)


def killed(benchmark, folder, monkeypatch) -> ImportRun:
    """A load whose process ended when everything was written and nothing shown."""

    def die(context) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loading, "_lock", die)
        patch.setattr(loading, "_forget", lambda context: None)
        run = claimed(benchmark, folder)
        with pytest.raises(KeyboardInterrupt):
            load(run)
    expire(run)
    return run


def everything() -> dict[str, int]:
    return {
        "queries": Query.objects.count(),
        "golds": GoldVersion.everything.count(),
        "judgments": Judgment.objects.count(),
        "pools": Pool.everything.count(),
        "pairs": PoolEntry.objects.count(),
        "domains": Domain.objects.count(),
        "passages": Passage.objects.count(),
        "versions": CorpusVersion.objects.count(),
    }


def seen(benchmark) -> tuple[int, ...]:
    """What people find: queries, labels, golds, pools, versions."""
    labels = Judgment.objects.in_benchmark(benchmark)
    return (
        Query.objects.in_benchmark(benchmark).count(),
        labels.count(),
        (labels.original() | labels.standing()).count(),
        GoldVersion.objects.count(),
        benchmark.pools.count(),
        benchmark.versions.filter(state="ready").count(),
        Domain.objects.ready().get().queries.count(),
    )


def test_nothing_that_waits_is_seen(benchmark, tmp_path, at_the_flip) -> None:
    imported(benchmark, bright_pro(tmp_path / "a", pairs=PAIRS))
    before, during, written = seen(benchmark), [], []
    admin = make_member(benchmark, "admin", "admin", "annotator")

    def look() -> None:
        during.append(seen(benchmark))
        written.append(everything())
        client = Client()
        client.force_login(admin)
        page = client.get(reverse("queries", args=["light"])).content.decode()
        assert "Why do moths" in page
        assert "And bats" not in page
        waiting = Query.objects.get(qid="8")
        assert client.get(reverse("query", args=["light", waiting.pk])).status_code == 404

    at_the_flip(look)
    imported(benchmark, second_query(tmp_path / "b"))
    assert during == [before] == [(1, 2, 2, 1, 1, 1, 1)]
    assert (written[0]["queries"], written[0]["golds"], written[0]["pairs"]) == (2, 2, 3)
    assert seen(benchmark) == (2, 6, 4, 2, 2, 1, 2)


def test_a_load_killed_before_the_flip_leaves_nothing(benchmark, tmp_path, monkeypatch) -> None:
    imported(benchmark, bright_pro(tmp_path / "a", pairs=PAIRS))
    before = everything()
    run = killed(benchmark, second_query(tmp_path / "b"), monkeypatch)
    assert everything()["judgments"] == 6
    sweep_dead_loads(benchmark)
    assert everything() == before
    run.refresh_from_db()
    assert (run.staged, run.status) == ({}, "queued")


def test_a_killed_first_load_leaves_an_empty_benchmark(benchmark, tmp_path, monkeypatch) -> None:
    killed(benchmark, bright_pro(tmp_path, pairs=PAIRS), monkeypatch)
    sweep_dead_loads(benchmark)
    assert set(everything().values()) == {0}


def test_a_killed_load_that_is_taken_up_again_loads_all(benchmark, tmp_path, monkeypatch) -> None:
    run = killed(benchmark, bright_pro(tmp_path, pairs=PAIRS), monkeypatch)
    assert run.claim()
    load(run)
    assert (run.status, seen(benchmark)) == ("done", (1, 2, 2, 1, 1, 1, 1))
    assert not Domain.objects.filter(is_ready=False).exists()


def test_a_living_load_is_not_swept(benchmark, tmp_path, at_the_flip) -> None:
    swept = []
    at_the_flip(lambda: swept.append((sweep_dead_loads(benchmark), Query.objects.count())))
    run = imported(benchmark, bright_pro(tmp_path))
    assert (run.status, swept) == ("done", [(0, 1)])


def test_problems_found_at_the_end_leave_nothing(benchmark, tmp_path) -> None:
    folder = bright_pro(tmp_path, pairs=[{"query_id": 7, "doc_id": "absent"}])
    run = imported(benchmark, folder)
    assert "There is no passage absent" in run.problems[0]["message"]
    assert set(everything().values()) == {0}


@pytest.mark.parametrize("brought", ["a query", "a gold", "a pool"])
def test_what_another_load_brought_meanwhile_is_met_by_starting_anew(
    benchmark, tmp_path, at_the_flip, brought
) -> None:
    """The rival goes back with the transaction that finds it, as if it had been undone."""
    imported(benchmark, bright_pro(tmp_path / "a"))
    biology, tries = Domain.objects.get(), []

    def rival() -> None:
        tries.append(brought)
        if len(tries) > 1:
            return
        if brought == "a query":
            Query.objects.create(domain=biology, qid="8", text="Other?")
        elif brought == "a gold":
            GoldVersion.objects.update(is_current=False)
            GoldVersion.objects.create(domain=biology, name="rival", digest="d")
        else:
            digest = Pool.everything.get().provenance["digest"]
            Pool.objects.create(benchmark=benchmark, name="x", provenance={"digest": digest})

    at_the_flip(rival)
    run = imported(benchmark, second_query(tmp_path / "b"))
    assert (run.status, len(tries)) == ("done", 2)
    assert seen(benchmark) == (2, 6, 4, 2, 1, 1, 2)


def test_a_text_that_another_load_filled_in_meanwhile_is_compared_anew(
    benchmark, tmp_path, at_the_flip
) -> None:
    rows = write_lines(tmp_path / "biology.jsonl", [bright_row()])
    imported(benchmark, rows, "bright")
    tries = []

    def rival() -> None:
        tries.append(1)
        if len(tries) == 1:
            Passage.objects.filter(pid="a/b_0.txt").update(text="the other's")

    at_the_flip(rival)
    documents = [{"id": "a/b_0.txt", "content": "ours"}]
    folder = bright_pro(tmp_path / "b", examples=[], aspects=[], documents=documents)
    run = imported(benchmark, folder)
    assert (run.status, len(tries)) == ("done", 2)
    assert Passage.objects.get(pid="a/b_0.txt").text == "ours"


def test_filling_what_is_no_longer_empty_is_refused(benchmark, tmp_path) -> None:
    from corpus.importers.rows import Location, PassageRow
    from corpus.imports.context import ConcurrentLoad
    from corpus.imports.texts import NOWHERE

    imported(benchmark, bright_pro(tmp_path))
    passage, query = Passage.objects.all()[0], Query.objects.get()
    row = PassageRow("biology", passage.pid, "late", Location("f"))
    with pytest.raises(ConcurrentLoad):
        fill_passages({("biology", passage.pid): (passage.pk, row, NOWHERE)})
    values = ["late"] + [""] * 5 + ["[]"] * 4 + [None, False, query.pk]
    with pytest.raises(ConcurrentLoad):
        show_queries(({}, [tuple(values)]))
    passage.refresh_from_db()
    assert passage.text != "late"
