"""The screens of a reference panel, by role; what one expert sees never tells of another."""

import csv
import io
import re
from itertools import product

import pytest

from annotate.models import PanelStatus, ReferencePanel, SpotCheck, Vote
from annotate.panels import services as verbs
from annotate.panels.settling import check_item
from corpus.models import Judgment
from tests.annotate.panels.drawing import (
    REASONS,
    WRITER,
    access_of,
    first_item,
    give,
    make_panel,
    practise,
)
from tests.annotate.world import hx, masked, signed_in
from tests.factories import make_member
from tests.worlds import in_a_world


@pytest.fixture
def panel(world):
    """Open, two labels each, with reasons, everything in the spot check."""
    panel = make_panel(world, open_it=False, shows_hints=True, labels_per_item=2, check_percent=100)
    written = dict.fromkeys(panel.items.values_list("pk", flat=True), REASONS)
    verbs.freeze_reasons(panel=panel, positions=written, provenance=WRITER)
    verbs.open_panel(panel=panel, access=access_of(world, world.admin))
    practise(world, panel, *world.voters[:3])
    return panel


def url(world, panel, path=""):
    return world.url(f"panels/{panel.pk}/{path}")


def text(response):
    return re.sub(r"\s+", " ", response.content.decode())


@pytest.mark.slow
def test_an_admin_draws_opens_and_closes_a_panel(world):
    client = signed_in(world.admin)
    assert "No panel yet" in text(client.get(world.url("panels/")))
    sent = {
        "name": "gold standard", "per_domain": "2", "seed": "3", "labels_per_item": "1",
        "practice_items": "5", "check_percent": "10",
    }  # fmt: skip
    answer = client.post(world.url("panels/new/"), sent)
    panel = ReferencePanel.objects.get()
    assert answer.url == url(world, panel)
    assert (panel.items.count(), panel.shows_hints) == (4, False)
    assert "Open it" in text(client.get(url(world, panel)))
    client.post(url(world, panel, "open/"))
    client.post(url(world, panel, "close/"))
    panel.refresh_from_db()
    assert (panel.status, panel.dropped) == (PanelStatus.CLOSED, 4)


def test_a_wrong_number_is_named_and_what_was_typed_stays(world):
    answer = signed_in(world.admin).post(
        world.url("panels/new/"), {"name": "kept words", "per_domain": "0"}
    )
    assert answer.status_code == 422
    assert 'value="kept words"' in text(answer)
    assert "id_per_domain_error" in text(answer)


@pytest.mark.slow
def test_the_gate_leads_through_practice_to_the_first_item(world):
    panel = make_panel(world)
    client = signed_in(world.voters[3])
    start = text(client.get(url(world, panel, "label/")))
    assert "Practise biology: 5 items" in start
    domain = first_item(panel).case.query.domain_id
    sitting = client.post(url(world, panel, f"practice/{domain}/")).url
    for place in range(5):
        page = text(client.get(sitting))
        assert ("Right." in page or "Not right" in page) == (place > 0)
        client.post(sitting, {"label": "1", "place": str(place)})
    item = client.get(url(world, panel, "label/")).url
    assert "Practise weather" in text(client.get(url(world, panel, "label/?practice=1")))
    page = text(client.get(item))
    assert "From the passage alone" in page
    assert "Moths near a bulb" in page


@pytest.mark.slow
def test_an_item_shows_both_reasons_in_an_order_of_its_own(world, panel):
    orders = set()
    for item in panel.items.all():
        for person in world.voters[:3]:
            page = text(signed_in(person).get(url(world, panel, f"label/{item.pk}/")))
            if "It says so." not in page:
                continue  # both of its places were taken
            assert "Reason A" in page
            assert "Reason B" in page
            assert "Agent" not in page
            orders.add(page.index("It says so.") < page.index("It leaves it open."))
    assert orders == {True, False}


