"""Retrievers that others install, and the kit that theirs and ours stand: from a package on the
disk to a run on the leaderboard."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse

from corpus.computing import retrievers, services
from corpus.computing.searching import Payer, Searcher
from corpus.models import RankedList, RetrievalRun, Role, RunComputation
from corpus.retrieval.conformance import CHECKS, TEXTS
from corpus.retrieval.postings import BM25, TFIDF
from corpus.retrieval.protocol import Misbehaved, Order
from corpus.retrieval.vectors import LSA
from kit.errors import Refused
from kit.schema import kept_schema
from llm import endpoints
from tests.corpus.computing.tiny import installed, place, write_source
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _indexes(settings, tmp_path: Path) -> None:
    settings.INDEXES = tmp_path / "indexes"


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[type]:
    """Somebody's package, installed."""
    (tmp_path / "site").mkdir()
    place(tmp_path / "site")
    with installed(tmp_path / "site"):
        found = retrievers.known("tiny")
        assert found is not None
        assert found.kind is not None, found.fault
        kept_schema.cache_clear()  # kept once in each process
        yield found.kind
    kept_schema.cache_clear()


@pytest.fixture
def world():
    benchmark = make_benchmark("ranked")
    query = make_query(benchmark, "1", text=TEXTS[0], excluded_ids=["p4"])
    make_query(benchmark, "2", text="moths lamps")
    passages = [make_passage(benchmark, f"p{n}", text=text) for n, text in enumerate(TEXTS)]
    make_gold(query, passages[0])
    return benchmark


def compute(benchmark, method: str = "tiny", **config) -> RunComputation:
    made = services.start(
        benchmark=benchmark, method=method, config=config, actor=None, claimed=True
    )
    services.run_computation(made)
    made.refresh_from_db()
    return made


def page_of(benchmark) -> str:
    return reverse("run-computations", kwargs={"slug": benchmark.slug})


class Computed:
    """Texts in a benchmark, ranked by a run that is computed there: what has no index of its own,
    or asks a model, as a retriever."""

    def __init__(self, folder: Path, method: str) -> None:
        self.note, self.method = folder / "benchmark.json", method

    def index(self, texts) -> None:
        slug = f"kit-{RetrievalRun.objects.count()}-{self.note.parent.name}"
        benchmark = make_benchmark(slug)
        make_query(benchmark, text="What is it?")
        for n, text in enumerate(texts):
            make_passage(benchmark, f"p{n}", text=text.replace("\0", ""))
        methods = ["bm25", "embeddings"] if self.method == "hybrid" else [self.method]
        runs = [compute(benchmark, method).run.pk for method in methods]
        if self.method == "hybrid":
            runs = [compute(benchmark, "hybrid", runs=runs).run.pk]
        self.note.write_text(json.dumps(runs[0]))

    def search(self, queries, k: int, order: Order):
        run = RetrievalRun.objects.get(pk=json.loads(self.note.read_text()))
        searcher = Searcher(run, run.benchmark.domains.get(), k, payer=Payer(), step=lambda _: None)
        for query in queries:
            found = searcher.search(query)
            yield [int(pid[1:]) for pid, _ in found], [score for _, score in found]


@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    "kind",
    [
        *(BM25, TFIDF, LSA, "tiny"),
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("embeddings", "hybrid")),
    ],
    ids=str,
)
def test_the_kit_is_stood_by_every_retriever_here(kind, check, tmp_path, request) -> None:
    folder = tmp_path / "kit"
    folder.mkdir()
    if kind == "tiny":
        check(request.getfixturevalue("tiny"), folder)
    elif isinstance(kind, str):
        with endpoints.practice_if_unconfigured("embedder"):
            check(lambda place: Computed(place, kind), folder)
    else:
        check(kind, folder)


@pytest.mark.parametrize(
    "wrong",
    ["unknown", "negative", "nan", "twice", "unequal", "many", "pair", "names", "short", "long"],
)
def test_the_kit_tells_who_gives_what_cannot_be_ranked(tiny, wrong: str, tmp_path) -> None:
    with pytest.raises(Misbehaved):
        CHECKS[0](lambda folder: tiny(folder, wrong=wrong), tmp_path)


