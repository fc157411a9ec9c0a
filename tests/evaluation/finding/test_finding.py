"""The palette finds what a person's lists show, and nothing else."""

from itertools import groupby

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotate.models import ReferencePanel
from corpus.access import enter
from corpus.models import Benchmark, Membership, PoolBuild, RetrievalRun
from corpus.navigation import pages_called
from debate.models import AnswerRun, DebateRun, HintRun, Trial
from evaluation.checklist.now import page_of
from evaluation.models import AgentRun, JudgeRun, Release
from kit.glossary import terms
from tests.factories import (
    index_texts,
    make_benchmark,
    make_member,
    make_passage,
    make_pool,
    make_query,
)
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    """Something called moth of every kind, and as much in another benchmark."""
    for slug in ("other", "demo"):
        made = make_benchmark(slug)
        query = make_query(made, f"{slug}-moth-1", text=f"Why do {slug} moths circle lamps?")
        passage = make_passage(made, f"{slug}-moth.txt", text=f"A {slug} moth flies by the moon.")
        pool = make_pool(made, (query, passage), name=f"{slug} moths")
        version = passage.version
        RetrievalRun.objects.create(
            benchmark=made, name=f"{slug} moth BM25", corpus_version=version
        )
        DebateRun.objects.create(benchmark=made, pool=pool, name=f"{slug} moth debate")
        make_member(made, f"{slug}-moth-fan", "annotator")
        index_texts(made)
    return made


def found(client: Client, benchmark, role: str, words: str) -> str:
    client.force_login(make_member(benchmark, f"a-{role}", role))
    response = client.get(
        reverse("find", args=[benchmark.slug]), {"q": words}, headers={"hx-request": "true"}
    )
    assert response.status_code == 200
    return one_line(response)


EVERYBODY = ["biology-demo-moth-1", "demo-moth.txt", "demo moth BM25"]
SENIORS = ["demo moth debate", "demo moths"]
ADMINS = ["demo-moth-fan"]


@pytest.mark.parametrize(
    ("role", "seen", "unseen"),
    [
        ("annotator", EVERYBODY, SENIORS + ADMINS),
        ("reviewer", EVERYBODY + SENIORS, ADMINS),
        ("admin", EVERYBODY + SENIORS + ADMINS, []),
    ],
)
def test_what_is_called_so(client: Client, benchmark, role, seen, unseen) -> None:
    shown = found(client, benchmark, role, "moth")
    assert all(f">{name}</a>" in shown for name in seen)
    assert not any(f">{name}</a>" in shown for name in unseen)
    assert "other" not in shown


def test_pages_by_their_words_and_all_of_them_without(client: Client, benchmark) -> None:
    shown = found(client, benchmark, "admin", "missing")
    assert f'<a href="{reverse("holes", args=["demo"])}">Missing labels</a>' in shown
    assert "Leaderboard" not in shown
    every = one_line(client.get(reverse("find", args=["demo"]), headers={"hx-request": "true"}))
    assert "Leaderboard" in every
    assert "Endpoints" in every


def test_other_benchmarks_of_the_person_and_their_own_pages(client: Client, benchmark) -> None:
    def shown(words: str) -> str:
        return one_line(client.get(reverse("find", args=["demo"]), {"q": words}))

    assert '<a href="/b/other/">' not in found(client, benchmark, "annotator", "other")
    person = User.objects.get(username="a-annotator")
    other = Benchmark.objects.get(slug="other")
    Membership.objects.create(user=person, benchmark=other, roles=["annotator"])
    assert '<a href="/b/other/">' in shown("other")
    assert f'<a href="{reverse("drafts")}">' in shown("drafts")
    assert "Nothing of this benchmark is called so" in shown("health")


def test_pages_behind_others_are_found_by_their_words(client: Client, benchmark) -> None:
    shown = found(client, benchmark, "admin", "compare two")
    assert f'<a href="{reverse("leaderboard-compare", args=["demo"])}">' in shown
    shown = found(client, benchmark, "annotator", "new")
    assert "New debate run" not in shown


