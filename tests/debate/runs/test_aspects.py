"""Debates on aspects (docs/protocol.md X06): from a gap to gold that an expert confirms."""

import asyncio
import json
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from annotate.adjudication.services import settle_case, undo_decision
from annotate.candidates.reading import candidates_of, in_state, proposals
from annotate.candidates.services import confirm_candidate, refuse_candidate, take_refusal_back
from annotate.models import (
    Aspect,
    CaseKind,
    CaseStatus,
    EscalationCase,
    GoldPassage,
    SupportLabel,
)
from annotate.voting.eligibility import waiting_for
from annotate.voting.services import cast_vote
from annotate.workspace.gold import undo_verdict
from corpus.access import enter
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Passage, Pool, PoolEntry, RetrievalRun
from corpus.pools.builds import build_pool
from debate import dream
from debate.audits.services import draw_audit
from debate.dream.prompting import aspect_prompts, turn_messages
from debate.models import Debate, DebateRun
from debate.runs.configuration import RunConfig
from debate.runs.forecast import forecast_run
from debate.runs.planning import pairs_left, plan_run
from debate.runs.pump import PairCalls
from debate.runs.services import start_run
from kit.errors import Refused
from llm import endpoints
from llm.models import Call
from tests.annotate.world import signed_in
from tests.debate.runs.making import WORDS, drive
from tests.factories import (
    index_texts,
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_query,
    make_ranking,
)

pytestmark = pytest.mark.django_db(transaction=True)
OTHER = "Bees build their hives out of wax in summer"