def test_the_kit_tells_who_leaves_state_outside_the_folder(tiny, tmp_path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with pytest.raises(AssertionError):
        CHECKS[1](lambda folder: tiny(shared), tmp_path)
    with pytest.raises(AssertionError):
        CHECKS[2](lambda folder: tiny(shared), tmp_path)


@pytest.mark.slow
def test_an_installed_retriever_stands_in_form_api_command_and_on_the_leaderboard(
    tiny, world, client, capsys
) -> None:
    client.force_login(make_member(world, "admin", Role.ADMIN))
    page = client.get(page_of(world) + "?method=tiny").content.decode()
    assert "Tiny letters" in page
    assert "tiny-retriever 1.2, 3" in page
    assert all(f'name="{name}"' in page for name in ("least", "fold", "wrong"))
    schema = client.get("/api/schema/?format=json").json()["components"]["schemas"]
    assert "tiny" in json.dumps(schema)
    api = reverse("api-run-computations", kwargs={"slug": world.slug})
    asked = {"method": "tiny", "config": {"least": 12}}
    told = client.post(api, asked, content_type="application/json")
    assert told.status_code == 409
    assert "least is a whole number from 1 to 9" in told.content.decode()
    asked["config"]["least"] = 2
    assert client.post(api, asked, content_type="application/json").status_code == 202
    form = {"method": "tiny", "depth": 5, "least": 2, "fold": "on", "name": "by form"}
    assert client.post(page_of(world), form).status_code == 302
    call_command(
        *("compute_run", "--benchmark", world.slug, "--method", "tiny", "--name", "letters"),
        *("--set", "least=2", "--set", "fold=false"),
    )
    run = RetrievalRun.objects.get(name="letters")
    lists = dict(RankedList.objects.filter(run=run).values_list("query__qid", "pids"))
    assert lists["1"][0] == "p0"
    assert "p4" not in lists["1"]
    assert len(lists["2"]) == 5
    # Name, version and settings are in the run, and hashed.
    config = run.provenance["config"]
    assert (config["method"], config["retriever"]) == ("tiny", "tiny-retriever 1.2, 3")
    assert (config["least"], config["fold"], config["wrong"]) == (2, False, "")
    other = compute(world, least=3).run
    assert other.name == "Tiny letters, least 3"
    assert len({run.provenance["recipe"], other.provenance["recipe"]}) == 2
    call_command("leaderboard", world.slug, "--metric", "nDCG@10")
    assert "letters" in capsys.readouterr().out


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("index", "failed. OSError: no room for letters"),
        ("search", "failed. ZeroDivisionError: letters"),
        ("exit", "failed. SystemExit: 3"),
        ("off", "failed. CancelledError:"),
        ("mute", "failed. Mute: it does not say why"),
        ("nul", "failed. OSError: no letter \ufffd"),
        # What decides between equal scores is of the corpus, and of every other search.
        ("order", "failed. ValueError: assignment destination is read-only"),
        ("unknown", "passage 99 is none of 0 to 4, for the query 'Mulch keeps"),
        ("nan", "passage 0 has a score that is no number"),
        ("huge", "passage 0 has a score that is no number"),
        ("twice", "is listed more than once"),
        ("unequal", "5 passages have 4 scores"),
        ("many", "6 passages came where 5 were asked for"),
        ("names", "passages are not named by whole numbers"),
        ("pair", "a list is not a pair of numbers and scores"),
        ("short", "0 lists came for 2 queries"),
        ("long", "more lists came than 2 queries"),
    ],
)
def test_what_goes_wrong_in_it_is_said_in_a_line_and_loses_nothing(
    tiny, world, wrong: str, words: str
) -> None:
    before = compute(world).run
    failed = compute(world, wrong=wrong, least=2)
    assert failed.status == "failed"
    assert "Tiny letters (tiny-retriever 1.2, 3)" in failed.error
    assert words in failed.error
    assert "\n" not in failed.error
    assert list(RetrievalRun.everything.all()) == [before]
    assert RankedList.objects.filter(run=before).count() == 2


def test_what_cannot_be_loaded_is_named_and_the_others_go_on(world, client, tmp_path) -> None:
    points = ["gone = tiny_retriever:Gone", "nowhere = no_such_module:X", "json = json:loads"]
    points += [f"{name} = tiny_retriever:Tiny" for name in ("bm25", "tiny", "Big")]
    points += [f"{name} = tiny_retriever:{name.title()}" for name in ("lines", "endless", "above")]
    place(tmp_path, "\n".join(points))
    place(tmp_path, name="another", points="tiny = tiny_retriever:Tiny")
    with (tmp_path / "tiny_retriever.py").open("a") as module:
        module.write(
            'class Lines(Tiny): title = "a\\0b"\n'
            'class Endless(Tiny): settings = {"least": float("inf")}\n'
            'class Above(Tiny): settings = {"least": (9, 1, 3)}\n'
        )
    client.force_login(make_member(world, "admin", Role.ADMIN))
    with installed(tmp_path):
        page = client.get(page_of(world)).content.decode()
        for words in (
            "The retriever gone of tiny-retriever 1.2 cannot be used: AttributeError",
            "The retriever nowhere of tiny-retriever 1.2 cannot be used: ModuleNotFoundError",
            "The retriever bm25 of tiny-retriever 1.2 is left out: a method here has that name.",
            "several packages bring one of this name",
            "a name is at most 40 small letters",
            "its title is not a text in one line",
            "the setting least is no finite number",
            "the default of least is not between its least and its most",
        ):
            assert words in page
        with pytest.raises(Refused, match="gone of tiny-retriever") as refused:
            compute(world, "gone")
        assert refused.value.field == "method"
        assert compute(world, "bm25").status == "done"


def test_another_version_is_not_taken_for_the_one_that_was_asked(tiny, world, monkeypatch) -> None:
    run = compute(world).run
    waiting = services.start(
        benchmark=world, method="tiny", config={"least": 2}, actor=None, claimed=True
    )
    monkeypatch.setattr(tiny, "version", "4")
    retrievers.known.cache_clear()
    services.run_computation(waiting)
    waiting.refresh_from_db()
    assert waiting.status == "failed"
    assert "is tiny-retriever 1.2, 4 here, and tiny-retriever 1.2, 3 was asked for" in waiting.error
    with pytest.raises(Refused, match="3 was asked for"):
        Searcher(run, world.domains.get(), 3, payer=Payer(), step=lambda _: None)


@pytest.mark.slow
def test_a_package_that_pip_installed_is_found_by_a_process_of_its_own(tmp_path) -> None:
    source, site = write_source(tmp_path / "source"), tmp_path / "site"
    pytest.importorskip("pip")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", site, source], check=True)
    with installed(site):
        found = retrievers.known("tiny")
    assert found is not None
    assert (found.stamp, found.fault) == ("tiny-retriever 1.2, 3", "")
    assert list(found.settings) == ["least", "fold", "wrong"]
