"""A chain from noisy pages to a release, with people in it, driven as `manage.py chain` does."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from annotate.models import (
    ActiveSpan,
    Aspect,
    Assignment,
    EscalationCase,
    ReferenceAnswer,
    Review,
    ReviewPoint,
    Vote,
    VotingPlan,
    WeightScore,
    WorkState,
)
from annotate.support.services import record_support
from annotate.voting.services import cast_vote
from corpus.access import enter
from corpus.benchmarks.services import add_person
from corpus.cleaning.services import cancel_cleaning
from corpus.computing.services import run_computation
from corpus.judgments.services import record_judgment
from corpus.models import (
    Benchmark,
    CorpusVersion,
    ExpansionRun,
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    Query,
    RerankRun,
    RetrievalRun,
    Role,
)
from corpus.versions.services import stored
from evaluation.chain import services as verbs
from evaluation.chain.effects import effect_chart, effect_table, effects
from evaluation.chain.here import Here
from evaluation.chain.models import Chain, ChainStep, StepState
from evaluation.chain.records import record_of
from evaluation.chain.steps import KINDS
from evaluation.exporters.chain import digest
from evaluation.models import Release
from evaluation.scores.models import ScoreSheet
from evaluation.scores.sheets import carry_out, request_sheet
from evaluation.verification.folder import verify
from kit import audit
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import LostLease, RunStatus
from kit.runs.moves import cancel_run
from kit.runs.polling import due_runs
from llm import endpoints
from llm.apps import _stop_paying
from llm.models import Account, to_units
from tests.corpus.cleaning.rooms import clean
from tests.debate.runs.test_screens import make_debate, make_run
from tests.evaluation.leaderboard.test_matched_pool import derive
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_query,
)

pytestmark = pytest.mark.django_db

WHOLE = """
[[step]]
do = "clean"
[[step]]
do = "systems"
systems = [{ method = "bm25", name = "words" }, { method = "tfidf" }]
[[step]]
do = "pool"
depth = 10
[[step]]
do = "debate"
[[step]]
do = "people"
[[step]]
do = "filter"
[[step]]
do = "aspects"
share = 0.0
[[step]]
do = "agents"
rounds = 1
runs = ["words"]
[[step]]
do = "judge"
[[step]]
do = "answers"
k = 3
baselines = false
[[step]]
do = "grade"
[[step]]
do = "release"
version = "0.3.0"
"""


REST = """
[[step]]
do = "systems"
systems = [{ method = "bm25", name = "words" }]
[[step]]
do = "expand"
method = "rewrite"
name = "other words"
[[step]]
do = "systems"
systems = [{ method = "bm25", name = "words of others", queries = "other words" }]
[[step]]
do = "rerank"
runs = ["words"]
options = { depth = 3 }
[[step]]
do = "pipeline"
retriever = "words"
depth = 3
[[step]]
do = "pool"
depth = 3
aspects = true
[[step]]
do = "holes"
next = 5
[[step]]
do = "debate"
[[step]]
do = "references"
[[step]]
do = "answers"
runs = ["words"]
harness = "cited"
k = 3
baselines = false
[[step]]
do = "support"
"""


@pytest.fixture
def benchmark(settings, tmp_path: Path) -> Benchmark:
    """The demo's texts: noisy pages, queries with aspects, answers."""
    for name in ("INDEXES", "RELEASES"):
        setattr(settings, name, tmp_path / name.lower())
    folder = str(Path(django_settings.BASE_DIR) / "corpus" / "demo")
    call_command("load_benchmark", folder, format="bright_pro", benchmark="garden",
                 name="Garden", stdout=StringIO())  # fmt: skip
    return Benchmark.objects.get(slug="garden")


def run(*args: str) -> dict[str, Any]:
    out = StringIO()
    call_command("chain", *args, "--json", stdout=out)
    return json.loads(out.getvalue())


