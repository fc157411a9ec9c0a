"""Workers that die at random: the same version in the end, and hardly a call paid twice."""

import random
from typing import Any

import pytest

from corpus.cleaning.services import EMBEDDERS, start_cleaning
from corpus.cleaning.tasks import drive_claimed
from corpus.models import CleaningRun, CorpusVersion, Passage
from corpus.versions.effective import effective_labels
from llm import endpoints
from llm.models import Call
from tests.corpus.cleaning.rooms import clean, make_corpus
from tests.corpus.scripted import cleaner
from tests.factories import make_gold, make_passage, make_query
from tests.killing import live_until_killed

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = 24


def big_corpus() -> Any:
    benchmark = make_corpus()
    query = make_query(benchmark, "many")
    for n in range(PAGES):
        text = f"Log in\n# Page {n}\nIt tells of {n} ferns.\n# Rest\nMoths fly {n} times."
        passage = make_passage(benchmark, f"many/p{n}_0.txt", text=text)
        if n % 3 == 0:
            make_gold(query, passage)
    return benchmark


def plain(role: str, text: str) -> str:
    return text


def reclaimed(run: CleaningRun) -> CleaningRun:
    again = CleaningRun.objects.select_related("benchmark", "source", "version").get(pk=run.pk)
    assert again.claim()
    return again


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_killed_cleaning_ends_in_the_same_version(settings, monkeypatch, seed: int) -> None:
    rng = random.Random(seed)
    # So few in flight that what kills may repeat is a small part of all calls.
    settings.ASSAY_CALLS_IN_FLIGHT = 2
    benchmark = big_corpus()
    with cleaner(settings, plain) as server:
        peaceful = clean(benchmark, server.endpoint, name="in peace")
        wanted, paid = peaceful.figures["digest"], sum(server.asked.values())
        Call.objects.all().delete()
        peaceful.pages.all().delete()
        server.asked.clear()
        source = CorpusVersion.objects.current(benchmark)
        run = start_cleaning(
            benchmark=benchmark,
            source=source,
            preset="marcus",
            endpoint=server.endpoint,
            actor=None,
            claimed=True,
        )
        kills = 0
        for _ in range(6):
            live_until_killed(run, drive_claimed, monkeypatch, rng.randrange(1, 9))
            run.refresh_from_db()
            if run.is_over:
                break
            kills += 1
            run = reclaimed(run)
        if not run.is_over:
            drive_claimed(run)
            run.refresh_from_db()
        assert (run.status, run.error) == ("done", "")
        assert run.figures["digest"] == wanted
        assert kills
        # What a kill can repeat are the calls whose answers were not written down yet: by the
        # endpoint's own count, and each with its row in the ledger.
        again = server.asked.total() - paid
        assert again <= kills * run.calls_in_flight < paid
        assert again <= Call.objects.exclude(status=Call.Status.ANSWERED).count()
        assert len(server.asked) == paid == Call.objects.answered().count()
    texts = Passage.objects.filter(version=run.version).count()
    assert texts == Passage.objects.filter(version=peaceful.version).count()
    assert not effective_labels(run.version).lost


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["diver_rules", "lsa", "model"])
def test_a_killed_cleaning_by_rules_too(monkeypatch, preset: str) -> None:
    preset, embedder = ("dchunk", preset) if preset in EMBEDDERS else (preset, "")
    options = {"embedder": embedder, "long_from": 20}
    monkeypatch.setattr("corpus.cleaning.rules.CHUNK", 3)
    monkeypatch.setattr("corpus.cleaning.plan._MIN", 7)
    monkeypatch.setattr("corpus.cleaning.plan._LONG", 5)
    benchmark = big_corpus()
    with endpoints.practice_if_unconfigured() as practice:
        wanted = clean(benchmark, practice, preset=preset, name="in peace", options=options).figures
        source = CorpusVersion.objects.current(benchmark)
        run = start_cleaning(
            benchmark=benchmark,
            source=source,
            preset=preset,
            endpoint=practice,
            actor=None,
            claimed=True,
            options=options,
        )
        for steps in (2, 5, 3):
            live_until_killed(run, drive_claimed, monkeypatch, steps)
            run = reclaimed(run)
        drive_claimed(run)
    run.refresh_from_db()
    assert (run.status, run.figures) == ("done", wanted)
