"""Disputes that people decided, debated again with what they said (docs/protocol.md X07)."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from annotate.models import CaseStatus, EscalationCase, SupportLabel, Vote
from annotate.support.services import record_support
from annotate.voting.services import cast_vote
from corpus.judgments.services import record_judgment
from corpus.models import Judgment
from debate.adoption.services import adopt_run
from debate.models import DebateRun, Rehearing
from debate.rehearings.models import STOP
from debate.rehearings.services import rehear, rehearing_sheet, unheard
from kit.errors import Refused
from kit.runs.models import RunStatus
from kit.runs.moves import cancel_run
from llm import endpoints
from llm.models import Call
from tests.annotate.world import signed_in
from tests.debate.runs.making import drive, hold, pool_of
from tests.debate.runs.test_aspects import debated, garden  # noqa: F401
from tests.factories import make_benchmark, make_member

pytestmark = pytest.mark.django_db(transaction=True)
SAID = ("It says so\nin the first line.", "I read it twice.", "")


@pytest.fixture(autouse=True)
def practice(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    with endpoints.practice_if_unconfigured() as found:
        yield found


@pytest.fixture
def benchmark() -> Any:
    return make_benchmark()


@pytest.fixture
def run(benchmark, practice) -> DebateRun:
    """A dispute that three people called relevant; the third gave no reason."""
    run = hold(pool_of(benchmark, 6), practice)
    case = EscalationCase.objects.get()
    for number, said in enumerate(SAID):
        voter = make_member(benchmark, f"secret-{number}", "annotator")
        cast_vote(case=case, voter=voter, label=1, reason=said)
    return run


def heard(run: DebateRun) -> DebateRun:
    return drive(rehear(run=run, actor=None, claimed=True))


def prompts(run: DebateRun) -> list[str]:
    calls = Call.objects.filter(account=run.account_id).order_by("pk")
    return [json.dumps(call.request) for call in calls]


def test_agents_read_one_voters_words_without_a_name_and_the_positions_before_people(run) -> None:
    made = heard(run)
    asked = prompts(made)
    assert asked
    for each in asked:
        assert "none of the agents, said: Yes. It says so in the first line." in each
        assert "I read it twice." not in each
        assert "secret" not in each
    assert "opening position" not in asked[0]  # they go on from where they stood
    assert "round 2:" in asked[0]


def test_it_is_neither_a_vote_nor_a_label(run, benchmark) -> None:
    case = EscalationCase.objects.get()
    before = (
        list(Vote.objects.values_list("pk", "link")),
        list(Judgment.objects.values_list("pk", "status")),
        (case.status, case.label, case.votes_in, case.snapshot),
    )
    made = heard(run)
    assert (made.status, made.is_trial) == (RunStatus.DONE, True)
    assert made.debates.get().label == 1  # the person's word moved the practice model
    case.refresh_from_db()
    assert before == (
        list(Vote.objects.values_list("pk", "link")),
        list(Judgment.objects.values_list("pk", "status")),
        (case.status, case.label, case.votes_in, case.snapshot),
    )
    with pytest.raises(Refused, match="only compares"):
        adopt_run(run=made, actor=None)


@pytest.mark.slow
def test_each_time_one_reason_more_until_none_is_left(run) -> None:
    first, second = heard(run), heard(run)
    assert [r.number for r in Rehearing.objects.order_by("pk")] == [1, 2]
    assert all("It says so" not in each or "Yes." in each for each in prompts(first))
    assert all("I read it twice." in each for each in prompts(second))
    assert unheard(run) == {}  # the third vote has no reason
    with pytest.raises(Refused, match="No reason is left"):
        rehear(run=run, actor=None)


@pytest.mark.slow
def test_a_case_is_debated_again_three_times_at_most(run, benchmark) -> None:
    Vote.objects.filter(reason="").update(reason="Third.")
    for _ in range(STOP):
        heard(run)
    assert STOP == 3
    more = make_member(benchmark, "fourth", "annotator")
    Vote.objects.create(case=EscalationCase.objects.get(), voter=more, label=0, reason="No.")
    assert unheard(run) == {}
    Rehearing.objects.filter(number=STOP).delete()
    assert len(unheard(run)) == 1


def test_what_a_cancelled_run_never_debated_is_heard_later(run) -> None:
    given_up = rehear(run=run, actor=None)
    left = unheard(run)[run.debates.get(case__isnull=False).pk]
    assert [each.reason for each in left] == ["I read it twice."]
    cancel_run(run=given_up, actor=None)
    assert prompts(heard(run))[0].count("It says so") == 1
    assert [(each.number, each.vote.reason) for each in Rehearing.objects.all()] == [(1, SAID[0])]


@pytest.mark.slow
def test_the_number_of_a_cancelled_rehearing_is_given_away_again(run) -> None:
    given_up = rehear(run=run, actor=None)
    heard(run)
    cancel_run(run=given_up, actor=None)
    heard(run)
    found = [(each.number, each.vote.reason) for each in Rehearing.objects.order_by("number")]
    assert found == [(1, SAID[0]), (2, SAID[1])]


def test_a_dispute_about_an_aspect_is_debated_again_and_gives_no_label(
    garden,  # noqa: F811
) -> None:
    run = debated(garden)
    case = EscalationCase.objects.get()
    for number, said in enumerate(SAID):
        voter = make_member(garden, f"secret-{number}", "annotator")
        cast_vote(case=case, voter=voter, label=1, reason=said)
    before = list(SupportLabel.objects.values_list("pk", "label", "source", "status"))
    made = heard(run)
    debate = made.debates.get()
    assert (debate.aspect, debate.passage) == (case.aspect, case.passage)
    asked = prompts(made)
    assert asked
    for each in asked:
        assert "none of the agents, said: Yes. It says so in the first line." in each
        assert json.dumps(case.aspect.content)[1:-1] in each
        assert "secret" not in each
    assert (debate.status, debate.label, debate.support) == ("agreed", 1, None)
    assert list(SupportLabel.objects.values_list("pk", "label", "source", "status")) == before
    assert not Judgment.objects.standing().exists()
    assert EscalationCase.objects.get() == case
    values = {row[0].value: (row[1].value, row[2].value) for row in rehearing_sheet(made).rows}
    assert values["… with the person they heard"] == (1, 1)
    # An expert's word on the aspect says who was right; one on the pair would not.
    record_judgment(query=case.query, passage=case.passage, label=1, source="expert", provenance={})
    record_support(
        aspect=case.aspect, passage=case.passage, label=0, source="expert", provenance={}
    )
    values = {row[0].value: (row[1].value, row[2].value) for row in rehearing_sheet(made).rows}
    assert values["People heard were right"] == (0, 1)


def test_an_open_case_is_not_debated_again(benchmark, practice) -> None:
    run = hold(pool_of(benchmark, 6), practice)
    case = EscalationCase.objects.get()
    voter = make_member(benchmark, "voter", "annotator")
    cast_vote(case=case, voter=voter, label=1, reason="It says so.")
    assert case.status == CaseStatus.OPEN
    assert unheard(run) == {}


def test_the_table_tells_what_changed_and_how_often_people_were_right(run) -> None:
    made = heard(run)
    values = {row[0].value: (row[1].value, row[2].value) for row in rehearing_sheet(made).rows}
    assert values["Agents agree now"] == (1, 1)
    assert values["… with the person they heard"] == (1, 1)
    assert values["People heard were right"] == (0, 0)  # no expert has labelled it
    case = EscalationCase.objects.get()
    record_judgment(query=case.query, passage=case.passage, label=0, source="expert", provenance={})
    values = {row[0].value: (row[1].value, row[2].value) for row in rehearing_sheet(made).rows}
    assert values["People heard were right"] == (0, 1)
    assert values["Agents are right where they agree now"] == (0, 1)


@pytest.mark.slow
def test_a_single_vote_is_chosen_to_be_heard(run, benchmark, capsys) -> None:
    case, url = EscalationCase.objects.get(), f"/api/b/demo/debate-runs/{run.pk}/"
    admin = signed_in(make_member(benchmark, "admin", "admin"))
    parts = f"/b/demo/disputes/{case.public_id}/"
    assert f"{parts}rehearings/" in admin.get(parts).content.decode()
    page = admin.get(f"{parts}rehearings/").content.decode()
    assert "with voter 1" in page
    assert "with voter 3" not in page  # who gave no reason
    assert "secret" not in page
    names = [each["vote"] for each in admin.get(f"{url}reasons/").json()]
    assert names == [f"{case.public_id}/1", f"{case.public_id}/2"]
    for wrong in ([f"{case.public_id}/3"], [f"{case.public_id}/0"], ["x/1"], ["2"], names):
        answer = admin.post(f"{url}rehearing/", {"votes": wrong}, content_type="application/json")
        assert answer.status_code == 409
    assert not Rehearing.objects.exists()

    assert 'name="budget_usd"' in page
    start = f"/b/demo/debates/{run.pk}/rehearing/"
    answer = admin.post(start, {"votes": names[1:], "budget_usd": "0.25"})
    made = DebateRun.objects.get(reheard_of=run)
    assert made.budget_usd == Decimal("0.25")
    assert made.claim()
    made = drive(made)
    assert answer.url == f"/b/demo/debates/{made.pk}/"
    assert Rehearing.objects.get().vote.reason == "I read it twice."
    assert all("It says so" not in each for each in prompts(made))
    page = admin.get(f"{parts}rehearings/").content.decode()
    assert "Agents agree now: relevant" in " ".join(page.split())
    assert "with voter 2" not in page
    again = admin.post(f"{url}rehearing/", {"votes": names[1:]}, content_type="application/json")
    assert again.status_code == 409  # never a second time
    call_command("run_debates", benchmark="demo", again=run.pk, vote=names[:1], json=True)
    assert [each.number for each in Rehearing.objects.order_by("pk")] == [1, 2]
    assert admin.get(f"{url}reasons/").json() == []

    reviewer = signed_in(make_member(benchmark, "reviewer", "reviewer", "annotator"))
    assert "rehearings/" not in reviewer.get(parts).content.decode()
    for address in (f"{parts}rehearings/", f"{url}reasons/"):
        assert reviewer.get(address).status_code == 403


@pytest.mark.slow
def test_page_api_and_command_start_it(run, benchmark, capsys) -> None:
    admin = signed_in(make_member(benchmark, "admin", "admin"))
    page = admin.get(f"/b/demo/debates/{run.pk}/report/").content.decode()
    assert "Let agents hear people" in page
    assert 'name="budget_usd"' in page
    start = f"/b/demo/debates/{run.pk}/rehearing/"
    refused = admin.post(start, {"budget_usd": "-1"}, follow=True)
    assert "greater than or equal to 0" in refused.content.decode()
    assert not DebateRun.objects.filter(reheard_of=run).exists()
    answer = admin.post(start, {"budget_usd": ""})  # empty: no limit
    made = DebateRun.objects.get(reheard_of=run)
    assert made.budget_usd is None
    assert answer.url == f"/b/demo/debates/{made.pk}/"
    call_command("run_debates", benchmark="demo", again=run.pk, json=True)
    second = DebateRun.objects.get(pk=json.loads(capsys.readouterr().out)["run"])
    assert second.reheard_of == run
    url = f"/api/b/demo/debate-runs/{run.pk}/rehearing/"
    assert admin.post(url, {}, content_type="application/json").status_code == 409
    table = admin.get(f"/api/b/demo/debate-runs/{second.pk}/rehearing/").json()
    assert table["name"] == "rehearing"
    voter = signed_in(make_member(benchmark, "voter", "annotator"))
    assert voter.get(url).status_code == 403
    assert not SupportLabel.objects.exists()