def vote_on_all(benchmark: Benchmark) -> int:
    """Three people say of every disputed pair that it supports the answer."""
    people = []
    for name in ("ann", "ben", "cem"):
        add_person(benchmark=benchmark, username=name, roles=[Role.ANNOTATOR], actor=None)
        people.append(name)
    plan = VotingPlan.objects.current(benchmark)
    cases = EscalationCase.objects.select_related("query__domain__benchmark", "passage")
    for case in cases:
        for name in people:
            access = enter(User.objects.get(username=name), benchmark.slug)
            cast_vote(case=case, voter=access.user, label=1, access=access, plan=plan)
    return len(cases)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_whole_chain_waits_for_people_and_ends_in_a_release(benchmark, tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(WHOLE)
    told = run("garden", str(plan), "--name", "Whole")
    assert told["status"] == "queued"
    assert "disputed pairs to decide" in told["waits_for"]
    assert [each["do"] for each in told["steps"]][-1] == "people"

    # Looked at again it stands where it stood, and begins nothing twice.
    before = [each.pk for each in benchmark.debate_runs.all()]
    assert run("garden", "--resume")["waits_for"] == told["waits_for"]
    assert [each.pk for each in benchmark.debate_runs.all()] == before

    assert vote_on_all(benchmark) > 0
    told = run("garden", "--resume")
    assert told["status"] == "done"
    figures = {each["do"]: each["figures"] for each in told["steps"]}
    # Systems rank from step 2 on; what debates and people found are holes that move the measures.
    assert "nDCG@10" not in figures["clean"]
    assert figures["systems"]["hole@10"] == 0 < figures["people"]["hole@10"]
    assert figures["debate"]["calls"] > 0  # of the practice model, which costs nothing
    assert figures["judge"]["completeness"] >= 1
    assert 0 <= figures["grade"]["RAGAlign"] <= 1
    benchmark.refresh_from_db()
    version = CorpusVersion.objects.current(benchmark)
    assert version is not None
    assert version.is_derived

    # Each step's input names its settings and the outputs before it.
    steps = list(Chain.objects.get().steps.all())
    outputs = [step.output_sha256 for step in steps]
    assert len(set(outputs)) > 8
    asking = {"debate", "filter", "agents", "judge", "answers", "grade"}
    assert {step.do for step in steps if step.forecast.get("calls")} == asking
    assert {len(each) for each in outputs} == {64}
    source = steps[0].outcome["source_sha256"]
    last = digest([["release", steps[-1].settings, [source, *outputs[:-1]]]])
    assert steps[-1].input_sha256 == last

    release = Release.objects.get(version="0.3.0")
    folder = Path(release.folder)
    assert release.corpus_version_id == version.pk
    assert verify(folder, checksums=True).differences == []
    found = json.loads((folder / "prov.json").read_text())
    assert len(found["activity"]) == len(steps)
    assert found["activity"]["assay:step-12"]["assay:input_sha256"] == last
    assert found["activity"]["assay:step-4"]["prov:label"] == "debate"
    assert found["entity"]["assay:output-4"]["assay:sha256"] == outputs[3]
    assert {"prov:activity": "assay:step-4", "prov:entity": "assay:output-3"} in found[
        "used"
    ].values()
    assert found["entity"]["assay:output-0"] == {"prov:label": "source", "assay:sha256": source}
    assert {"prov:activity": "assay:step-1", "prov:entity": "assay:output-0"} in found[
        "used"
    ].values()
    assert found["entity"]["assay:plan"]["prov:value"] == WHOLE
    debate = found["activity"]["assay:step-4"]
    assert debate["assay:models"] == ["practice-1 at practice"]
    own = benchmark.debate_runs.earliest("pk")
    assert own.prompt_sha256 in debate["assay:prompts"]
    began, ended = (datetime.fromisoformat(debate[f"prov:{name}Time"]) for name in ("start", "end"))
    assert steps[3].started_at.replace(microsecond=0) == began <= ended
    assert f"the {len(steps) - 1} steps that led" in (folder / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_wordings_rerankings_next_labels_and_citations_are_steps(benchmark, tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(REST)
    told = run("garden", str(plan))
    assert (told["status"], told["waits_for"]) == ("done", "")
    chain = Chain.objects.get()
    steps = {(step.number, step.do): step for step in chain.steps.all()}
    made = RetrievalRun.objects.filter(pk__in=steps[5, "pipeline"].outcome["systems"])
    names = ["words", "words of others", "words, pointwise: practice-1", "DIVER (v1)"]
    assert [run.name for run in made.order_by("pk")] == names
    assert steps[7, "holes"].outcome["pairs"] == 5
    assert steps[8, "debate"].runs()[0].pool_id == steps[7, "holes"].outcome["pool"]
    assert {each.do for each in steps.values() if not each.works} == {"holes"}


def start(benchmark: Benchmark, *lines: str, **options: Any) -> Chain:
    plan = "\n".join(f"[[step]]\n{line}" for line in lines)
    return verbs.start_chain(benchmark=benchmark, plan=plan, actor=None, **options)


def drive(chain: Chain) -> Chain:
    """Look at the chain once, as a worker does."""
    Chain.objects.filter(pk=chain.pk).update(look_at=None)
    chain.refresh_from_db()
    if chain.claim():
        verbs.advance(chain)
    chain.refresh_from_db()
    return chain


def test_failed_run_is_said_with_its_reason_and_its_step_can_begin_again(benchmark) -> None:
    chain = drive(start(benchmark, 'do = "clean"'))
    (cleaning,) = chain.steps.get().runs()
    with pytest.raises(Refused, match="still work"):
        verbs.begin_again(run=chain, actor=None)
    cancel_cleaning(run=cleaning, actor=None)
    drive(chain)
    assert (chain.status, chain.waits_for) == (
        "queued",
        f"a person: cleaning run “{cleaning}” is cancelled.",
    )
    verbs.begin_again(run=chain, actor=None)
    drive(chain)
    (again,) = chain.steps.get().runs()
    assert (again.pk != cleaning.pk, again.status) == (True, RunStatus.QUEUED)
    type(again).objects.filter(pk=again.pk).update(status=RunStatus.DONE)
    with pytest.raises(Refused, match="Nothing went wrong"):  # it would be paid for again
        verbs.begin_again(run=chain, actor=None)


def test_command_begins_again_sets_a_budget_and_cancels(benchmark, capsys) -> None:
    older = drive(start(benchmark, 'do = "clean"'))
    newer = drive(start(benchmark, 'do = "aspects"'))
    (cleaning,) = older.steps.get().runs()
    cancel_cleaning(run=cleaning, actor=None)
    with pytest.raises(CommandError, match="no chain 0 here"):
        call_command("chain", "garden", chain=0)
    with pytest.raises(CommandError, match="changed with --resume"):
        call_command("chain", "garden", "plan.toml", cancel=True)
    call_command("chain", "garden", set_budget="2.50", stdout=StringIO())
    newer.refresh_from_db()
    assert newer.budget_usd == Decimal("2.50")
    call_command("chain", "garden", set_budget="none", stdout=StringIO())
    told = run("garden", "--chain", str(older.pk), "--again")
    assert (told["chain"], told["status"]) == (older.pk, "done")  # it goes on, and has one step
    assert [each.pk != cleaning.pk for each in older.steps.get().runs()] == [True]
    told = run("garden", "--cancel")
    assert (told["chain"], told["status"]) == (newer.pk, "cancelled")
    newer.refresh_from_db()
    assert newer.budget_usd is None
    with pytest.raises(CommandError, match="over already"):
        call_command("chain", "garden", chain=newer.pk, cancel=True)
    call_command("chain", "garden", chain=older.pk)
    assert "Chain is done" in capsys.readouterr().out
    with pytest.raises(CommandError, match="no chain that is not over"):
        call_command("chain", "garden", resume=True)


def test_step_that_cannot_begin_fails_the_chain_and_goes_on_when_resumed(benchmark) -> None:
    chain = drive(start(benchmark, 'do = "pool"\ndepth = 3'))
    assert chain.status == "failed"
    assert "Choose at least one retrieval run" in chain.error
    assert chain.steps.get().state == StepState.WAITING
    call_command("compute_run", benchmark="garden", stdout=StringIO())
    verbs.resume_chain(run=chain, actor=None)
    drive(chain)
    assert chain.steps.get().state == StepState.RUNNING


def test_what_could_not_be_left_is_refused_before_it_is_paid(benchmark) -> None:
    version = CorpusVersion.objects.current(benchmark)
    pool = Pool.objects.create(
        benchmark=benchmark, name="mine", of_aspects=True, corpus_version_id=version.key
    )
    aspect = Aspect.objects.filter(query__domain__benchmark=benchmark)[0]
    passage = aspect.query.domain.passages.all()[0]
    PoolEntry.objects.create(pool=pool, query=aspect.query, passage=passage, aspect=aspect.k)
    here = Here(benchmark, None, {"pool": pool.pk})
    adopting = {"preset": "dream", "adopt": True, "settings": {"trial": True}}
    with endpoints.practice_if_unconfigured("agents"):
        with pytest.raises(Refused, match="leave out adopt"):
            KINDS["debate"].begin(here, adopting)
        assert KINDS["debate"].begin(here, adopting | {"adopt": False})
    chain = drive(start(benchmark, 'do = "holes"\nnext = 2\nname = "mine"'))
    assert "There is a pool named 'mine' already" in chain.error
    assert chain.steps.get().state == StepState.WAITING


def test_steps_that_have_not_begun_can_be_planned_anew(benchmark, tmp_path, client) -> None:
    first, typo = 'do = "aspects"\nshare = 0.0', 'do = "pool"\nruns = ["wrods"]'
    chain = drive(start(benchmark, first, typo))
    drive(chain)
    assert "There is no retrieval run 'wrods'" in chain.error
    began = chain.steps.get(number=1)
    old, review = chain.plan, '[[step]]\ndo = "review"\nshare = 0.0\n'
    with pytest.raises(Refused, match="Step 1 has begun"):
        verbs.change_plan(run=chain, plan=review, actor=None)

    add_person(benchmark=benchmark, username="boss", roles=[Role.ADMIN], actor=None)
    client.force_login(User.objects.get(username="boss"))
    again = f"[[step]]\n{first}\n{review}"
    refused = client.post(f"/b/garden/chains/{chain.pk}/plan/", {"plan": review})
    assert refused.status_code == 422
    assert "Step 1 has begun: it stays as it is." in refused.content.decode()
    assert refused.content.decode().count("do = &quot;review&quot;") == 1  # nothing typed is lost
    client.post(f"/b/garden/chains/{chain.pk}/plan/", {"plan": again})
    page = client.get(f"/b/garden/chains/{chain.pk}/").content.decode()
    assert "Second reviews" in page
    longer = client.post(f"/api/b/garden/chains/{chain.pk}/plan/", {"plan": f"{again}{review}"})
    assert [each["do"] for each in longer.json()["steps"]] == ["aspects", "review", "review"]
    kept = Event.objects.filter(verb="change plan").earliest("pk")
    assert (kept.data["before"], kept.actor.username) == (old, "boss")
    plan = tmp_path / "plan.toml"
    plan.write_text(again)
    told = run("garden", str(plan), "--resume")
    assert [each["do"] for each in told["steps"]] == ["aspects", "review"]
    assert (told["status"], Chain.objects.get().total) == ("done", 2)
    assert chain.steps.get(number=1).output_sha256 == began.output_sha256
    with pytest.raises(Refused, match="over already"):
        verbs.change_plan(run=chain, plan=again, actor=None)


def test_a_step_that_was_refused_what_it_came_to_can_begin_again(benchmark, monkeypatch) -> None:
    def refuse(*given: Any) -> dict[str, Any]:
        raise Refused("It came to nothing.")

    kind = KINDS["aspects"]
    monkeypatch.setitem(KINDS, "aspects", replace(kind, leave=refuse))
    chain = drive(start(benchmark, 'do = "aspects"\nshare = 0.0'))
    assert (chain.status, chain.error) == ("failed", "It came to nothing.")
    monkeypatch.setitem(KINDS, "aspects", kind)
    verbs.begin_again(run=chain, actor=None)
    assert chain.steps.get().state == StepState.WAITING
    assert drive(chain).status in ("done", "queued")


def test_chain_whose_plan_cannot_be_carried_out_can_be_given_up(benchmark) -> None:
    chain = drive(start(benchmark, 'do = "pool"\ndepth = 3'))
    assert chain.status == "failed"
    verbs.cancel_chain(run=chain, actor=None)
    assert chain.status == "cancelled"
    with pytest.raises(Refused, match="over already"):
        verbs.cancel_chain(run=chain, actor=None)


def test_nothing_begins_where_the_lease_was_lost(benchmark) -> None:
    chain = start(benchmark, 'do = "clean"', claimed=True)
    Chain.objects.filter(pk=chain.pk).update(fence=chain.fence + 1)
    with pytest.raises(LostLease):
        verbs._begin(chain, chain.steps.get())
    assert chain.steps.get().works == []
    assert not benchmark.cleaning_runs.exists()


def test_chain_that_waits_is_due_again_only_after_a_while(benchmark) -> None:
    chain = drive(start(benchmark, 'do = "aspects"'))
    assert "experts: 0 of 8 queries are submitted, 100% are wanted" in chain.waits_for
    assert Chain not in [model for model, *_ in due_runs()]
    Chain.objects.update(look_at=chain.created_at)
    assert Chain in [model for model, *_ in due_runs()]


def test_restored_chain_waits_for_a_person(benchmark) -> None:
    chain = start(benchmark, 'do = "clean"')
    _stop_paying(lambda table: ["status", "error", "lease_until"] * (table == Chain._meta.db_table))
    chain.refresh_from_db()
    assert chain.status == "paused"
    assert "restored from a backup" in chain.error
    verbs.resume_chain(run=chain, actor=None)
    assert drive(chain).error == ""


def test_cancelled_chain_begins_nothing_more(benchmark) -> None:
    chain = start(benchmark, 'do = "clean"')
    verbs.cancel_chain(run=chain, actor=None)
    assert drive(chain).status == "cancelled"
    assert not benchmark.cleaning_runs.exists()


def test_budget_of_the_chain_bounds_what_is_left_for_each_step(benchmark) -> None:
    chain = start(
        benchmark, 'do = "agents"\nbudget_usd = 3', 'do = "answers"', budget_usd=Decimal(4)
    )
    first, second = chain.steps.all()
    assert verbs.here_at(first).budget == 3
    ChainStep.objects.filter(pk=first.pk).update(spent_usd="2.505")
    # 4 - 2.505 in whole cents, rounded down
    assert verbs.here_at(second).budget == Decimal("1.49")


def test_what_a_step_spent_before_it_began_again_counts(benchmark) -> None:
    with endpoints.practice_if_unconfigured("answerer"):
        chain = drive(start(benchmark, 'do = "answers"'))
    step = chain.steps.get()
    (answers,) = step.runs()
    cancel_run(run=answers, actor=None)
    Account.objects.filter(pk=answers.account_id).update(spent_units=to_units(Decimal("0.30")))
    verbs.begin_again(run=chain, actor=None)
    Chain.objects.update(budget_usd="1.00")
    chain.refresh_from_db()
    step = chain.steps.get()
    assert step.spent_usd == Decimal("0.30")
    # 1.00 - 0.30 of the chain's, 0.50 - 0.30 of the step's own
    assert verbs.here_at(step).budget == Decimal("0.70")
    step.budget_usd = Decimal("0.50")
    assert verbs.here_at(step).budget == Decimal("0.20")
    verbs.cancel_chain(run=chain, actor=None)
    with pytest.raises(Refused, match="over already"):
        verbs.begin_again(run=chain, actor=None)


def test_nothing_is_left_where_the_lease_was_lost(benchmark) -> None:
    chain = start(benchmark, 'do = "aspects"\nshare = 0.0', claimed=True)
    assert verbs._take(chain, chain.steps.get()) == ""
    Chain.objects.update(status=RunStatus.CANCELLED)
    with pytest.raises(LostLease):
        verbs._take(chain, chain.steps.get())
    assert chain.steps.get().state == StepState.RUNNING


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "do", ['do = "rerank"\nmethod = "oracle"', 'do = "expand"\nmethod = "rewrite"']
)
@pytest.mark.parametrize("option", ["claimed = true", 'actor = "me"', 'source = "bm25"'])
def test_options_are_settings_of_the_method_and_nothing_else(benchmark, do, option) -> None:
    call_command("compute_run", benchmark="garden", stdout=StringIO())
    with endpoints.practice_if_unconfigured("judge"):
        chain = drive(start(benchmark, f"{do}\noptions = {{ {option} }}"))
    assert chain.status == "failed"
    assert f"has no setting {option.split()[0]!r}" in chain.error
    assert not RerankRun.objects.exists()
    assert not ExpansionRun.objects.exists()


def test_scores_are_asked_for_by_who_has_the_chain(benchmark) -> None:
    call_command("compute_run", benchmark="garden", stdout=StringIO())
    early = request_sheet(benchmark=benchmark, actor=None, claimed=True)
    chain = drive(start(benchmark, 'do = "aspects"\nshare = 0.0'))
    carry_out(early)
    audit.record(actor=None, verb="label", target=benchmark, scope="garden")
    with pytest.raises(LostLease):  # given back, and not claimed again
        verbs._take(chain, chain.steps.get())
    assert (chain.steps.get().sheet, ScoreSheet.objects.get()) == (early, early)


def test_figures_are_those_of_scores_begun_after_the_step(benchmark) -> None:
    call_command("compute_run", benchmark="garden", stdout=StringIO())
    early = request_sheet(benchmark=benchmark, actor=None, claimed=True)
    chain = drive(start(benchmark, 'do = "aspects"\nshare = 0.0'))
    assert (chain.steps.get().sheet, chain.waits_for) == (early, "its scores")
    carry_out(early)
    # A label that changes meanwhile, by its event.
    audit.record(actor=None, verb="label", target=benchmark, scope="garden")
    chain = drive(chain)
    own = chain.steps.get().sheet
    assert own != early
    assert (chain.status, chain.waits_for) == ("queued", "its scores")
    # Where these fail, those of before are not shown as what the step did.
    ScoreSheet.objects.filter(pk=own.pk).update(status=RunStatus.FAILED)
    chain = drive(chain)
    assert (chain.status, chain.steps.get().figures) == ("done", {})


def begun(benchmark: Benchmark) -> ChainStep:
    return drive(start(benchmark, 'do = "aspects"\nshare = 0.0')).steps.get()


def test_a_chain_begins_with_a_digest_of_what_is_there(benchmark) -> None:
    first = begun(benchmark)
    assert len(first.outcome["source_sha256"]) == 64
    assert begun(benchmark).input_sha256 == first.input_sha256
    seen = {first.input_sha256}
    query = Query.objects.in_benchmark(benchmark)[0]
    passage = query.domain.passages.all()[0]
    call_command("compute_run", benchmark="garden", stdout=StringIO())

    def changed() -> bool:
        now = begun(benchmark).input_sha256
        is_new = now not in seen
        seen.add(now)
        return is_new

    assert changed()  # a run that no chain made
    for row, field, value in (
        (passage, "text", "Another text."),
        (query, "text", "Another query?"),
        (query.aspects.all()[0], "content", "Another aspect."),
    ):
        type(row).objects.filter(pk=row.pk).update(**{field: value})
        assert changed(), field
    other = query.domain.passages.exclude(judgments__query=query)[0]
    make_gold(query, other)
    assert changed()
    ann = User.objects.create(username="ann")
    written = ReferenceAnswer.objects.create(
        query=query, author="person", version=1, text="So.", created_by=ann
    )
    assert not changed()  # nobody reads it before it is published
    ReferenceAnswer.objects.filter(pk=written.pk).update(is_chosen=True)
    assert changed()
    benchmark.query_sources.create(name="other words", digest="0" * 64)
    assert changed()


def test_what_reviewers_said_is_part_of_what_a_review_made(benchmark) -> None:
    def made() -> str:
        return digest(KINDS["review"].lines(Here(benchmark, None), ()))

    query = Query.objects.in_benchmark(benchmark)[0]
    aspect, gold = query.aspects.all()[0], query.gold_passages.all()[0]
    ann, ben = (User.objects.create(username=name) for name in ("ann", "ben"))
    seen = [made()]
    assert made() == seen[0]
    work = Assignment.objects.create(query=query, holder=ann, state=WorkState.SUBMITTED)
    seen.append(made())
    Assignment.objects.filter(pk=work.pk).update(state=WorkState.ACCEPTED)
    seen.append(made())
    review = Review.objects.create(query=query, reviewer=ben, author=ann)
    WeightScore.objects.create(
        aspect=aspect, scorer=ben, author=ann, weight=2, author_weight=4, review=review,
        scale=aspect.scale,
    )  # fmt: skip
    seen.append(made())
    point = ReviewPoint.objects.create(
        review=review, kind="passage", passage=gold.passage, status="raised"
    )
    seen.append(made())
    ReviewPoint.objects.filter(pk=point.pk).update(status="settled")
    seen.append(made())
    type(gold).objects.filter(pk=gold.pk).update(ended_at=review.created_at)
    seen.append(made())
    assert len(set(seen)) == 7


def test_a_plan_tells_what_embeddings_may_cost(benchmark, settings, tmp_path) -> None:
    settings.OPENAI_API_KEY, settings.ASSAY_MODEL = "sk-stub", "vectors-1"
    price = {"endpoint": "*", "model": "vectors-1", "input": "2", "cached": "2", "output": "0"}
    (tmp_path / "prices.json").write_text(json.dumps([price | {"valid_from": "2020-01-01"}]))
    settings.ASSAY_PRICES = str(tmp_path / "prices.json")
    plan = """[[step]]
    do = "systems"
    systems = [{ method = "bm25" }, { method = "embeddings", document_prefix = "d: " }]"""
    ((_, told),) = verbs.forecast_plan(benchmark, plan)
    passages = Passage.objects.in_version(CorpusVersion.objects.current(benchmark)).with_text()
    queries = Query.objects.in_benchmark(benchmark)
    tokens = calls = 0
    for rows, prefix in ((passages, 3), (queries, 0)):
        texts = list(rows.values_list("domain", "text"))
        for domain in {of for of, _ in texts}:
            own = [len(text) + prefix for of, text in texts if of == domain]
            calls, tokens = calls + -(-len(own) // 64), tokens + -(-sum(own) // 4)
    assert told["calls"] == calls
    assert Decimal(told["usd"]) == Decimal(2 * tokens) / 1_000_000
    assert verbs.forecast_plan(benchmark, '[[step]]\ndo = "systems"')[0][1] == {}


def stepped(*steps: tuple[str, dict[str, Any], str]) -> list[ChainStep]:
    return [
        ChainStep(number=number, do=do, figures=figures, spent_usd=Decimal(usd), state="done")
        for number, (do, figures, usd) in enumerate(steps, start=1)
    ]


def test_effects_tell_what_each_step_changed_and_what_a_dollar_bought() -> None:
    steps = stepped(
        ("clean", {}, "0"),
        ("systems", {"nDCG@10": 0.5, "hole@10": 0.0}, "0"),
        ("debate", {"nDCG@10": 0.3, "hole@10": 0.2}, "4"),
        ("people", {}, "0"),
        ("judge", {"nDCG@10": 0.35, "hole@10": 0.2, "completeness": 4.0}, "1"),
    )
    table = effect_table(steps)
    found = {head: [row[place].value for row in table.rows]
             for place, head in enumerate(table.header)}  # fmt: skip
    assert found["change of nDCG@10"] == [
        *(None, None, pytest.approx(-0.2), None, pytest.approx(0.05))
    ]
    assert found["change of nDCG@10 per dollar"][2:] == [
        *(pytest.approx(-0.05), None, pytest.approx(0.05))
    ]
    assert found["change of hole@10 per dollar"][2] == pytest.approx(0.05)
    # Completeness came with the last step: it changed nothing yet.
    assert "change of completeness" not in found
    assert (found["completeness"][-1], found["spent"]) == (4.0, [0, 0, 4, 0, 1])
    assert [row[0].value for row in table.rows][2] == "3. debate"


def test_a_dollar_paid_to_people_is_a_dollar() -> None:
    def paid(usd: float, currency: str) -> dict[str, Any]:
        return {"people_cost": usd, "people_currency": currency}

    steps = stepped(
        ("debate", {"nDCG@10": 0.3}, "1"),
        ("people", {"nDCG@10": 0.5, **paid(4.0, "USD")}, "0"),
        # Models and people together: 0.1 for 0.5 + 1.5.
        ("review", {"nDCG@10": 0.6, **paid(1.5, "USD")}, "0.5"),
        ("aspects", {"nDCG@10": 0.8, **paid(3.0, "EUR")}, "0"),
        ("people", {"nDCG@10": 0.9, **paid(0.0, "USD")}, "0"),
    )
    table = effect_table(steps)
    place = table.header.index("change of nDCG@10 per dollar")
    near = pytest.approx
    assert [row[place].value for row in table.rows] == [None, near(0.05), near(0.05), None, None]
    assert table.header[-3] == "people, EUR/USD"
    assert table.notes[-1] == "Per dollar of models, and of people where they are paid in USD."


def test_the_same_runs_stand_before_and_after_a_step_and_what_it_adds_beside_them() -> None:
    def of(**runs: float) -> dict[str, Any]:
        return {"by_run": {name: {"nDCG@10": value} for name, value in runs.items()}}

    judged = of(words=0.6, dense=0.8, piped=0.5)
    judged["by_run"]["agent"] = {"completeness": 4.0}
    steps = stepped(
        ("pool", of(words=0.4, dense=0.6), "0"),
        ("debate", of(words=0.5, dense=0.8), "2"),
        # It ranks worse than both: no measure of theirs has fallen.
        ("pipeline", of(words=0.5, dense=0.8, piped=0.2), "1"),
        ("judge", judged, "1"),
        ("clean", {}, "0"),
        ("systems", of(words=0.9), "0"),
    )
    found = [(e.step.do, e.added, e.runs, e.after.get("nDCG@10"), e.changes.get("nDCG@10"))
             for e in effects(steps)]  # fmt: skip
    near = pytest.approx
    assert found == [
        ("pool", False, ("dense", "words"), near(0.5), None),
        ("debate", False, ("dense", "words"), near(0.65), near(0.15)),
        ("pipeline", False, ("dense", "words"), near(0.65), near(0.0)),
        ("pipeline", True, ("piped",), near(0.2), None),
        ("judge", False, ("agent", "dense", "piped", "words"), near(1.9 / 3), near(0.4 / 3)),
        ("clean", False, (), None, None),
        # Other passages: the same name is another run.
        ("systems", False, ("words",), near(0.9), None),
    ]
    table = effect_table(steps)
    rows = [[cell.value for cell in row] for row in table.rows]
    assert [row[:2] for row in rows][2:4] == [
        ["3. pipeline", "dense, words"], ["3. pipeline, added", "piped"]
    ]  # fmt: skip
    per_dollar = table.header.index("change of nDCG@10 per dollar")
    assert rows[1][per_dollar] == near(0.075)
    # Nothing fell, so the picture shows no fall.
    assert "nDCG@10: 0.200" not in str(effect_chart(steps))
    assert "nDCG@10, machine gold" not in table.header


def test_what_people_cost_stands_beside_what_is_spent(benchmark) -> None:
    VotingPlan.objects.create(benchmark=benchmark, version=1, hourly_pay="18", currency="EUR")
    query = Query.objects.in_benchmark(benchmark)[0]
    passage = query.domain.passages.exclude(judgments__query=query)[0]
    case = EscalationCase.objects.create(
        query=query, passage=passage, origin="debate:1", status="closed"
    )
    debated = make_run(benchmark)
    make_debate(debated, "escalated", query=query, passage=passage, case=case)
    for number, ms in enumerate((40_000, 60_000, None)):
        voter = make_member(benchmark, f"voter-{number}", "annotator")
        Vote.objects.create(case=case, voter=voter, label=1, elapsed_ms=ms)
    chain = start(benchmark, 'do = "pool"', 'do = "debate"', 'do = "people"', 'do = "people"')
    before = chain.steps.filter(number__lt=3)
    before.update(state=StepState.DONE, outcome={"debate": debated.pk, "source_sha256": ""})
    drive(chain)
    step = chain.steps.get(number=3)
    # 100 s at 18 an hour.
    assert (step.figures["people_cost"], step.figures["people_currency"]) == (0.5, "EUR")
    assert record_of(step)["figures"]["people_cost"] == 0.5
    assert step.spent_usd == 0
    table = effect_table(list(chain.steps.all()))
    place = table.header.index("people, EUR")
    # The same votes are paid once.
    assert [row[place].value for row in table.rows] == [None, None, 0.5, 0.0]


def test_another_judge_or_grader_begins_its_measure_anew() -> None:
    def of(completeness: float, aligned: float) -> dict[str, Any]:
        own = {"nDCG@10": 0.5, "RAGAlign": aligned}
        return {"by_run": {"words": own, "agent": {"completeness": completeness}}}

    steps = stepped(
        ("judge", of(4.0, 0.5), "1"),
        ("people", of(4.5, 0.6), "0"),
        ("judge", of(2.0, 0.6), "1"),
        ("grade", of(2.0, 0.9), "1"),
    )
    near = pytest.approx
    assert [dict(each.changes) for each in effects(steps)][1:] == [
        {"nDCG@10": 0.0, "completeness": near(0.5), "RAGAlign": near(0.1)},
        {"nDCG@10": 0.0, "RAGAlign": 0.0},
        {"nDCG@10": 0.0, "completeness": 0.0},
    ]


def test_a_chain_measures_runs_from_before_it_and_machine_gold(benchmark, tmp_path) -> None:
    call_command("compute_run", benchmark="garden", stdout=StringIO())
    (first,) = benchmark.retrieval_runs.all()
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "[[step]]\ndo = 'aspects'\nshare = 0.0\n[[step]]\ndo = 'systems'\n"
        "systems = [{ method = 'bm25', name = 'other', k1 = 0.1 }]\n"
        "[[step]]\ndo = 'review'\nshare = 0.0\n"
    )
    out = StringIO()
    call_command("chain", "garden", str(plan), stdout=out)
    assert f"({first.name})" in out.getvalue()
    assert "is done" in out.getvalue()
    one, two, three = benchmark.chains.get().steps.all()
    assert (one.figures["runs"], two.figures["runs"]) == ([first.name], ["other"])
    assert two.figures["by_run"].keys() == {first.name, "other"} == three.figures["by_run"].keys()
    shown = [(str(e.step), e.added, e.runs) for e in effects([one, two, three])]
    assert shown == [
        ("1. aspects", False, (first.name,)),
        ("2. systems", False, (first.name,)),
        ("2. systems", True, ("other",)),
        ("3. review", False, (first.name, "other")),
    ]
    assert "nDCG@10, machine gold" not in effect_table([one, two, three]).header

    # Agents find support that no expert assigned, of what the first run ranks highest.
    aspect = Aspect.objects.present().order_by("pk").first()
    known = set(aspect.gold_passages.values_list("passage", flat=True))
    gold = set(Judgment.objects.filter(query=aspect.query, label__gt=0).values_list(
        "passage", flat=True))  # fmt: skip
    free = Passage.objects.filter(domain=aspect.query.domain).exclude(pk__in=known | gold).first()
    record_support(aspect=aspect, passage=free, label=1, source="debate", provenance={})
    plan.write_text("[[step]]\ndo = 'review'\nshare = 0.0\n")
    run("garden", str(plan), "--name", "after")
    (after,) = benchmark.chains.get(name="after").steps.all()
    header = effect_table([one, two, three, after]).header
    assert {"nDCG@10, machine gold", "change of nDCG@10, machine gold"} <= set(header)
    of_first = [each.figures["by_run"][first.name] for each in (three, after)]
    # More is gold of the query by then in that view alone.
    assert of_first[0]["nDCG@10"] == of_first[1]["nDCG@10"]
    assert of_first[0]["nDCG@10 (machine)"] != of_first[1]["nDCG@10 (machine)"]


def test_the_picture_of_effects_has_the_money_beside_the_measures() -> None:
    steps = stepped(
        ("systems", {"nDCG@10": 0.5}, "0"),
        ("debate", {"nDCG@10": 0.3}, "4"),
        ("judge", {"nDCG@10": 0.3, "completeness": 4.0}, "1"),
    )
    drawn = str(effect_chart(steps))
    assert "completeness: 0.800" in drawn
    assert "spent, of 5.00 $: 0.800" in drawn
    assert "spent, of 5.00 $: 1.000" in drawn
    assert "spent" not in str(effect_chart(stepped(("systems", {"nDCG@10": 0.5}, "0"))))
    assert effect_chart(stepped(("clean", {}, "0"))) is None


def test_the_picture_has_calls_where_nothing_was_paid_and_people_in_any_case() -> None:
    def of(calls: int = 0, cost: float | None = None, currency: str = "EUR") -> dict[str, Any]:
        people = {} if cost is None else {"people_cost": cost, "people_currency": currency}
        return {"nDCG@10": 0.5, "calls": calls, **people}

    drawn = str(effect_chart(stepped(("debate", of(30), "0"), ("judge", of(10), "0"))))
    assert "calls, of 40: 0.750" in drawn
    assert "calls, of 40: 1.000" in drawn
    # Dollars of both: 1 of models, then 3 of people.
    drawn = str(effect_chart(stepped(("debate", of(30), "1"), ("people", of(0, 3, "USD"), "0"))))
    assert "models and people, of 4.00 $: 0.250" in drawn
    assert "calls" not in drawn
    drawn = str(effect_chart(stepped(
        ("debate", of(30), "0"), ("people", of(0, 1.5), "0"), ("review", of(0, 4.5), "0"),
    )))  # fmt: skip
    assert "calls, of 30: 1.000" in drawn
    assert "people, of 6.00 EUR: 0.250" in drawn


def test_next_labels_are_of_the_version_that_the_chain_cleaned() -> None:
    made = make_benchmark("cleaned")
    query = make_query(made)
    Aspect.objects.create(query=query, k=1, content="Of light.", weight=1)
    make_passage(made, "raw")
    loaded = CorpusVersion.objects.current(made)
    cleaned = derive(loaded, {"raw": ["clean"]})  # as `current = false` leaves it
    pool = Pool.objects.create(benchmark=made, name="gaps", corpus_version=cleaned, of_aspects=True)
    passage = Passage.objects.get(version=cleaned)
    PoolEntry.objects.create(pool=pool, query=query, passage=passage, aspect=1)
    assert CorpusVersion.objects.current(made) == loaded
    here = Here(made, None, {"version": cleaned.pk})
    left = KINDS["holes"].leave(here, {"next": 5}, [])
    chosen = Pool.objects.get(pk=left["pool"])
    assert (chosen.corpus_version, left["pairs"]) == (cleaned, 1)
    assert chosen.entries.get().passage == passage
    nothing = {"pool": None, "pairs": 0}
    assert KINDS["holes"].leave(Here(made, None), {"next": 5}, []) == nothing
    # What it inherits that people found not relevant is not asked about.
    record_judgment(
        query=query, passage=Passage.objects.get(pid="raw"), label=0, source="human", provenance={}
    )
    assert KINDS["holes"].leave(here, {"next": 5}, []) == nothing


def test_verdicts_of_earlier_agents_are_not_those_of_later_ones(benchmark) -> None:
    here = Here(benchmark, None, {"agents": [1], "judges": [2]})
    outcome = KINDS["agents"].leave(here, {}, [])
    assert {**here.left, **outcome}["judges"] == []


def test_a_share_that_is_reached_is_not_waited_for(benchmark) -> None:
    ann = User.objects.create(username="ann")
    domain = benchmark.domains.first()
    Query.objects.bulk_create(Query(domain=domain, qid=f"more-{n}", text="?") for n in range(17))
    queries = Query.objects.in_benchmark(benchmark).order_by("pk")
    Assignment.objects.bulk_create(
        Assignment(query=query, holder=ann, state=WorkState.SUBMITTED) for query in queries[:7]
    )
    # 7 of 25 are .28, though .28 * 25 is 7.000000000000001
    assert KINDS["aspects"].waits(Here(benchmark, None), {"share": 0.28}) == ""
    assert KINDS["aspects"].waits(Here(benchmark, None), {"share": 0.29}) != ""


def test_command_lets_a_worker_go_on_that_has_the_chain(benchmark, monkeypatch) -> None:
    chain = start(benchmark, 'do = "clean"', claimed=True)
    monkeypatch.setattr("time.sleep", lambda _: Chain.objects.update(status=RunStatus.CANCELLED))
    assert run("garden", "--resume")["status"] == "cancelled"
    assert chain.steps.get().works == []


def test_a_harness_that_is_none_has_no_forecast_and_fails_with_words(benchmark) -> None:
    plan = '[[step]]\ndo = "answers"\nharness = "tall"'
    with endpoints.practice_if_unconfigured("answerer"):
        assert [told for _, told in verbs.forecast_plan(benchmark, plan)] == [{}]
        chain = drive(start(benchmark, 'do = "answers"\nharness = "tall"'))
    assert (chain.status, chain.error) == ("failed", "The harnesses are short, long, cited.")


@pytest.mark.parametrize("value", ["nan", '"\\u0000"'])
def test_what_the_database_cannot_keep_is_refused(benchmark, value: str) -> None:
    with pytest.raises(Refused, match="numbers, words"):
        start(benchmark, f'do = "clean"\noptions = {{ x = {value} }}')
    with pytest.raises(Refused, match="dollars and cents"):
        start(benchmark, 'do = "clean"', budget_usd=Decimal("1e30"))


def test_forecast_says_what_is_known_and_keeps_nothing(benchmark, tmp_path, capsys) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[step]]\ndo = "systems"\n[[step]]\ndo = "answers"\n')
    out = StringIO()
    call_command("chain", "garden", str(plan), "--forecast", stdout=out)
    # 8 queries without retrieval and from the gold; no system is there yet
    assert out.getvalue().splitlines()[0] == "1. systems: not known yet"
    assert "2. answers: 16 calls" in out.getvalue()
    plan.write_text('[[step]]\ndo = "holes"\n[[step]]\ndo = "aspects"\nshare = 0.5\n')
    call_command("chain", "garden", str(plan), "--forecast", stdout=out)
    # 4 of the 8 queries; no time, because none was timed
    assert out.getvalue().splitlines()[-2:] == [
        *("1. holes: not known yet", "2. aspects: people: 4 queries")
    ]
    assert not Chain.objects.exists()
    with pytest.raises(CommandError, match="no chain that is not over"):
        call_command("chain", "garden", "--resume")


def test_a_debate_tells_the_votes_that_it_will_ask_for(benchmark) -> None:
    version = CorpusVersion.objects.current(benchmark)
    pool = Pool.objects.create(benchmark=benchmark, name="p", corpus_version_id=version.key)
    query = Query.objects.in_benchmark(benchmark)[0]
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, query=query, passage=each) for each in query.domain.passages.all()[:4]
    )
    here = Here(benchmark, None, {"pool": pool.pk})
    with endpoints.practice_if_unconfigured("agents"):
        told = KINDS["debate"].forecast(here, {})
        # 3.5 % of 4 pairs are disputed; three votes each, a minute each.
        assert told["cases"] == pytest.approx(0.14)
        assert told["votes"] == pytest.approx(3 * 0.14)
        assert told["people_seconds"] == pytest.approx(60 * 3 * 0.14)
        # A trial asks nobody, unless its labels are to count.
        trial = {"settings": {"trial": True}}
        assert "votes" not in KINDS["debate"].forecast(here, trial)
        told = KINDS["debate"].forecast(here, trial | {"adopt": True})
        assert told["votes"] == pytest.approx(3 * 0.14)


