"""Which checks gate people's labels: asked once, set by one verb, said by every release."""

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotate.exams.qualification import qualified_for, rule_of
from annotate.models import Consent, ExamAttempt, VotingPlan
from annotate.plans.services import CHECKS, checks_of, choose_checks, save_plan
from annotate.voting.services import cast_vote
from corpus.models import Benchmark
from debate.runs.planning import plan_run
from evaluation.checklist.views import steps_of
from evaluation.releases.findings import label_checks
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from tests.annotate.world import write_plan
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query

pytestmark = pytest.mark.django_db
JSON = {"content_type": "application/json"}
ALL = dict.fromkeys(CHECKS, True)
NONE = dict.fromkeys(CHECKS, False)


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "admin", "admin")


@pytest.fixture
def browser(admin) -> Client:
    browser = Client()
    browser.force_login(admin)
    return browser


def step(benchmark) -> tuple[str, str, str]:
    [found] = [each for each in steps_of(benchmark) if each.label == "Checks of labels"]
    return found.state, found.note, found.act


def test_all_are_advised_and_gate_at_once(benchmark, admin, browser) -> None:
    assert checks_of(benchmark) == {}
    assert step(benchmark) == ("waits", "Not chosen yet", "Choose checks")
    page = browser.get("/b/demo/checks/").content.decode()
    assert page.count("checked") == 4
    assert "asked once" in page
    assert browser.post("/b/demo/checks/", dict.fromkeys(CHECKS, "on")).status_code == 302
    plan, rule = VotingPlan.objects.current(benchmark), rule_of(benchmark)
    assert (plan.batch_size, plan.audit, rule.required) == (20, 50, True)
    assert "under a pseudonym" in plan.consent_text
    assert checks_of(benchmark) == ALL
    # The bank is empty, so nobody votes, and the overview says what is missing.
    voter = make_member(benchmark, "voter", "annotator")
    assert not qualified_for(voter, benchmark.domains.get())
    assert step(benchmark) == (
        "waits",
        "exam, attention checks, consent, audit",
        "Add exam questions",
    )
    assert label_checks(benchmark) == [
        "exam before voting: on, 90 % of 10 items pass",
        "batches with attention checks: on, 20 items a batch",
        "consent before voting: on",
        "blind audit of agreed pairs: off",  # none was drawn
    ]


def test_a_release_says_how_many_votes_were_given_under_each(world) -> None:
    """Three votes before anything is asked for, three after: of these one after a passed exam and
    two after consent. A failed exam, a practice and consent to another benchmark count nothing."""
    first, second, third = world.voters[:3]
    domain, before = world.query.domain, world.case()
    for each in (first, second, third):
        cast_vote(case=before, voter=each, label=1)
    ended = {"domain": domain, "pass_mark": 90, "ended_at": timezone.now()}
    for person, more in (
        (first, {"status": "passed"}),
        (second, {"status": "failed"}),
        (third, {"status": "done", "is_practice": True}),
    ):
        ExamAttempt.objects.create(person=person, **ended, **more)
    plan = write_plan(world)
    elsewhere = VotingPlan.objects.current(make_benchmark("other"))
    elsewhere.save()
    for person, agreed in ((first, plan), (second, plan), (third, elsewhere)):
        Consent.objects.create(person=person, plan=agreed)
    after = world.case()
    votes = [cast_vote(case=after, voter=each, label=1) for each in (first, second, third)]
    said = label_checks(world.benchmark)
    assert [each.partition("; ")[2] for each in said[:3]] == [
        "1 of 6 votes were given after it",
        "0 of 6 votes were given in one",
        "2 of 6 votes were given after it",
    ]
    # Of a vote that does not count nothing is told.
    fewer = label_checks(world.benchmark, without=[votes[0].pk])
    assert "0 of 5 votes" in fewer[0]
    assert "1 of 5 votes" in fewer[2]


def test_none_is_an_answer_too(benchmark, admin, browser) -> None:
    answer = browser.put("/api/b/demo/checks/", NONE, **JSON)
    assert (answer.status_code, answer.json()) == (200, {"checks": NONE})
    assert step(benchmark) == ("done", "All turned off", "")
    assert [line.rpartition(": ")[2] for line in label_checks(benchmark)] == ["off"] * 4
    assert browser.put("/api/b/demo/checks/", {"exam": True}, **JSON).status_code == 400
    assert Event.objects.filter(verb="write plan", actor=admin).count() == 1


def test_what_is_on_keeps_its_numbers(benchmark, admin, browser) -> None:
    assert browser.get("/api/b/demo/checks/").json() == {"checks": None}
    own = {"batch_size": 7, "audit": 9, "consent_text": "Our terms.", "hourly_pay": 12}
    save_plan(benchmark=benchmark, actor=admin, expected=0, **own)
    choose_checks(benchmark=benchmark, actor=admin, **ALL)
    plan = VotingPlan.objects.current(benchmark)
    assert (plan.batch_size, plan.audit, plan.consent_text) == (7, 9, "Our terms.")
    with pytest.raises(Refused, match="who are paid agree"):
        choose_checks(benchmark=benchmark, actor=admin, **NONE)
    assert checks_of(benchmark) == ALL


@pytest.mark.parametrize(("settings_of", "audit"), [({}, 50), ({"audit": 3}, 3), ({"audit": 0}, 0)])
def test_debates_are_audited_unless_they_say_otherwise(
    benchmark, admin, settings, settings_of, audit
) -> None:
    settings.ASSAY_PRACTICE_URL = "http://127.0.0.1:9/v1"
    choose_checks(benchmark=benchmark, actor=admin, **ALL)
    pool = make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    endpoint = endpoints.get("practice")
    plan = plan_run(benchmark=benchmark, pool=pool, endpoint=endpoint, settings=settings_of)
    assert plan.config.audit == audit
    judge = {"kind": "llmjudge"}
    plan = plan_run(benchmark=benchmark, pool=pool, endpoint=endpoint, settings=judge)
    assert plan.config.audit == 0


@pytest.mark.django_db(transaction=True)
def test_a_load_may_choose_them(tmp_path, admin, capsys) -> None:
    path = tmp_path / "biology.jsonl"
    path.write_text('{"id": "1", "query": "Why?", "gold_ids": [], "reasoning": ""}\n')
    load = ["load_benchmark", str(path), "--format", "bright", "--benchmark", "reef"]
    for wrong in (["--checks", "all"], ["--checks", "exam,luck", "--admin", "admin"]):
        with pytest.raises(CommandError, match="--checks"):
            call_command(*load, *wrong)
    assert not Benchmark.objects.filter(slug="reef").exists()
    call_command(*load, "--checks", "batches,audit", "--admin", "admin")
    chosen = checks_of(Benchmark.objects.get(slug="reef"))
    assert chosen == NONE | {"batches": True, "audit": True}
