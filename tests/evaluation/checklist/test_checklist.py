"""The setup checklist: how far each step is, and the one next action."""

from datetime import date

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotate.assignments.services import assign_queries
from annotate.models import Assignment, CaseKind, EscalationCase
from corpus.models import Benchmark, Membership, PoolBuild
from evaluation.checklist.now import KINDS, running, waits
from evaluation.checklist.views import Step, steps_of
from kit.runs.models import TrackedRun
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_members,
    make_passage,
    make_pool,
    make_query,
)
from tests.markup import one_line

pytestmark = pytest.mark.django_db


def steps(benchmark: Benchmark) -> dict[str, Step]:
    return {step.label: step for step in steps_of(benchmark)}


def next_act(benchmark: Benchmark) -> str:
    return next((step.act for step in steps_of(benchmark) if step.act), "")


def test_one_step_after_another() -> None:
    benchmark = make_benchmark()
    assert next_act(benchmark) == "Import"
    query = make_query(benchmark)
    passage = make_passage(benchmark, "a.txt", text="A text.")
    make_gold(query, passage)
    assert steps(benchmark)["Data"].note == "1 query, 1 label"  # passages are counted by imports
    assert next_act(benchmark) == "Add annotators"
    (annotator,) = make_members(benchmark, {"ann": ["annotator"]})
    assert next_act(benchmark) == "Add reviewers"
    make_member(benchmark, "rev", "reviewer")
    assert next_act(benchmark) == "Build a pool"
    make_pool(benchmark, (query, passage))
    assert next_act(benchmark) == "Start a debate"
    assert steps(benchmark)["Pools"].state == "done"
    assert steps(benchmark)["Queries annotated"].note == "0 of 1 submitted, 1 unassigned"
    assign_queries(benchmark=benchmark, queries=[query], people=[annotator], actor=None)
    assert steps(benchmark)["Queries annotated"].state == "goes"
    assert steps(benchmark)["Second reviews"].state == "unbegun"


def test_disputes_that_too_few_people_can_decide_are_named() -> None:
    benchmark = make_benchmark(domains=("biology", "physics"))
    make_members(benchmark, {name: ["annotator"] for name in ("one", "two")})
    for qid, domain in (("1", "biology"), ("2", "physics")):
        query = make_query(benchmark, qid, domain)
        passage = make_passage(benchmark, f"{qid}.txt", domain=domain, text="A text.")
        EscalationCase.objects.create(
            origin=qid, kind=CaseKind.DISPUTE, query=query, passage=passage
        )
    found = steps(benchmark)["Disputed pairs"]
    assert (found.done, found.total, found.act) == (0, 2, "Add voters")
    assert "2 disputed pairs in biology, physics cannot be decided: each needs 3" in found.why
    make_member(benchmark, "three", "annotator")
    assert steps(benchmark)["Disputed pairs"].act == ""
    EscalationCase.objects.update(status="expert")
    assert steps(benchmark)["Disputed pairs"].why == "Voters left 2 pairs undecided."


def test_the_overview_shows_it_to_admins(client: Client) -> None:
    benchmark = make_benchmark()
    url = reverse("checklist", args=[benchmark.slug])
    client.force_login(make_member(benchmark, "boss", "admin"))
    assert url in one_line(client.get(reverse("benchmark", args=[benchmark.slug])))
    shown = one_line(client.get(url, headers={"hx-request": "true"}))
    assert 'data-key="n">Import' in shown
    brief = one_line(client.get(f"{url}?brief=1", headers={"hx-request": "true"}))
    assert "Data: Needs you." in brief
    assert ">Import</a>" in brief
    home = reverse("corpus-home")
    assert f'hx-get="{url}"' in one_line(client.get(home))  # whose only benchmark it is
    second = make_benchmark("second")
    boss = User.objects.get(username="boss")
    Membership.objects.create(user=boss, benchmark=second, roles=["admin"])
    assert f'hx-get="{url}?brief=1"' in one_line(client.get(home))
    client.force_login(make_member(benchmark, "ann", "annotator"))
    assert f"{url}?brief=1" not in one_line(client.get(reverse("corpus-home")))
    assert url not in one_line(client.get(reverse("benchmark", args=[benchmark.slug])))
    assert client.get(url).status_code == 403


def test_what_runs_and_who_waits_for_whom() -> None:
    benchmark = make_benchmark()
    (annotator,) = make_members(benchmark, {"ann": ["annotator"]})
    queries = [make_query(benchmark, qid) for qid in "123"]
    assign_queries(benchmark=benchmark, queries=queries, people=[annotator], actor=None)
    for query, state in zip(
        queries, ("changes_requested", "submitted", "not_started"), strict=True
    ):
        Assignment.objects.filter(query=query).update(state=state, due_on=date(2026, 1, 1))
    open_case = {"query": make_query(benchmark, "4"), "passage": make_passage(benchmark, "p")}
    EscalationCase.objects.create(origin="debate:1", kind="dispute", **open_case)
    for status in ("running", "done"):
        PoolBuild.objects.create(benchmark=benchmark, name=status, status=status, depth=5)
    assert [str(run) for run, _ in running(benchmark)] == ["running"]
    assert [wait[:3] for wait in waits(benchmark)] == [
        ("Debates wait for", "voters", "1 dispute"),
        ("Queries wait for", "you", "1 unassigned query"),
        ("Reviewers wait for", "ann", "1 query to change"),
        ("You wait for", "ann", "2 overdue queries"),
        ("Authors wait for", "a reviewer", "1 submitted query"),
    ]


@pytest.mark.slow
def test_running_work_is_asked_for_again_while_something_runs(client: Client) -> None:
    benchmark = make_benchmark()
    client.force_login(make_member(benchmark, "boss", "admin"))
    builds = PoolBuild.objects
    build = builds.create(benchmark=benchmark, name="first", status="running", depth=5)
    url = reverse("checklist", args=[benchmark.slug])
    polled = f'hx-get="{url}?running=1" hx-trigger="every 5s"'
    asked = {"headers": {"hx-request": "true"}}
    for page in (url, f"{url}?brief=1", f"{url}?running=1"):
        assert polled in one_line(client.get(page, **asked)), page
    builds.filter(pk=build.pk).update(status="paused")
    paused = one_line(client.get(f"{url}?running=1", **asked))
    assert ("first" in paused, polled in paused) == (True, False)
    builds.filter(pk=build.pk).update(status="done")
    over = one_line(client.get(f"{url}?running=1", **asked))
    assert ("Nothing runs any more." in over, polled in over) == (True, False)


def test_every_kind_of_run_has_a_page() -> None:
    # Pages of a query and indexes have none: they take seconds, or belong to an import.
    without = {"RunGroup", "PageFetch", "PassageIndexRun"}
    kinds = {each for each in apps.get_models() if issubclass(each, TrackedRun)}
    assert {each.__name__ for each in kinds - {kind.model for kind in KINDS}} == without