@pytest.mark.slow
def test_a_label_leads_on_and_can_be_corrected_with_a_reason(world, panel):
    client, person = signed_in(world.voters[0]), world.voters[0]
    here = client.get(url(world, panel, "label/")).url
    answer = client.post(here, {"label": "1", "elapsed_ms": "2000"})
    assert answer.url == url(world, panel, "label/")
    there = client.get(answer.url).url
    assert there != here
    assert ", which you labelled relevant" in text(client.get(there))
    assert "<b>2 of " in text(client.get(there))
    vote = Vote.objects.get(voter=person)
    assert (vote.label, vote.elapsed_ms, vote.arm, vote.saw_positions) == (1, 2000, "start", True)
    page = text(client.get(here))
    assert "You judged: relevant" in page
    again = client.post(here, {"label": "0", "correct": "1", "reason": ""})
    assert again.status_code == 422
    client.post(here, {"label": "0", "correct": "1", "reason": "misread it"})
    assert Vote.objects.standing().get(voter=person).label == 0


def test_another_tab_is_told_what_stands_and_keeps_what_was_typed(world, panel):
    client = signed_in(world.voters[0])
    here = client.get(url(world, panel, "label/")).url
    client.post(here, {"label": "1"})
    clash = client.post(here, {"label": "0", "reason": "my words"})
    assert clash.status_code == 409
    assert "my words" in text(clash)
    assert client.post(here, {"label": "1"}).status_code == 302
    assert Vote.objects.count() == 1


def seen_after(world, panel, person, act):
    """Everything the person can open of the panel in a world where `act` was done."""
    item = first_item(panel)
    pages = ["label/", f"label/{item.pk}/", "", "items/", "items/?label=1", "overrides/"]
    pages += ["items/?check=drawn", "items/?state=waiting", "tables/labels.csv"]
    pages += ["tables/agreement.csv", "checks/", f"checks/{item.pk}/"]

    def look():
        act()
        client = signed_in(person)
        paths = [url(world, panel, page) for page in pages]
        paths += ["/home/annotate/", *map(world.url, ["panels/", "judgments/", "vote/"])]
        paths += [world.url(f"passages/{item.case.passage_id}/")]
        paths += [f"/api{url(world, panel, page)}" for page in ("", "items/", "items/next/")]
        seen = {}
        for path in paths:
            for headers in ({}, hx("results")) if path.endswith("items/") else ({},):
                answer = client.get(path, **headers)
                page = b"".join(answer) if answer.streaming else masked(answer)
                seen[path, bool(headers)] = (answer.status_code, answer.get("Location"), page)
        return seen

    return in_a_world(look)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "label"),
    [
        ("expert", 0),
        *(
            pytest.param(role, label, marks=pytest.mark.slow)
            for role, label in product(("expert", "both"), (1, 0, None))
            if (role, label) != ("expert", 0)
        ),
    ],
)
def test_a_label_of_another_expert_cannot_be_seen_before_ones_own(world, panel, role, label):
    """Worlds that differ in whether and how another expert labelled the item look the same."""
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    practise(world, panel, both)
    person = {"expert": world.voters[0], "both": both}[role]
    item = first_item(panel)

    def nothing():
        pass

    def another():
        give(world, item, world.voters[1], label, reason="secret words")

    # Everybody's place is held before, so that only what is said differs.
    signed_in(world.voters[1]).get(url(world, panel, f"label/{item.pk}/"))
    signed_in(person).get(url(world, panel, f"label/{item.pk}/"))
    assert seen_after(world, panel, person, another) == seen_after(world, panel, person, nothing)


@pytest.mark.slow
def test_the_comparison_can_fail(world, panel):
    person, item = world.voters[0], first_item(panel)

    def own():
        give(world, item, person, 1)

    assert seen_after(world, panel, person, own) != seen_after(world, panel, person, lambda: None)


@pytest.mark.parametrize("role", ["both", pytest.param("expert", marks=pytest.mark.slow)])
def test_whether_an_item_will_be_looked_at_cannot_be_seen_by_its_labellers(world, panel, role):
    item = first_item(panel)
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    reader = {"expert": world.voters[0], "both": both}[role]

    def not_drawn():
        panel.items.filter(pk=item.pk).update(in_spot_check=False)

    drawn = seen_after(world, panel, reader, lambda: None)
    other = seen_after(world, panel, reader, not_drawn)
    # The report counts how many were drawn in all; of which items, nothing tells.
    home = url(world, panel), f"/api{url(world, panel)}"
    assert {k: v for k, v in drawn.items() if k[0] not in home} == {
        k: v for k, v in other.items() if k[0] not in home
    }