def test_people_are_foretold_by_what_is_open_and_left(benchmark, client) -> None:
    VotingPlan.objects.create(benchmark=benchmark, version=1, seconds_per_item=30)
    queries = list(Query.objects.in_benchmark(benchmark).order_by("pk"))
    passages = list(queries[0].domain.passages.exclude(judgments__query=queries[0])[:3])
    debated = make_run(benchmark)
    people = [make_member(benchmark, name, "annotator") for name in ("ann", "ben")]
    for passage, given, status in zip(passages, (0, 2, 2), ("open", "open", "closed"), strict=True):
        case = EscalationCase.objects.create(
            query=queries[0], passage=passage, origin=f"debate:{passage.pk}", status=status
        )
        make_debate(debated, "escalated", query=queries[0], passage=passage, case=case)
        for voter in people[:given]:
            Vote.objects.create(case=case, voter=voter, label=1, elapsed_ms=5_000)
    here = Here(benchmark, None, {"debate": debated.pk})
    # Two cases are open, and 3 * 2 - 2 votes are missing; too few were timed to say how long.
    told = KINDS["people"].forecast(here, {})
    assert told == {"cases": 2, "votes": 4, "people_seconds": 120.0}

    now = timezone.now()
    for number, (query, state) in enumerate(zip(queries, ("submitted", "accepted"), strict=False)):
        Assignment.objects.create(
            query=query, holder=people[number], state=state, submitted_at=now - timedelta(days=1)
        )
        review = Review.objects.create(query=query, reviewer=people[1 - number], status="accepted")
        for person, seconds in ((people[number], 100 + 200 * number), (review.reviewer, 40)):
            at = now - timedelta(hours=1 + number)
            ActiveSpan.objects.create(
                user=person, query=query, start=at, end=at + timedelta(seconds=seconds)
            )
    # 100 s and 300 s for two; 2 of the 4 that are wanted are left.
    told = KINDS["aspects"].forecast(here, {"share": 0.5})
    assert told == {"queries": 2, "people_seconds": 2 * 200.0}
    # Reviewers took 40 s each; 1 of the 8 is accepted.
    assert KINDS["review"].forecast(here, {}) == {"queries": 7, "people_seconds": 7 * 40.0}

    client.force_login(make_member(benchmark, "boss", "admin"))
    plan = '[[step]]\ndo = "aspects"\nshare = 0.5'
    page = client.post("/b/garden/chains/forecast/", {"plan": plan}).content.decode()
    assert "2 queries, 7 minutes" in page
    asked = {"path": "/api/b/garden/chains/forecast/", "content_type": "application/json"}
    (told,) = client.post(**asked, data={"plan": plan}).json()
    assert (told["queries"], told["people_seconds"], told["votes"]) == (2, 400, None)
    chain = drive(start(benchmark, 'do = "aspects"\nshare = 0.5'))
    page = client.get(f"/b/garden/chains/{chain.pk}/").content.decode()
    assert "2 queries, 7 minutes" in page


