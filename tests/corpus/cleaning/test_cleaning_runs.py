"""Cleaning runs from their start to a version: with the practice model and by rules."""

import json
import threading
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from corpus.cleaning import reading as cleaning_reading
from corpus.cleaning import services as verbs
from corpus.cleaning.plan import plan
from corpus.cleaning.rules import clean_by_rules, write
from corpus.cleaning.tasks import clean_corpus
from corpus.marcus import asking
from corpus.models import (
    CleaningRun,
    CorpusVersion,
    Crosswalk,
    Document,
    Passage,
    VersionState,
    Violation,
)
from corpus.versions.crosswalk import targets
from corpus.versions.effective import effective_labels
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import LostLease
from kit.runs.moves import pause_run
from kit.runs.sharing import Share
from llm import endpoints
from llm.models import Call
from llm.prompts import PromptTemplate
from tests.corpus.cleaning.rooms import FERNS, MENU, MOTHS, clean, make_corpus, texts
from tests.corpus.scripted import cleaner
from tests.factories import make_gold, make_member, make_query, make_version

pytestmark = pytest.mark.django_db(transaction=True)
CLEAN = FERNS.removeprefix("Jump to content\n")


def labels(version: CorpusVersion) -> set[tuple[str, str, int]]:
    names = dict(Passage.objects.filter(version=version).values_list("pk", "pid"))
    queries = {q.pk: q.qid for d in version.benchmark.domains.all() for q in d.queries.all()}
    return {(queries[e.query], names[e.passage], e.label) for e in effective_labels(version).labels}


def test_marcus_makes_a_version_in_which_no_gold_is_lost(practice) -> None:
    benchmark = make_corpus()
    run = clean(benchmark, practice)
    assert (run.status, run.error) == ("done", "")
    assert run.version.state == VersionState.READY
    assert run.version.parent == run.source
    made = texts(run)
    head, tail = CLEAN.split("# Spores")
    assert made["garden/ferns.txt#g1A"] == head.strip()
    assert made["garden/ferns.txt#g1B"] == "# Spores" + tail
    assert made["garden/ferns.txt#iA"] == MOTHS
    assert made["gone/page_0.txt"] is None
    assert not any(name.startswith("menu") for name in made)
    # Neither half has 30 tokens: the larger one takes the label over.
    assert labels(run.version) == {
        ("1", "garden/ferns.txt#g1B", 1),
        ("1", "garden/ferns.txt#g2B", 1),
        ("2", "garden/ferns.txt#g2B", 1),
        ("2", "gone/page_0.txt", 1),
        ("2", "garden/ferns.txt#iA", 0),
        ("2", "alone/moths.txt#iA", 0),
    }
    assert not effective_labels(run.version).lost
    assert run.practice


def test_the_version_people_work_on_stays_what_it_was(practice) -> None:
    benchmark = make_corpus()
    run = clean(benchmark, practice)
    assert CorpusVersion.objects.current(benchmark) == run.source
    old = Passage.objects.get(pid="garden/ferns_0.txt")
    new = Passage.objects.filter(version=run.version, pid__startswith="garden/ferns.txt#g1")
    assert targets(run.version, [old.pk])[old.pk] == [new.get(pid__endswith="g1B").pk]


@pytest.mark.slow
def test_a_cleaned_version_can_be_cut_again_and_labels_go_through_both(practice) -> None:
    benchmark = make_corpus()
    first = clean(benchmark, practice, preset="marcus_c")
    second = clean(benchmark, practice, preset="marcus_s", source=first.version)
    wanted = {(qid, label) for qid, _, label in labels(first.version)}
    assert {(qid, label) for qid, _, label in labels(second.version)} == wanted
    old = Passage.objects.get(pid="garden/ferns_2.txt")
    assert targets(second.version, [old.pk])[old.pk]


