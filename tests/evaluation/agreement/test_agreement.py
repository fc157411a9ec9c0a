"""The agreement pages of votes: numbers, what stands behind them, and what they never show."""

import csv
import io
import json
import re
from copy import deepcopy

import pytest

from annotate.models import Vote
from annotate.voting.services import cast_vote
from tests.annotate.world import hx, make_world, masked, signed_in
from tests.factories import make_member, make_passage, make_query
from tests.markup import one_line
from tests.worlds import in_a_world

# docs/protocol.md 6.11, one column per voter: Fleiss' kappa .555556.
SIX = [(1, 1, 1), (0, 1, 1), (0, 0, 0), (0, 0, 1), (1, 1, 1), (0, 0, 0)]


def vote(world, case, labels):
    for voter, label in zip(world.voters, labels, strict=False):
        cast_vote(case=case, voter=voter, label=label, reason="" if label is not None else "cut")


@pytest.fixture(scope="module")
def made(undone_database):
    world = make_world()
    for labels in SIX:
        vote(world, world.case(), labels)
    return world


@pytest.fixture
def world(made, db):
    """The module's, as this test's own."""
    return deepcopy(made)


def page(world, person, path="agreement/?few=yes", **params):
    response = signed_in(person).get(world.url(path), params or None)
    assert response.status_code == 200
    return one_line(response)


def table(world, person, name, **params):
    answer = signed_in(person).get(world.url(f"agreement/votes/{name}.csv"), params)
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_page_shows_the_worked_value_and_its_reasons(world):
    shown = page(world, world.admin)
    assert "0.556" in shown
    assert "Cohen&#x27;s kappa compares two raters; here are 3." in shown
    assert "majority-3" in shown
    assert "Under 100 items" in shown
    (row,) = [
        row for row in table(world, world.admin, "coefficients") if "Fleiss" in row["Coefficient"]
    ]
    assert float(row["Value"]) == pytest.approx(0.555556, abs=5e-7)
    assert float(row["Value low"]) < float(row["Value"]) < float(row["Value high"])


@pytest.mark.slow
def test_every_link_of_the_page_leads_to_as_many_items_as_it_says(world):
    shown = page(world, world.admin)
    links = re.findall(r'<a href="(/b/garden/agreement/votes/items/[^"]*)">([\d,]+)</a>', shown)
    assert len(links) > 15
    client = signed_in(world.admin)
    for url, number in links:
        answer = one_line(client.get(url.replace("&amp;", "&")))
        found = re.search(r"of (?:more than )?(\d+)</span>", answer)
        assert int(found[1] if found else 0) == int(number), url


def test_items_name_who_said_what_to_admins_only(world):
    split = page(world, world.admin, "agreement/votes/items/", show="split")
    assert split.count("/disputes/") >= 2
    assert "annotator-1" in split
    reviewers = page(world, world.reviewer, "agreement/votes/items/", show="split")
    assert "annotator-1" not in reviewers
    assert "Person 1" in reviewers
    assert "annotator" not in "".join(re.findall(r"<td.*?</td>", page(world, world.reviewer)))


def test_stood_alone_is_what_the_others_majority_says(world):
    rows = {row["Person"]: row for row in table(world, world.admin, "people")}
    # annotator-1 said 0 where the others said 1 (item 2); annotator-3 said 1 on item 4.
    assert [rows[f"annotator-{n}"]["Stood alone"] for n in (1, 2, 3)] == ["1", "0", "1"]


@pytest.mark.slow
def test_stopping_rule_asks_for_more_as_the_interval_narrows(world):
    def more(width):
        rows = table(world, world.admin, "plan", width=width)
        return int(next(row for row in rows if "Fleiss" in row["Coefficient"])["Still to judge"])

    assert 0 < more("0.4") < more("0.2") < more("0.1")
    assert more("nonsense") == more("0.1") == more("nan") == more("1e400")


def test_labels_as_a_file_are_those_that_count(world):
    rows = table(world, world.admin, "labels")
    assert len(rows) == 18
    assert {row["label"] for row in rows} == {"0", "1"}
    assert {row["rater"] for row in rows} == {"annotator-1", "annotator-2", "annotator-3"}


def test_cut_by_domain(world):
    other = make_query(world.benchmark, "13", "weather")
    vote(
        world,
        world.case(query=other, passage=make_passage(world.benchmark, "sky", "weather")),
        (0, 0, 0),
    )
    rows = {row["Domain"]: row for row in table(world, world.admin, "domains")}
    assert [rows[name]["Items shared"] for name in ("biology", "weather")] == ["6", "1"]
    assert rows["weather"]["Fleiss’ κ"].startswith("Only one item was labelled")