@pytest.fixture(autouse=True)
def practice(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    with endpoints.practice_if_unconfigured() as found:
        yield found


def words(tenths: int) -> str:
    """A passage that holds so many tenths of what aspect a1 says."""
    return " ".join(WORDS[:tenths]) + " beside other things."


@pytest.fixture
def garden() -> Any:
    """A query without answers, with two aspects: a2 has gold that a run found, a1 has none."""
    benchmark = make_benchmark()
    query = make_query(benchmark, answers=[])
    Aspect.objects.create(query=query, k=1, content=" ".join(WORDS), weight=3)
    second = Aspect.objects.create(query=query, k=2, content=OTHER, weight=1)
    for tenths in (10, 2, 6):
        make_passage(benchmark, f"p{tenths}", text=words(tenths))
    gold = make_passage(benchmark, "gold", text=OTHER)
    make_gold(query, gold)
    GoldPassage.objects.create(aspect=second, query=query, passage=gold)
    make_ranking(query, "p10", "p2", "p6", "gold", scores=[4, 3, 2, 1])
    return benchmark


def pool_of(benchmark: Any, depth: int = 10) -> Pool:
    runs = list(RetrievalRun.objects.filter(benchmark=benchmark))
    return build_pool(benchmark=benchmark, runs=runs, depth=depth, of_aspects=True, actor=None)


def debated(benchmark: Any, config: RunConfig | None = None) -> DebateRun:
    run = start_run(
        benchmark=benchmark,
        pool=pool_of(benchmark),
        endpoint=endpoints.for_role("agents"),
        actor=None,
        config=config,
        claimed=True,
    )
    return drive(run)


def passage(pid: str) -> Passage:
    return Passage.objects.get(pid=pid)


def first() -> Aspect:
    return Aspect.objects.get(k=1)


def shown(benchmark: Any, person: Any) -> dict[str, tuple[str, int | None]]:
    """(state, label) by passage, as that person reads the candidates."""
    access = enter(person, benchmark.slug)
    found = candidates_of(access, proposals(benchmark).select_related("passage"))
    return {c["entry"].passage.pid: (c["state"], c["label"] and c["label"].label) for c in found}


def test_pool_holds_what_may_support_aspects_of_which_no_run_found_gold(garden) -> None:
    make_passage(garden, "far", text=words(9))  # no run ranks it; the aspect's words find it
    index_texts(garden)
    pool = pool_of(garden)
    found = {
        (e.passage.pid, e.aspect): [s["system"] for s in e.systems] for e in pool.entries.all()
    }
    text = "aspect text (BM25)"
    assert found["far", 1] == [text]
    assert found["p10", 1] == ["bm25", text]
    assert found.keys() == {
        ("p10", 1),
        ("p2", 1),
        ("p6", 1),
        ("far", 1),
    }  # none of a2, nor its gold
    assert pool.provenance["aspects"] == 1
    assert not pool.provenance["skipped_no_answer"]  # none is needed


def test_an_aspect_without_gold_among_the_first_k_is_asked_about(garden) -> None:
    # Among the first 3 is no gold of a2 either; its gold passage itself is not asked about again.
    asked = pool_of(garden, depth=3).entries.values_list("passage__pid", "aspect")
    assert {k for _, k in asked} == {1, 2}
    assert "gold" not in {pid for pid, _ in asked}


def test_agreement_is_a_label_of_support_and_none_of_the_pair(garden) -> None:
    run = debated(garden)
    ended = {d.passage.pid: (d.status, d.label) for d in run.debates.all()}
    assert ended == {"p10": ("agreed", 1), "p2": ("agreed", 0), "p6": ("escalated", None)}
    labels = SupportLabel.objects.values_list("passage__pid", "label", "source", "status")
    assert set(labels) == {("p10", 1, "debate", "standing"), ("p2", 0, "debate", "standing")}
    assert not Judgment.objects.exclude(source="original").exists()
    case = EscalationCase.objects.get()
    assert (case.aspect, case.snapshot["aspect"]) == (first(), first().content)
    assert case.snapshot["answers"] == []
    assert Call.objects.filter(role="aspect_turn").exists()
    assert pairs_left(garden).get(run.pool_id) == 2  # labels of the practice model do not count


def test_votes_decide_support_and_leave_the_pair_alone(garden) -> None:
    debated(garden)
    case = EscalationCase.objects.get()
    voters = [make_member(garden, f"v{n}", "annotator") for n in range(3)]
    for voter in voters:
        cast_vote(case=case, voter=voter, label=1)
    case.refresh_from_db()
    assert (case.status, case.label, case.judgment, case.decided_by) == ("closed", 1, None, "human")
    assert not Judgment.objects.filter(source="human").exists()
    # Voters read what people decided, and nothing that machines said.
    assert shown(garden, voters[0]) == {
        "p10": ("open", None),
        "p2": ("open", None),
        "p6": ("candidate", 1),
    }
    admin = make_member(garden, "admin", "admin")
    assert shown(garden, admin)["p10"] == ("candidate", 1)
    assert SupportLabel.objects.machine_gold().count() == 2


def test_a_label_of_the_pair_decides_nothing_about_its_aspects(garden) -> None:
    run = debated(garden)
    query = run.debates.first().query  # type: ignore[union-attr]
    record_judgment(
        query=query,
        passage=passage("p6"),
        label=0,
        source="expert",
        provenance={"rule": "assigned"},
    )
    assert EscalationCase.objects.get().status == CaseStatus.OPEN
    assert {label.passage.pid for label in SupportLabel.objects.all()} == {"p10", "p2"}


def test_an_expert_confirms_refuses_and_takes_back(garden) -> None:
    debated(garden)
    expert = make_member(garden, "expert", "annotator", "admin")
    gold = confirm_candidate(aspect=first(), passage=passage("p6"), actor=expert)
    case = EscalationCase.objects.get()
    assert (case.status, case.label, case.decided_by) == ("closed", 1, "expert")
    assert Judgment.objects.standing().get().label == 1  # an assignment makes gold of the query
    assert shown(garden, expert)["p6"] == ("gold", 1)
    undo_verdict(query=gold.query, passage=gold.passage, actor=expert)
    assert EscalationCase.objects.get().status == CaseStatus.OPEN
    assert shown(garden, expert)["p6"] == ("open", None)

    with pytest.raises(Refused):
        refuse_candidate(aspect=first(), passage=passage("p10"), reason=" ", actor=expert)
    refuse_candidate(aspect=first(), passage=passage("p10"), reason="Of lamps.", actor=expert)
    assert shown(garden, expert)["p10"] == ("no", 0)
    assert not Judgment.objects.standing().exists()  # it says nothing of the pair
    take_refusal_back(aspect=first(), passage=passage("p10"), actor=expert)
    assert shown(garden, expert)["p10"] == ("candidate", 1)
    standing = SupportLabel.objects.standing().get(passage__pid="p10")
    assert (standing.source, standing.provenance["restored"]) == (
        "debate",
        SupportLabel.objects.filter(passage__pid="p10").order_by("pk").first().pk,  # type: ignore[union-attr]
    )


def test_verdicts_on_an_aspect_are_taken_back_one_after_the_other_and_lose_no_label(garden) -> None:
    debated(garden)
    expert = make_member(garden, "expert", "annotator", "admin")
    case = EscalationCase.objects.get()  # of p6; of p10 agents gave a label
    for pid in ("p6", "p10"):
        of = {"aspect": first(), "passage": passage(pid)}
        refuse_candidate(**of, reason="Of lamps.", actor=expert)
        gold = confirm_candidate(**of, actor=expert)
        undo_verdict(query=gold.query, passage=gold.passage, actor=expert)
        assert shown(garden, expert)[pid] == ("no", 0)
        case.refresh_from_db()
        # The refusal stands again: nobody is asked to vote beside it.
        assert (case.status, case.label, case.decided_by) == ("closed", 0, "expert")
        if pid == "p10":
            # What agents said while the experts' word stood is not lost either.
            take_refusal_back(**of, actor=expert)
            assert shown(garden, expert)[pid] == ("candidate", 1)
    take_refusal_back(aspect=first(), passage=passage("p6"), actor=expert)
    case.refresh_from_db()
    assert (case.status, case.support) == ("open", None)


def test_a_third_persons_decision_on_an_aspect_is_undone_also_once_it_was_restored(garden) -> None:
    debated(garden)
    EscalationCase.objects.update(kind=CaseKind.UNREADABLE)
    third = enter(make_member(garden, "third", "admin"), garden.slug)
    expert = make_member(garden, "expert", "annotator", "admin")
    decision = settle_case(
        case=EscalationCase.objects.get(), access=third, label=1, reason="It says so."
    )
    gold = confirm_candidate(aspect=first(), passage=passage("p6"), actor=expert)
    undo_verdict(query=gold.query, passage=gold.passage, actor=expert)
    assert EscalationCase.objects.get().decided_by == "expert"  # the decision stands again
    undo_decision(decision=decision, access=third)
    assert EscalationCase.objects.get().status == CaseStatus.OPEN
    assert not SupportLabel.objects.standing().filter(passage__pid="p6").exists()


def test_who_refused_a_candidate_before_settles_no_case_of_it(garden) -> None:
    debated(garden)
    expert = make_member(garden, "expert", "annotator", "admin")
    of = {"aspect": first(), "passage": passage("p6"), "actor": expert}
    refuse_candidate(**of, reason="Of lamps.")
    take_refusal_back(**of)
    EscalationCase.objects.update(kind=CaseKind.UNREADABLE)
    case, who = EscalationCase.objects.get(), enter(expert, garden.slug)
    with pytest.raises(PermissionDenied, match="had a part"):
        settle_case(case=case, access=who, label=1, reason="It says so.")


def test_a_label_stays_about_the_text_that_was_asked_about(garden) -> None:
    debated(garden)
    expert = make_member(garden, "expert", "annotator", "admin")
    refuse_candidate(aspect=first(), passage=passage("p10"), reason="Of lamps.", actor=expert)
    Aspect.objects.filter(k=1).update(content="Something else.", version=2)
    for voter in (make_member(garden, f"v{n}", "annotator") for n in range(3)):
        cast_vote(case=EscalationCase.objects.get(), voter=voter, label=1)
    take_refusal_back(aspect=first(), passage=passage("p10"), actor=expert)
    standing = SupportLabel.objects.standing().order_by("passage__pid")
    # What agents said of the first text stands again; voters read that text, too.
    assert list(standing.values_list("passage__pid", "source", "aspect_version"))[0:3:2] == [
        ("p10", "debate", 1),
        ("p6", "human", 0),
    ]
    access = enter(expert, garden.slug)
    assert all(each["is_stale"] for each in candidates_of(access, proposals(garden)))


def test_nobody_is_asked_about_an_aspect_that_was_removed_until_it_is_back(garden) -> None:
    debated(garden)
    access = enter(make_member(garden, "voter", "annotator"), garden.slug)
    assert waiting_for(access).count() == 1
    Aspect.objects.filter(k=1).update(removed_at=timezone.now())
    assert waiting_for(access).count() == 0
    Aspect.objects.filter(k=1).update(removed_at=None)
    assert waiting_for(access).count() == 1


def test_an_aspect_reworded_while_models_argue_gets_no_label_of_its_new_words(
    garden, monkeypatch
) -> None:
    verdict = PairCalls.verdict

    async def reworded(self: PairCalls, *args: Any) -> Any:
        found = await verdict(self, *args)
        change = Aspect.objects.filter(k=1).update
        await asyncio.to_thread(change, content="Something else.", version=2)
        return found

    monkeypatch.setattr(PairCalls, "verdict", reworded)
    debated(garden)
    assert set(SupportLabel.objects.values_list("aspect_version", flat=True)) == {1}
    # Voters are shown what the models argued about.
    assert "Something else." not in json.dumps(EscalationCase.objects.get().snapshot)


def test_one_aspect_a_passage_conflicts_wait_for_the_expert(garden) -> None:
    debated(garden)
    second = Aspect.objects.get(k=2)
    SupportLabel.objects.create(
        aspect=second, passage=passage("p10"), label=1, source="debate", aspect_version=1,
        practice=True,
    )  # fmt: skip
    assert not SupportLabel.objects.machine_gold().exists()
    expert = make_member(garden, "expert", "annotator", "admin")
    assert shown(garden, expert)["p10"] == ("conflict", 1)
    confirm_candidate(aspect=second, passage=passage("p10"), actor=expert)
    assert shown(garden, expert)["p10"] == ("conflict", 1)  # the experts' gold goes before
    assert not SupportLabel.objects.candidates().exists()


def test_the_practice_model_takes_no_machine_gold_away(garden) -> None:
    debated(garden)
    SupportLabel.objects.filter(passage__pid="p10").update(practice=False)
    SupportLabel.objects.create(
        aspect=Aspect.objects.get(k=2), passage=passage("p10"), label=1, source="debate",
        aspect_version=1, practice=True,
    )  # fmt: skip
    assert SupportLabel.objects.machine_gold().filter(aspect=first()).exists()
    reader = make_member(garden, "reviewer", "reviewer")
    assert shown(garden, reader)["p10"] == ("candidate", 1)
    access = enter(reader, garden.slug)
    assert in_state(access, proposals(garden), "candidate").filter(passage__pid="p10").exists()
    assert not in_state(access, proposals(garden), "conflict").exists()


def test_an_audit_of_aspects_is_one_of_support(garden) -> None:
    run = debated(garden)
    draw_audit(run=run, size=2, seed=1, actor=make_member(garden, "admin", "admin"))
    cases = EscalationCase.objects.filter(kind="audit")
    assert {case.passage.pid for case in cases} == {"p10", "p2"}
    assert {case.aspect for case in cases} == {first()}
    assert all(case.snapshot["aspect"] for case in cases)


def test_prompts_of_a_passage_begin_alike_for_agents_rounds_and_aspects() -> None:
    agents = dream.line_up([("m", "e")] * 2)
    config = dream.Config(agents=agents, prompt=aspect_prompts()["aspect_turn"])
    asked = [
        turn_messages(
            dream.Pair("Why?", (), "A long passage.", aspect),
            config,
            agent=agent,
            previous=(),
            key=b"k",
        )
        for agent in agents
        for aspect in ("Of wax.", "Of light.")
    ]
    assert len({messages[0]["content"] for messages in asked}) == 1
    users = [str(messages[1]["content"]) for messages in asked]
    common = users[0][: users[0].index("<aspect-")]
    assert "A long passage." in common
    assert all(user.startswith(common) for user in users)


def test_an_adjudicator_rules_on_support(garden) -> None:
    plan = plan_run(
        benchmark=garden,
        pool=pool_of(garden),
        endpoint=endpoints.for_role("agents"),
        preset="rounds-2+adjudicator",
    )
    assert [*plan.prompts] == ["aspect_turn", "aspect_adjudication"]
    assert not plan.config.trial
    run = debated(garden, plan.config)
    assert run.debates.get(passage__pid="p6").status == "adjudicated"
    assert SupportLabel.objects.get(passage__pid="p6").source == "llm_adjudicator"


def test_only_debates_and_people_are_asked_about_aspects(garden) -> None:
    pool = pool_of(garden)
    with pytest.raises(Refused, match="debated, or left to people"):
        start_run(
            benchmark=garden,
            pool=pool,
            endpoint=endpoints.for_role("agents"),
            actor=None,
            config=RunConfig(kind="filter"),
        )


def test_an_aspect_that_was_removed_is_not_debated(garden, django_user_model) -> None:
    pool = pool_of(garden)
    PoolEntry.objects.filter(pool=pool, passage__pid="p2").update(aspect=7)
    run = start_run(
        benchmark=garden, pool=pool, endpoint=endpoints.for_role("agents"), actor=None, claimed=True
    )
    assert (run.total, run.debates.count()) == (2, 2)
    assert forecast_run(run)["sample"] == 2
    assert not Debate.objects.filter(passage__pid="p2").exists()


@pytest.mark.slow
def test_commands_and_api_do_it_from_the_shell(garden, capsys) -> None:
    call_command("build_pool", benchmark="demo", aspects=True, name="gaps", json=True)
    assert json.loads(capsys.readouterr().out)["pairs"] == 3
    call_command("run_debates", benchmark="demo", pool="gaps", json=True)
    assert json.loads(capsys.readouterr().out)["run"]
    client: Client = signed_in(make_member(garden, "expert", "annotator", "admin"))
    rows = client.get("/api/b/demo/candidates/?state=candidate").json()["results"]
    assert [(r["aspect"], r["passage"], r["given_by"]) for r in rows] == [
        ("biology-1-a1", "p10", "debate")
    ]
    gold = client.get("/api/b/demo/candidates/gold/").json()["results"]
    assert [(r["passage"], r["practice"]) for r in gold] == [("p10", True)]
    done = client.post(f"/api/b/demo/candidates/{rows[0]['id']}/confirm/").json()
    assert done["state"] == "gold"
    voter = signed_in(make_member(garden, "voter", "annotator"))
    assert voter.get("/api/b/demo/candidates/gold/").status_code == 403


@pytest.mark.slow
def test_screens_show_the_list_and_lead_from_one_to_the_next(garden) -> None:
    debated(garden)
    client = signed_in(make_member(garden, "expert", "annotator", "admin"))
    page = client.get("/b/demo/candidates/").content.decode()
    assert "p10" in page
    assert "to confirm" in page
    entry = PoolEntry.objects.get(passage__pid="p10")
    answer = client.post(f"/b/demo/candidates/{entry.pk}/", {"verdict": "refuse", "reason": ""})
    assert answer.status_code == 422
    answer = client.post(f"/b/demo/candidates/{entry.pk}/", {"verdict": "confirm"})
    assert answer.status_code == 302
    assert GoldPassage.objects.standing().filter(passage__pid="p10").exists()
    voter = signed_in(make_member(garden, "voter", "annotator"))
    case = EscalationCase.objects.get()
    page = voter.get(f"/b/demo/vote/{case.public_id}/").content.decode()
    assert "Aspect: does the passage support it?" in page
    assert first().content in page


def test_what_people_found_not_relevant_is_no_machine_gold_and_the_list_says_so(garden) -> None:
    debated(garden)
    reader, voter = (make_member(garden, name, name) for name in ("reviewer", "annotator"))
    assert shown(garden, reader)["p10"] == ("candidate", 1)
    record_judgment(
        query=first().query, passage=passage("p10"), label=0, source="human", provenance={}
    )
    assert shown(garden, reader)["p10"] == ("off_query", 1)
    # Who votes reads nothing of what agents said, neither before nor after.
    assert shown(garden, voter)["p10"] == ("open", None)
    for state, pids in (("off_query", {"p10"}), ("candidate", set()), ("conflict", set())):
        found = in_state(enter(reader, garden.slug), proposals(garden), state)
        assert set(found.values_list("passage__pid", flat=True)) == pids
    assert not SupportLabel.objects.machine_gold().exists()
    # An expert may assign it all the same.
    expert = make_member(garden, "expert", "annotator", domains=["biology"])
    confirm_candidate(aspect=first(), passage=passage("p10"), actor=expert)
    assert shown(garden, reader)["p10"][0] == "gold"