@pytest.mark.slow
def test_a_page_that_did_not_change_is_not_paid_for_again(practice) -> None:
    benchmark = make_corpus()
    first = clean(benchmark, practice)
    paid = Call.objects.count()
    second = clean(benchmark, practice, name="again")
    assert Call.objects.count() == paid
    assert second.pages.filter(reused=True).count() == second.pages.count()
    assert second.figures["digest"] == first.figures["digest"]
    Passage.objects.filter(pid="alone/moths_0.txt").update(text="Moths are awake at night, all.")
    third = clean(benchmark, practice, name="after a change")
    assert third.pages.filter(reused=False).count() == 1
    assert Call.objects.count() > paid


@pytest.mark.slow
def test_two_pages_of_one_text_are_each_taken_over_under_their_own_names(practice) -> None:
    benchmark = make_corpus()
    source, domain = CorpusVersion.objects.current(benchmark), benchmark.domains.get()
    for name in ("first.html", "second.html"):
        Document.objects.create(version=source, domain=domain, doc_id=name, text=MOTHS)
    first = clean(benchmark, practice)
    paid = Call.objects.count()
    second = clean(benchmark, practice, name="again")
    assert (second.status, Call.objects.count()) == ("done", paid)
    assert second.figures["digest"] == first.figures["digest"]
    assert {"first.html#iA", "second.html#iA"} <= texts(second).keys()


@pytest.mark.slow
def test_another_prompt_model_or_temperature_is_paid_for_again(settings, monkeypatch) -> None:
    benchmark = make_corpus()
    plain = asking.prompt

    def rewritten(role: str) -> PromptTemplate:
        found = plain(role)
        return replace(found, system=found.system + " Go slowly.", sha256=found.sha256[::-1])

    with cleaner(settings, lambda role, text: text) as server:
        first = clean(benchmark, server.endpoint)
        paid = server.asked.total()
        warm = clean(benchmark, server.endpoint, name="warm", options={"temperature": 0.7})
        assert server.asked.total() == 2 * paid
        other = clean(benchmark, server.endpoint, name="other model", model="another")
        assert server.asked.total() == 3 * paid
        for module in (asking, cleaning_reading, verbs):
            monkeypatch.setattr(module, "prompt", rewritten)
        last = clean(benchmark, server.endpoint, name="other prompts")
        assert server.asked.total() == 4 * paid
    for run in (warm, other, last):
        assert not run.pages.filter(reused=True).exists()
        assert run.figures["digest"] == first.figures["digest"]


@pytest.mark.slow
def test_the_reasoning_effort_is_sent_where_it_is_set(settings) -> None:
    benchmark = make_corpus()
    with cleaner(settings, lambda role, text: text) as server:
        plain = clean(benchmark, server.endpoint)
        assert not any("reasoning_effort" in body for body in server.asked)
        most = {json.loads(body)["max_tokens"] for body in server.asked}
        server.asked.clear()
        run = clean(benchmark, server.endpoint, options={"reasoning_effort": "low"})
        bodies = [json.loads(body) for body in server.asked]
    assert {body["reasoning_effort"] for body in bodies} == {"low"}
    # What the model thinks counts in the bound, and there is room for it.
    assert {body["max_tokens"] - 4_000 for body in bodies} == most
    assert run.version.recipe["reasoning_effort"] == "low"
    assert "reasoning_effort" not in plain.config
    with endpoints.practice_if_unconfigured() as practice:
        rules = clean(benchmark, practice, preset="diver_rules", name="by rules")
    assert "reasoning_effort" not in rules.config


