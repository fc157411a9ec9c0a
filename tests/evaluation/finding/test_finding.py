"""The palette finds what a person's lists show, and nothing else."""

from itertools import groupby

import pytest
from django.test import Client
from django.urls import reverse

from corpus.models import RetrievalRun
from debate.models import DebateRun
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