@pytest.mark.slow
def test_a_senior_keeps_overrides_and_reads_the_log(world, panel):
    item, other = panel.items.filter(case__query__domain__name="biology")[:2]
    for each in (item, other):
        give(world, each, world.voters[0], 1), give(world, each, world.voters[1], 1)
    client = signed_in(world.reviewer)
    first = client.get(url(world, panel, "checks/")).url
    assert "Keep “relevant”" in text(client.get(first))
    client.post(first, {"label": "1"})
    second = client.get(url(world, panel, "checks/")).url
    assert client.post(second, {"label": "0"}).status_code == 422
    client.post(second, {"label": "0", "reason": "=only the topic"})
    assert "Nothing waits for a senior" in text(client.get(url(world, panel, "checks/")))
    log = text(client.get(url(world, panel, "overrides/?kind=override")))
    assert "relevant → not relevant" in log
    assert log.count("Check&nbsp;") == 1
    file = b"".join(client.get(url(world, panel, "overrides.csv?kind=override"))).decode()
    (row,) = csv.DictReader(io.StringIO(file))
    assert (row["kind"], row["before"], row["label"]) == ("override", "1", "0")
    assert row["reason"] == "'=only the topic"  # harmless in a spreadsheet
    assert row["senior"] == "reviewer"
    found = client.get(f"/api{url(world, panel, 'overrides/')}?kind=override").json()["results"]
    assert [each["query"] for each in found] == [row["query"]]


def test_two_seniors_at_once_both_are_told(world, panel):
    item = first_item(panel)
    give(world, item, world.voters[0], 1), give(world, item, world.voters[1], 1)
    check_item(item=item, access=access_of(world, world.admin), label=1)
    client = signed_in(world.reviewer)
    clash = client.post(url(world, panel, f"checks/{item.pk}/"), {"label": "0", "reason": "no"})
    assert clash.status_code == 409
    assert "by admin" in text(clash)
    replaces = SpotCheck.objects.get().pk
    sent = {"label": "0", "reason": "only the topic", "replaces": replaces}
    assert client.post(url(world, panel, f"checks/{item.pk}/"), sent).status_code == 302
    assert Judgment.objects.standing().get().label == 0


def test_numbers_lead_to_the_items_behind_them(world, panel):
    item = first_item(panel)
    give(world, item, world.voters[0], 1), give(world, item, world.voters[1], 1)
    client = signed_in(world.reviewer)
    page = text(client.get(url(world, panel)))
    link = f"{url(world, panel)}items/?domain=biology&amp;label=1"
    assert link in page
    rows = text(client.get(link.replace("&amp;", "&")))
    assert item.case.query.qid in rows
    assert rows.count('data-label="Item"') == 1


@pytest.mark.slow
def test_the_api_labels_looks_and_reports(world, panel):
    api = f"/api{url(world, panel)}"
    clients = [signed_in(person) for person in world.voters[:2]]
    found = clients[0].get(f"{api}items/next/").json()
    assert found["practice"] == {}
    assert {each["agent"] for each in found["item"]["snapshot"]["positions"]} == {"A", "B"}
    key = found["item"]["id"]
    for client in clients:
        assert client.post(f"{api}items/{key}/labels/", {"label": 1}).status_code == 201
    assert clients[0].post(f"{api}items/{key}/labels/", {"label": 0}).status_code == 409
    senior = signed_in(world.reviewer)
    waiting = senior.get(f"{api}checks/next/").json()["item"]
    assert (waiting["id"], waiting["labels"], waiting["label"]) == (key, [1, 1], 1)
    sent = {"label": 0, "reason": "only the topic"}
    assert senior.post(f"{api}items/{key}/checks/", sent).json()["kind"] == "override"
    names = [table["name"] for table in senior.get(api).json()["tables"]]
    assert names == ["labels", "checks", "agreement"]