def test_api_gives_the_tables_and_the_items(world):
    client = signed_in(world.reviewer)
    answer = client.get("/api/b/garden/agreement/votes/").json()
    assert {each["name"] for each in answer["tables"]} >= {
        "coefficients",
        "plan",
        "people",
        "pairs",
    }
    found = client.get("/api/b/garden/agreement/votes/items/", {"show": "split"}).json()
    assert found["count"] == len(found["results"]) == 2
    assert client.get("/api/b/garden/agreement/nothing/").status_code == 404
    assert json.dumps(found).count("annotator") == 0


UNDECIDED = ([1, 0], [1], [0], [None], [None, None, None, None, None])


def everything(world, person):
    client = signed_in(person)
    seen = {}
    paths = ["", "votes/", "votes/items/", "votes/items/?show=split"]
    paths += [
        f"votes/{name}.csv" for name in ("coefficients", "domains", "people", "pairs", "labels")
    ]
    for path in paths:
        for headers in ({}, hx()):
            answer = client.get(world.url(f"agreement/{path}"), **headers)
            if answer.streaming:
                seen[path, bool(headers)] = b"".join(answer.streaming_content)
            else:
                seen[path, bool(headers)] = masked(answer)
    for path in ("votes/", "votes/items/"):
        seen["api", path] = client.get(f"/api/b/garden/agreement/{path}").content
    return seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "given"),
    [
        ("admin", UNDECIDED[:1]),
        *(pytest.param(each, UNDECIDED, marks=pytest.mark.slow) for each in ("reviewer", "admin")),
    ],
)
def test_votes_on_a_case_that_is_not_decided_by_them_cannot_be_seen(world, role, given):
    person = make_member(world.benchmark, "both", "annotator", role)
    case = world.case()
    before = everything(world, person)

    def look(votes):
        vote(world, case, votes)
        assert Vote.objects.filter(case=case).count() == len(votes)
        return everything(world, person)

    for votes in given:
        assert in_a_world(lambda votes=votes: look(votes)) == before, votes


@pytest.mark.slow
def test_votes_of_a_case_that_an_expert_closed_stay_out(world):
    from annotate.workspace.gold import discard_passage

    before = everything(world, world.admin)
    case = world.case()
    vote(world, case, (1, 0))
    discard_passage(query=case.query, passage=case.passage, reason="noise", actor=world.voters[3])
    assert everything(world, world.admin) == before


@pytest.mark.slow
def test_fleiss_leads_to_the_items_it_takes(world):
    vote(world, world.case(), (None, 1, 1))  # two labels: shared, and left out by Fleiss
    test_every_link_of_the_page_leads_to_as_many_items_as_it_says(world)
    shown = page(world, world.admin, "agreement/votes/items/", show="counted")
    assert re.search(r"of 6</span>", shown)


def test_cells_of_the_heat_map_and_recalls_lead_to_their_items(world):
    shown = page(world, world.admin)
    cells = re.findall(r'href="([^"]*show=met[^"]*)" aria-label="([^"]*): ([\d.]+)"', shown)
    assert [name for _, name, _ in cells] == [
        "not relevant met not relevant",
        "not relevant met relevant",
        "relevant met not relevant",
        "relevant met relevant",
    ]
    client = signed_in(world.admin)
    counts = []
    for url, _, _ in cells:
        answer = one_line(client.get(url.replace("&amp;", "&")))
        counts.append(int(re.search(r"of (\d+)</span>", answer)[1]))
    # Of the six: (0,1,1) and (0,0,1) are split; (0,0,0) twice and (0,0,1) hold two zeros.
    assert counts == [3, 2, 2, 3]
    (others,) = set(re.findall(r'href="([^"]*show=others&amp;label=1)"', shown)[:1])
    answer = one_line(client.get(others.replace("&amp;", "&")))
    assert "the majority of the others says “relevant”" in answer
    wrong = page(world, world.admin, "agreement/votes/items/", show="met", label="7", other="0")
    assert "Every item with a label" in wrong


def test_agreement_with_the_others_leads_to_the_items_it_counts(world):
    """Not to those on which the others tie: of three votes, two others who differ."""
    key = world.voters[0].pk
    shown = page(world, world.admin, f"agreement/votes/items/?show=clear&person={key}")
    assert shown.count(">Case ") == 5  # of six; on (0, 0, 1) the two others differ
    assert f"person={key}&amp;show=clear" in page(world, world.admin)


def test_every_number_with_an_interval_has_its_items(world):
    shown = page(world, world.admin)
    for title in ("By domain", "By month", "By version of the guidelines", "Pairs of people"):
        part = shown.split(f">{title}</h2>")[1].split("</section>")[0]
        bare = re.findall(r"<td[^>]*>[\d.]+[^<]*<span class=.interval", part)
        assert bare == [], title


def test_tables_wait_for_enough_items_and_a_sentence_stands_before_them(world):
    bare = one_line(signed_in(world.admin).get(world.url("agreement/")))
    assert "Too few to say anything yet" in bare
    assert "<table" not in bare
    shown = page(world, world.admin)
    assert 0 < shown.index("Everybody gave the same label to") < shown.index("<table")