def test_screens(benchmark, client) -> None:
    add_person(benchmark=benchmark, username="boss", roles=[Role.ADMIN], actor=None)
    client.force_login(User.objects.get(username="boss"))
    here = "/b/garden/chains/"
    assert "No chain yet" in client.get(here).content.decode()
    # The example's steps with what they would take are there before anything is sent.
    assert "1. Clean the corpus" in client.get(f"{here}new/").content.decode()
    refused = client.post(f"{here}new/", {"plan": '[[step]]\ndo = "dance"'})
    assert refused.status_code == 422
    assert "Step 1: there is no step" in refused.content.decode()
    told = client.post(f"{here}forecast/", {"plan": '[[step]]\ndo = "clean"'})
    assert "1. Clean the corpus" in told.content.decode()
    plan = '[[step]]\ndo = "systems"'
    made = client.post(f"{here}new/", {"plan": plan, "name": "By hand"}, follow=True)
    page = made.content.decode()
    assert "By hand" in page
    assert "Run the systems" in page
    assert "Budget" in page
    assert "priority" not in page  # its runs have one, it has none
    chain = drive(Chain.objects.get())
    page = client.get(f"{here}{chain.pk}/").content.decode()
    assert "BM25" in page
    assert "Waits for a worker" in page
    answer = client.get(f"/api/b/garden/chains/{chain.pk}/effects/").json()
    assert answer[0]["header"][0] == "after step"
    client.post(f"{here}{chain.pk}/budget/", {"budget_usd": "2.5"})
    assert Chain.objects.get().budget_usd == 2.5


def test_documents_by_their_best_chunk_are_systems_of_the_chain_that_cut_them() -> None:
    made = make_benchmark("cut")
    text = "Mulch keeps soil moist. Trees give shade. " * 9
    make_gold(make_query(made, text="What does mulch do?"), make_passage(made, "a", text=text))
    cut = clean(made, preset="dchunk", options={"long_from": 16, "most": 16}).version
    here = Here(made, None, {"version": cut.pk, "systems": []})
    (begun,) = KINDS["systems"].begin(here, {"systems": [{"method": "bm25", "by_document": True}]})
    assert begun.claim()
    run_computation(begun)
    begun.refresh_from_db()
    own = Here(made, None, {"version": cut.pk, "systems": [begun.run_id]})
    assert own.systems() == own.systems([begun.run.name]) == [begun.run]
    assert (own.ranked, here.ranked) == (stored(made, None), cut)