@pytest.mark.parametrize("preset", ["diver_rules", "dchunk"])
def test_by_rules_ids_are_kept_and_gold_is_never_dropped(preset: str) -> None:
    benchmark = make_corpus()
    menu = Passage.objects.get(pid="menu/page_0.txt")
    options = {"long_from": 8, "most": 24, "overlap": 0.2} if preset == "dchunk" else {}
    run = clean(benchmark, preset=preset, options=options)
    made = texts(run)
    assert run.status == "done"
    assert menu.pid not in made
    assert all(
        pid.split("#")[0]
        in set(Passage.objects.filter(version=run.source).values_list("pid", flat=True))
        for pid in made
    )
    if preset == "diver_rules":
        assert made["garden/ferns_0.txt"] == CLEAN
        assert labels(run.version) == labels(run.source)
    else:
        assert any(pid.endswith("#c2") for pid in made)
        carried = {(qid, pid.split("#")[0], n) for qid, pid, n in labels(run.version)}
        assert carried == labels(run.source)
    assert Crosswalk.objects.filter(version=run.version).count() == len(made)


def test_gold_that_is_furniture_alone_stays_whole_by_rules() -> None:
    benchmark = make_corpus()
    query = make_query(benchmark, "3")
    make_gold(query, Passage.objects.get(pid="menu/page_0.txt"))
    assert texts(clean(benchmark, preset="diver_rules"))["menu/page_0.txt"] == MENU


def test_what_cannot_start_is_refused_in_words(practice) -> None:
    benchmark = make_corpus()
    source = CorpusVersion.objects.current(benchmark)
    common = {"benchmark": benchmark, "source": source, "actor": None}
    with pytest.raises(Refused, match="choose an endpoint"):
        verbs.start_cleaning(preset="marcus", **common)
    with pytest.raises(Refused, match="is no preset"):
        verbs.start_cleaning(preset="polish", **common)
    with pytest.raises(Refused, match="threshold is a number from"):
        verbs.start_cleaning(preset="dchunk", endpoint=practice, options={"threshold": 7}, **common)
    for option, value in (
        ("reasoning_effort", "much"), ("site", 5), ("single_span", "no"), ("embedder", "words")
    ):  # fmt: skip
        with pytest.raises(Refused) as refused:
            verbs.start_cleaning(
                preset="marcus", endpoint=practice, options={option: value}, **common
            )
        assert refused.value.field == option
    with pytest.raises(Refused, match="choose an endpoint"):
        verbs.start_cleaning(preset="dchunk", options={"embedder": "model"}, **common)
    with pytest.raises(Refused, match="No endpoint named"):
        unknown = replace(practice, is_practice=False, default_model="other", name="other")
        verbs.start_cleaning(preset="marcus", endpoint=unknown, budget_usd=Decimal(1), **common)
    empty = make_version(benchmark, "empty")
    with pytest.raises(Refused, match="no text"):
        verbs.start_cleaning(preset="diver_rules", **common | {"source": empty})


def test_a_cancelled_run_leaves_nothing(practice) -> None:
    benchmark = make_corpus()
    admin = make_member(benchmark, "admin", "admin")
    source = CorpusVersion.objects.current(benchmark)
    run = verbs.start_cleaning(
        benchmark=benchmark, source=source, preset="marcus", endpoint=practice, actor=admin
    )
    pause_run(run=run, actor=admin)
    verbs.resume_cleaning(run=run, actor=admin)
    verbs.cancel_cleaning(run=run, actor=admin)
    assert CleaningRun.objects.calling().get() == run
    clean_corpus(run.pk)
    assert list(benchmark.versions.values_list("name", flat=True)) == ["as loaded"]
    assert not CleaningRun.objects.calling().exists()
    run.refresh_from_db()
    with pytest.raises(Refused):
        verbs.resume_cleaning(run=run, actor=admin)
    verbs_of = Event.objects.filter(target_id=str(run.pk)).values_list("verb", flat=True)
    assert set(verbs_of) >= {"start cleaning", "pause cleaning", "cancel cleaning"}


