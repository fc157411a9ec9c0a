"""A senior's look at a panel's labels, and the report over both."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.adjudication.queue import open_items
from annotate.models import CaseStatus, CheckKind, SpotCheck
from annotate.panels import settling as verbs
from annotate.panels.report import panel_sheets
from corpus.models import Judgment, Source, Status
from kit.errors import Refused
from kit.models import Event
from tests.annotate.panels.drawing import (
    access_of,
    first_item,
    give,
    make_panel,
    practise,
)
from tests.factories import make_member


@pytest.fixture
def panel(world):
    panel = make_panel(world, check_percent=100)
    practise(world, panel, *world.voters[:2])
    return panel


def look(world, item, person, label, **more):
    return verbs.check_item(item=item, access=access_of(world, person), label=label, **more)


def standing(item):
    return Judgment.objects.standing().get(query=item.case.query, passage=item.case.passage)


def waiting(world, person, panel):
    return list(verbs.waiting_checks(access_of(world, person), panel))


def test_a_kept_label_stays_the_same_row(world, panel):
    item = first_item(panel)
    give(world, item, world.voters[0], 1)
    before = standing(item)
    check = look(world, item, world.reviewer, 1)
    assert (check.kind, check.judgment) == (CheckKind.KEEP, None)
    assert standing(item) == before
    assert Event.objects.get(verb="spot check").actor == world.reviewer


def test_an_override_is_a_new_label_with_its_reason_and_who_gave_it(world, panel):
    item = first_item(panel)
    give(world, item, world.voters[0], 1)
    before = standing(item)
    with pytest.raises(Refused) as refused:
        look(world, item, world.reviewer, 0)
    assert refused.value.field == "reason"
    check = look(world, item, world.reviewer, 0, reason="only the topic")
    before.refresh_from_db()
    item.case.refresh_from_db()
    assert (before.status, before.superseded_by) == (Status.SUPERSEDED, check.judgment)
    assert (check.kind, check.before, check.label) == (CheckKind.OVERRIDE, 1, 0)
    given = check.judgment
    assert (given.label, given.source, given.status) == (0, Source.EXPERT, Status.STANDING)
    assert given.provenance["rule"] == "reference-check"
    assert given.provenance["check"] == check.pk
    assert (item.case.label, item.case.judgment) == (0, given)
    event = Event.objects.get(verb="label", target_id=str(given.pk))
    assert event.actor == world.reviewer


def test_a_correction_of_a_look_is_another_row(world, panel):
    item = first_item(panel)
    give(world, item, world.voters[0], 1)
    first = look(world, item, world.reviewer, 0, reason="only the topic")
    with pytest.raises(verbs.AlreadyChecked):
        look(world, item, world.admin, 1)
    with pytest.raises(Refused, match="why"):
        look(world, item, world.admin, 1, replaces=first.pk)
    second = look(world, item, world.admin, 1, reason="it is said", replaces=first.pk)
    first.refresh_from_db()
    assert (first.is_standing, first.replaced_by) == (False, second)
    assert (second.kind, second.before) == (CheckKind.KEEP, 1)
    assert standing(item).label == 1
    assert SpotCheck.objects.count() == 2


def test_nobody_looks_at_their_own_label(world, panel):
    item = first_item(panel)
    both = make_member(world.benchmark, "both", "annotator", "reviewer", "admin")
    practise(world, panel, both)
    give(world, item, both, 1)
    assert item not in waiting(world, both, panel)
    assert item in waiting(world, world.reviewer, panel)
    with pytest.raises(PermissionDenied, match="labelled this item"):
        look(world, item, both, 1)


def test_only_seniors_of_the_domain_look(world, panel):
    item = first_item(panel)
    give(world, item, world.voters[0], 1)
    other = make_member(world.benchmark, "rain", "reviewer", domains=("weather",))
    for person in (world.voters[1], other):
        assert waiting(world, person, panel) == []
        with pytest.raises(PermissionDenied):
            look(world, item, person, 1)


def test_an_open_item_cannot_be_looked_at(world):
    panel = make_panel(world, check_percent=100, labels_per_item=2)
    practise(world, panel, world.voters[0])
    item = first_item(panel)
    give(world, item, world.voters[0], 1)
    assert waiting(world, world.reviewer, panel) == []
    with pytest.raises(Refused, match="still labelling"):
        look(world, item, world.reviewer, 1)


def test_only_drawn_items_are_looked_at(world):
    panel = make_panel(world, check_percent=0)
    practise(world, panel, world.voters[0])
    item = first_item(panel)
    give(world, item, world.voters[0], 1)
    assert waiting(world, world.reviewer, panel) == []
    with pytest.raises(Refused, match="not drawn"):
        look(world, item, world.reviewer, 0, reason="no")


def test_a_senior_decides_what_the_experts_left_open(world):
    panel = make_panel(world, check_percent=0, labels_per_item=2)
    practise(world, panel, *world.voters[:2])
    item = first_item(panel)
    give(world, item, world.voters[0], 1), give(world, item, world.voters[1], 0)
    assert waiting(world, world.reviewer, panel) == [item]
    assert list(open_items(access_of(world, world.reviewer))) == []  # not among voters' cases
    with pytest.raises(Refused, match="why"):
        look(world, item, world.reviewer, 1)
    check = look(world, item, world.reviewer, 1, reason="it is said outright")
    item.case.refresh_from_db()
    assert (check.kind, check.before) == (CheckKind.DECIDE, None)
    assert (item.case.status, item.case.label) == (CaseStatus.CLOSED, 1)
    assert standing(item) == check.judgment


def sheet(panel, name):
    found = next(each for each in panel_sheets(panel) if each.name == name)
    return {
        row[0].value: dict(zip(found.header, [c.value for c in row], strict=True))
        for row in found.rows
    }


def test_report_counts_labels_and_overrides(world, panel):
    for item, label in zip(panel.items.all(), (1, 1, 0, 0, 0), strict=False):
        give(world, item, world.voters[0], label, elapsed_ms=3000)
    biology = list(panel.items.filter(case__query__domain__name="biology"))
    look(world, biology[0], world.reviewer, 1)
    look(world, biology[1], world.reviewer, 0, reason="only the topic")
    found = sheet(panel, "labels")
    assert (found["biology"]["Relevant"], found["biology"]["Not relevant"]) == (1, 2)
    assert (found["weather"]["Waiting"], found["All"]["Items"]) == (1, 6)
    assert found["All"]["Seconds"] == 3.0
    checks = sheet(panel, "checks")["biology"]
    assert (checks["Looked at"], checks["Overridden"]) == (2, 1)
    assert checks["Share overridden"] == 0.5


def test_report_on_agreement_holds_to_what_the_experts_said(world):
    """Four items: yes/yes, no/no, yes/no, no/no. Observed 3/4; expected 1/2*1/4+1/2*3/4 = 1/2;
    Cohen's kappa (.75 - .5) / .5 = .5, whatever the senior decides later."""
    panel = make_panel(world, per_domain=4, labels_per_item=2, check_percent=0)
    one, two = world.voters[:2]
    practise(world, panel, one, two)
    biology = list(panel.items.filter(case__query__domain__name="biology"))
    for item, (first, second) in zip(biology, [(1, 1), (0, 0), (1, 0), (0, 0)], strict=True):
        give(world, item, one, first), give(world, item, two, second)
    give(world, panel.items.filter(case__query__domain__name="weather")[0], one, 1)
    look(world, biology[2], world.reviewer, 1, reason="it is said")
    row = sheet(panel, "agreement")["biology"]
    assert (row["Items"], row["Agreement"]) == (4, 0.75)
    assert row["Cohen’s κ"] == pytest.approx(0.5)
    assert sheet(panel, "labels")["weather"]["Waiting"] == 4