@pytest.mark.few
@pytest.mark.parametrize("role", ["annotator", "reviewer", "admin"])
def test_every_page_that_is_found_opens(client: Client, benchmark, role) -> None:
    found(client, benchmark, role, "")
    access = enter(User.objects.get(username=f"a-{role}"), "demo")
    pages = {page.name: page.url for letter in "aeiou" for _, page in pages_called(access, letter)}
    assert len(pages) > 10
    wrong = {name: client.get(url).status_code for name, url in pages.items()}
    assert {name: code for name, code in wrong.items() if code not in (200, 302)} == {}


def test_runs_of_every_kind_are_found_by_data(client: Client, benchmark) -> None:
    debate = benchmark.debate_runs.get()
    panel = ReferencePanel.objects.create(benchmark=benchmark, name="Moth panel", seed=1)
    agent = AgentRun.objects.create(benchmark=benchmark, name="moth agent", config={})
    made = [
        Release.objects.create(benchmark=benchmark, version="moth-1.0"),
        Trial.objects.create(run=debate, kind="canary", seed=1),
        HintRun.objects.create(panel=panel, prompt_version=1, prompt_sha256="0" * 64),
        AnswerRun.objects.create(benchmark=benchmark, model="moth-7b"),
        PoolBuild.objects.create(benchmark=benchmark, name="moth build", depth=5),
        JudgeRun.objects.create(benchmark=benchmark, agent_run=agent, mode="without_quotes"),
        agent,
    ]
    shown = found(client, benchmark, "admin", "moth")
    for run in made:
        assert f'<a href="{page_of(run)}">' in shown, run
    assert ">Moth panel</a>" in shown
    # Words of the kind itself name it, and what is left its run.
    only = found(client, benchmark, "reviewer", "judge moth")
    assert page_of(made[5]) in only
    assert page_of(debate) not in only
    every = one_line(client.get(reverse("find", args=["demo"]), {"q": "moth"}))
    assert page_of(agent) in every
    assert page_of(made[0]) not in every


def test_without_a_benchmark_the_palette_has_those_of_the_person(client: Client, benchmark) -> None:
    make_member(make_benchmark("third"), "elsewhere", "admin")
    found(client, benchmark, "annotator", "")
    at = reverse("find-everywhere")
    every = one_line(client.get(at, headers={"hx-request": "true"}))
    assert f'<a href="{reverse("benchmark", args=["demo"])}">' in every
    assert "third" not in every.lower()
    assert f'<a href="{reverse("account")}">' in every
    queue = one_line(client.get(at, {"q": "my queue"}, headers={"hx-request": "true"}))
    assert f'<a href="{reverse("queue", args=["demo"])}">My queue</a>' in queue
    assert "Nothing is called so." in one_line(client.get(at, {"q": "zzz"}))
    make_member(Benchmark.objects.get(slug="other"), "a-annotator", "annotator")
    for page in ("home", "account", "glossary"):
        assert f'hx-get="{at}"' in one_line(client.get(reverse(page)))


def test_nothing_is_said_in_words(client: Client, benchmark) -> None:
    assert "Nothing of this benchmark is called so." in found(client, benchmark, "admin", "zzz")


def test_the_palette_explains_terms(client, benchmark) -> None:
    assert 'href="/glossary/#hole"' in found(client, benchmark, "annotator", "hole")
    page = one_line(client.get("/glossary/"))
    parts = [each["section"] for each in terms().values()]
    assert len(set(parts)) == len(list(groupby(parts))), "a term stands twice"
    assert '<dt id="hole">hole</dt><dd>A relevant passage that the original gold lacks</dd>' in page
    # A screen that uses the term leads there.
    holes = one_line(client.get(reverse("holes", args=[benchmark.slug])))
    assert 'href="/glossary/#hole"' in holes
