"""Blind audits: what is drawn, what voters see of it, and the bound it allows."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.test import Client

from annotate.models import CaseKind, CaseStatus, EscalationCase, Vote, VoteSlot, VotingPlan
from annotate.voting.eligibility import waiting_for
from annotate.voting.services import cast_vote
from annotate.voting.slots import next_slot, reserve
from corpus.access import enter
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Membership, Source
from debate.audits.services import audit_sheet, audited, draw_audit
from debate.models import AuditItem, Debate
from kit.errors import Refused
from kit.models import Event
from kit.stats.proportions import upper_bound
from tests.annotate.batching import answer_all, submit, take
from tests.annotate.world import hx, make_snapshot, make_world, masked, signed_in, write_plan
from tests.debate.runs.test_screens import make_debate, make_run
from tests.factories import make_gold, make_member, make_passage, make_query, make_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> Any:
    return make_world()


@pytest.fixture
def run(world) -> Any:
    """12 pairs agreed relevant in biology, 6 not; 6 not in weather; 1 disputed."""
    run = make_run(world.benchmark, status="done")
    for domain, label, count in (("biology", 1, 12), ("biology", 0, 6), ("weather", 0, 6)):
        for _ in range(count):
            number = Debate.objects.count()
            query = make_query(world.benchmark, f"q{number}", domain)
            passage = make_passage(world.benchmark, f"p{number}", domain)
            make_debate(run, "agreed", label=label, round=1, query=query, passage=passage)
    make_debate(run, "escalated")
    return run


def audit_of(run: Any, world: Any, **options: Any) -> Any:
    return draw_audit(run=run, actor=world.admin, **{"size": 8, "seed": 3} | options)


def test_sample_is_in_proportion_and_the_same_for_the_same_seed(world, run) -> None:
    sample = audit_of(run, world)
    items = sample.items.select_related("debate__query__domain")
    drawn = [(each.debate.query.domain.name, each.label) for each in items]
    # 8 of 24: a third of each.
    assert {key: drawn.count(key) for key in drawn} == {
        ("biology", 1): 4,
        ("biology", 0): 2,
        ("weather", 0): 2,
    }
    assert (sample.population, sample.left_out) == (24, 0)
    assert set(EscalationCase.objects.values_list("kind", flat=True)) == {CaseKind.AUDIT}
    assert not Judgment.objects.exists()
    first = {each.debate_id for each in items}
    # Drawn pairs are before people now: another draw finds others.
    again = audit_of(run, world, seed=3)
    assert not first & set(again.items.values_list("debate_id", flat=True))
    assert (again.population, again.left_out) == (16, 8)


def test_the_command_draws_what_the_page_draws(world, run) -> None:
    out = StringIO()
    draw = ("--draw", "--debate", str(run.pk), "--size", "8", "--seed", "3")
    slug, admin = world.benchmark.slug, world.admin.username
    call_command("judge_sample", slug, *draw, "--as", admin, stdout=out)
    (row,) = json.loads(out.getvalue())
    assert (row["of"], row["run"], row["drawn"], row["judged"]) == ("pairs", run.pk, 8, 0)
    assert run.audits.get().items.count() == 8
    with pytest.raises(CommandError, match="Choose 1 to 1,000 pairs"):
        call_command("judge_sample", slug, *draw[:-3], "9999", "--as", admin)


def test_pairs_that_people_know_are_left_out(world, run) -> None:
    known, judged, bare = run.debates.filter(label=1)[:3]
    world.case(query=known.query, passage=known.passage)
    record_judgment(
        query=judged.query, passage=judged.passage, label=1, source=Source.EXPERT, provenance={}
    )
    bare.passage.__class__.objects.filter(pk=bare.passage_id).update(text=None)
    sample = audit_of(run, world, size=1000)
    drawn = set(sample.items.values_list("debate_id", flat=True))
    assert not drawn & {known.pk, judged.pk, bare.pk}
    assert (len(drawn), sample.population, sample.left_out) == (21, 21, 3)


@pytest.mark.parametrize(
    ("options", "field"), [({"size": 0}, "size"), ({"size": 1001}, "size"), ({"seed": -1}, "seed")]
)
def test_wrong_draw_is_refused(world, run, options, field) -> None:
    with pytest.raises(Refused) as refusal:
        audit_of(run, world, **options)
    assert refusal.value.field == field


def test_run_that_goes_on_or_agreed_on_nothing_is_not_audited(world, run) -> None:
    with pytest.raises(Refused, match="goes on"):
        audit_of(make_run(world.benchmark, status="running"), world)
    with pytest.raises(Refused, match="left"):
        audit_of(make_run(world.benchmark, status="done"), world)
    assert not AuditItem.objects.exists()


def decide(case: EscalationCase, world: Any, label: int) -> None:
    for voter in world.voters[:3]:
        cast_vote(case=case, voter=voter, label=label)


def test_error_is_bounded_exactly_by_what_people_decided(world, run) -> None:
    sample = audit_of(run, world)
    items = list(sample.items.select_related("case").order_by("label", "pk"))
    # Four of each label; people turn one "relevant" round and leave the last undecided.
    for item in items[:6]:
        decide(item.case, world, item.label)
    decide(items[6].case, world, 0)
    (found,) = audited(run)
    assert (found.size, found.undecided) == (8, 1)
    assert (found.wrong.hits, found.wrong.n) == (1, 7)
    assert found.bound == upper_bound(1, 7)
    # P(at most 1 of 7) at the bound is 5 %.
    p = found.bound
    assert (1 - p) ** 7 + 7 * p * (1 - p) ** 6 == pytest.approx(0.05)
    assert (found.false_relevant.hits, found.false_relevant.n) == (1, 3)
    assert (found.false_irrelevant.hits, found.false_irrelevant.n) == (0, 4)


def test_numbers_of_the_audit_lead_to_decided_pairs_alone(world, run) -> None:
    sample = audit_of(run, world)
    for item in sample.items.select_related("case")[:3]:
        decide(item.case, world, 1 - item.label)
    admin = signed_in(world.admin)
    (row,) = audit_sheet(run).rows
    assert [cell.value for cell in row[1:5]] == [8, 24, 3, 3]
    for cell in row[3:5]:
        assert admin.get(cell.url).context["table"].total == cell.value


def test_people_decide_the_label_and_the_debate_keeps_its_own(world, run) -> None:
    item = audit_of(run, world).items.select_related("case", "debate").first()
    decide(item.case, world, 1 - item.label)
    standing = Judgment.objects.standing().get(query=item.debate.query)
    assert (standing.source, standing.label) == (Source.HUMAN, 1 - item.label)
    item.debate.refresh_from_db()
    assert (item.debate.label, item.debate.case) == (item.label, None)


def pages(world: Any, person: Any, case: EscalationCase) -> list[str]:
    client = signed_in(person)
    paths = [f"vote/{case.public_id}/", "vote/", f"queries/{case.query_id}/", "passages/"]
    paths += [f"passages/{case.passage_id}/", "disputes/", f"disputes/{case.public_id}/"]
    paths += ["disputes/?kind=audit", "disputes/?sort=kind"]
    answers = [client.get(world.url(path), **hx("vote-panel")) for path in paths]
    answers += [client.get(world.url(path)) for path in paths]
    answers.append(client.get(f"/api/b/{world.benchmark.slug}/next-case/"))
    answers.append(client.get(f"/api/b/{world.benchmark.slug}/cases/"))
    return [f"{each.status_code} {masked(each)}" for each in answers]


# A panel's items are no cases of voters: they have a queue and pages of their own.
OF_VOTERS = [kind for kind in CaseKind.values if kind != CaseKind.REFERENCE]


def test_an_item_of_a_panel_is_on_no_page_of_voters(world) -> None:
    case = world.case(kind=CaseKind.REFERENCE, origin="panel:1:1")
    client = signed_in(world.voters[0])
    assert client.get(world.url(f"vote/{case.public_id}/")).status_code == 404
    assert client.get(world.url("vote/")).status_code == 200  # nothing waits: no way to it


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "positions"),
    [
        ("both", None),
        *(
            pytest.param(role, positions, marks=pytest.mark.slow)
            for role, positions in (("voter", None), ("voter", []), ("both", []))
        ),
    ],
)
def test_nothing_that_a_voter_gets_differs_by_kind(world, role, positions) -> None:
    """The same case under every kind, byte for byte; in the suite for a reviewer who votes."""
    snapshot = make_snapshot() if positions is None else make_snapshot(positions=[], rounds=0)
    case = world.case(snapshot=snapshot)
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    person = both if role == "both" else world.voters[0]
    seen = []
    for kind in OF_VOTERS:
        EscalationCase.objects.filter(pk=case.pk).update(kind=kind, origin=f"{kind}:7:9")
        seen.append(pages(world, person, case))
    assert all(each == seen[0] for each in seen)


@pytest.mark.slow
def test_reviewer_who_does_not_vote_is_told_the_kind(world) -> None:
    """The comparison above can fail: the kind is shown where it may be."""
    case = world.case()
    before = pages(world, world.reviewer, case)
    EscalationCase.objects.filter(pk=case.pk).update(kind=CaseKind.AUDIT)
    assert pages(world, world.reviewer, case) != before


@pytest.mark.slow
def test_audited_pairs_are_mixed_among_the_others(world, run) -> None:
    """Cases come by query: those of one draw are not a stretch at the end."""
    shared = run.debates.filter(label=1).first()
    audit_of(run, world, size=24)
    later = make_passage(world.benchmark, "later", "biology")
    world.case(query=shared.query, passage=later)
    client = signed_in(world.voters[0])
    order, url = [], world.url("vote/")
    for _ in range(25):
        case = client.get(url).url.rstrip("/").rsplit("/", 1)[1]
        order.append(EscalationCase.objects.get(public_id=case).query_id)
        url = world.url(f"vote/?after={case}")
    of_query = [place for place, query in enumerate(order) if query == shared.query_id]
    assert len(set(of_query)) == of_query[-1] - of_query[0] + 1 > 1


def test_admin_draws_from_the_page_and_is_told(world, run) -> None:
    admin, reviewer = signed_in(world.admin), signed_in(world.reviewer)
    address = world.url(f"debates/{run.pk}/audits/")
    page = admin.get(world.url(f"debates/{run.pk}/report/")).content.decode()
    assert address in page
    assert "how far agreement can be trusted is not known" in page
    assert address not in reviewer.get(world.url(f"debates/{run.pk}/report/")).content.decode()
    response = admin.post(address, {"size": 5, "seed": 2}, follow=True)
    assert "5 pairs were drawn" in response.content.decode()
    assert Event.objects.get(verb="draw audit").data["size"] == 5
    wrong = admin.post(address, {"size": "", "seed": 2}, follow=True)
    assert "Say how many pairs to draw." in wrong.content.decode()
    assert EscalationCase.objects.filter(status=CaseStatus.OPEN).count() == 5


def test_debate_of_an_audited_pair_does_not_tell_of_it(world, run) -> None:
    item = audit_of(run, world).items.first()
    page = signed_in(world.reviewer).get(world.url(f"debates/{run.pk}/pairs/{item.debate_id}/"))
    assert f"disputes/{item.case.public_id}/" not in page.content.decode()


def test_who_may_read_what_machines_said_judges_no_audited_pair(world, run) -> None:
    """Neither asked, nor by the address of a case, a batch, or a token that is no admin's."""
    both = make_member(world.benchmark, "both", "admin", "annotator")
    case = audit_of(run, world, size=1).items.get().case
    dispute = world.case()
    access, plan = enter(both, "garden"), VotingPlan.objects.current(world.benchmark)
    assert list(waiting_for(access)) == [dispute]
    assert set(waiting_for(enter(world.voters[0], "garden"))) == {case, dispute}
    assert next_slot(access=access, plan=plan).case == dispute
    assert reserve(access=access, plan=plan, case=case) is None
    for more in ({}, {"access": access}):
        with pytest.raises(PermissionDenied, match="Admins"):
            cast_vote(case=case, voter=both, label=1, **more)
    key = make_token(both, scope="annotate")
    token = Client(headers={"Authorization": f"Token {key}"})
    address = f"/api/b/garden/cases/{case.public_id}"
    assert token.post(f"{address}/votes/", {"label": 1}).status_code == 403
    found = token.get("/api/b/garden/cases/next/").content.decode()
    assert str(dispute.public_id) in found
    decide(case, world, 1)
    assert not Vote.objects.filter(voter=both).exists()


def test_what_somebody_had_begun_who_became_an_admin_counts_in_no_audit(world, run) -> None:
    case = audit_of(run, world, size=1).items.get().case
    for n in range(3):
        text = f"This is how it stands in page {n}. It goes on for a while. Nothing more is said."
        passage = make_passage(world.benchmark, f"gold/{n}", "biology", text=text)
        make_gold(make_query(world.benchmark, f"g{n}", "biology"), passage)
    write_plan(world, batch_size=2, reveal="none")
    batch = take(world, world.voters[0])
    answer_all(world, batch)
    Membership.objects.filter(user=world.voters[0]).update(roles=["admin", "annotator"])
    submit(world, batch)
    assert (batch.status, batch.lost_items) == ("accepted", 1)
    assert not Vote.objects.filter(case=case).exists()
    assert VoteSlot.objects.filter(case=case, voter=None).count() == 3