def test_a_half_made_version_is_dropped_by_a_worker_and_its_name_is_free_at_once() -> None:
    benchmark = make_corpus()
    admin = make_member(benchmark, "admin", "admin")
    source = CorpusVersion.objects.current(benchmark)
    common = {"benchmark": benchmark, "source": source, "preset": "diver_rules", "name": "tidy"}
    run = verbs.start_cleaning(actor=admin, claimed=True, **common)
    plan(run)
    clean_by_rules(Share(run, leads=True))
    verbs.cancel_cleaning(run=run, actor=admin)
    assert Passage.objects.filter(version=run.version).count() > 3  # no request waits for them
    again = verbs.start_cleaning(actor=admin, **common)
    with pytest.raises(LostLease):
        run.beat()
    clean_corpus(run.pk)
    assert not Passage.objects.filter(version=run.version_id).exists()
    assert set(Passage.objects.values_list("version", flat=True)) == {source.pk}
    assert again.version in CorpusVersion.objects.all()


def test_a_lease_is_renewed_between_passages_that_take_long(monkeypatch) -> None:
    benchmark = make_corpus()
    source = CorpusVersion.objects.current(benchmark)
    run = verbs.start_cleaning(
        benchmark=benchmark, source=source, preset="diver_rules", actor=None, claimed=True
    )
    plan(run)
    leases = []

    def long_work(text: str, **_: Any) -> str:
        leases.append(run.groups.get().lease_until)
        monkeypatch.setattr("kit.runs.sharing.time.monotonic", lambda: 60.0 * len(leases))
        return text

    monkeypatch.setattr("corpus.cleaning.rules.clean", long_work)
    monkeypatch.setattr("kit.runs.sharing.time.monotonic", lambda: 0.0)
    clean_by_rules(Share(run))
    assert len(leases) > 3
    assert sorted(set(leases)) == leases


def test_a_chunk_that_is_long_in_writing_is_not_taken_over(monkeypatch) -> None:
    benchmark = make_corpus()
    source = CorpusVersion.objects.current(benchmark)
    run = verbs.start_cleaning(
        benchmark=benchmark, source=source, preset="diver_rules", actor=None, claimed=True
    )
    plan(run)
    claimed = []

    def claim() -> None:
        try:
            claimed.append(Share(CleaningRun.objects.get(pk=run.pk), leads=False).claim())
        finally:
            connection.close()

    other = threading.Thread(target=claim)

    def stall(text: str, **_: Any) -> str:
        run.groups.update(lease_until=timezone.now() - timedelta(seconds=1))
        return text

    def long_writing(*given: Any) -> None:
        other.start()
        other.join(0.5)  # it asks the database, and waits there
        write(*given)

    monkeypatch.setattr("corpus.cleaning.rules.clean", stall)
    monkeypatch.setattr("corpus.cleaning.rules.write", long_writing)
    clean_by_rules(Share(run))
    other.join()
    assert claimed == [None]
    assert run.groups.get().status == "done"


def test_a_failed_run_is_given_up_and_leaves_nothing() -> None:
    benchmark = make_corpus()
    admin = make_member(benchmark, "admin", "admin")
    source = CorpusVersion.objects.current(benchmark)
    common = {"benchmark": benchmark, "source": source, "preset": "diver_rules", "name": "tidy"}
    run = verbs.start_cleaning(actor=admin, claimed=True, **common)
    plan(run)
    clean_by_rules(Share(run, leads=True))
    run.finish("failed", error="A prompt changed since this run was made.")
    assert run.can_cancel
    with pytest.raises(Refused, match="named 'tidy' already"):
        verbs.start_cleaning(actor=admin, **common)
    verbs.cancel_cleaning(run=run, actor=admin)
    assert CleaningRun.objects.calling().get() == run
    clean_corpus(run.pk)
    assert set(Passage.objects.values_list("version", flat=True)) == {source.pk}
    assert verbs.start_cleaning(actor=admin, **common).version.name == "tidy"
    run.refresh_from_db()
    with pytest.raises(Refused):
        verbs.cancel_cleaning(run=run, actor=admin)


def test_repairs_and_violations_are_listed(practice) -> None:
    benchmark = make_corpus()
    run = clean(benchmark, practice)
    assert not Violation.objects.filter(page__run=run, is_violation=True).exists()
    assert run.figures["counts"]["safe_clean:boilerplate"] == 2
