"""Lists and the home fragment: rows, filters, rights, and a constant number of queries."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.voting.services import cast_vote
from annotate.workspace.aspects import add_aspect, remove_aspect
from annotate.workspace.gold import assign_passage
from corpus.models import Document
from tests.annotate.world import hx, signed_in
from tests.factories import index_texts, make_gold, make_passage, make_query
from tests.markup import one_line


def get(world, person, path, **headers):
    return signed_in(person).get(world.url(path), **headers)


def queries_of(world, person, path):
    client = signed_in(person)
    client.get(world.url(path))
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(world.url(path)).status_code == 200
    return len(captured)


def more_rows(world, n):
    query = make_query(world.benchmark, f"more-{n}", "biology")
    passage = make_passage(world.benchmark, f"more/{n}.txt", "biology")
    make_gold(query, passage)
    aspect = add_aspect(query=query, actor=world.voters[0], content="a")
    assign_passage(query=query, passage=passage, aspect=aspect, actor=world.voters[0])
    world.case(query=query)


@pytest.mark.few
@pytest.mark.parametrize("path", ["queries/", "passages/", "disputes/"])
def test_three_rows_cost_as_many_queries_as_one(world, path):
    world.case()
    one = queries_of(world, world.reviewer, path)
    more_rows(world, 1)
    more_rows(world, 2)
    assert queries_of(world, world.reviewer, path) == one


def test_workspace_with_more_rows_costs_as_many_queries(world):
    expert = world.voters[0]

    def fill(n):
        first, second = [
            make_passage(world.benchmark, f"gold/{n}-{m}.txt", "biology") for m in (1, 2)
        ]
        make_gold(world.query, first)
        aspect = add_aspect(query=world.query, actor=expert, content="a")
        for passage in (first, second):
            assign_passage(query=world.query, passage=passage, aspect=aspect, actor=expert)

    fill(1)
    one = queries_of(world, expert, f"queries/{world.query.pk}/")
    fill(2)
    fill(3)
    assert queries_of(world, expert, f"queries/{world.query.pk}/") == one


def test_queries_are_counted_apart(world):
    expert = world.voters[0]
    originals = [make_passage(world.benchmark, f"o/{n}.txt", "biology") for n in range(3)]
    make_gold(world.query, *originals)
    first = add_aspect(query=world.query, actor=expert)
    add_aspect(query=world.query, actor=expert)
    remove_aspect(aspect=add_aspect(query=world.query, actor=expert), actor=expert)
    assign_passage(query=world.query, passage=originals[0], aspect=first, actor=expert)
    row = get(world, expert, "queries/").context["table"].rows[0]
    assert (row.aspect_count, row.gold_count, row.original_count) == (2, 1, 3)


def test_queries_are_searched_and_filtered(world):
    make_query(world.benchmark, "99", "weather", text="Where does hail come from?")
    add_aspect(query=world.query, actor=world.voters[0])

    def found(query_string):
        table = get(world, world.reviewer, f"queries/?{query_string}").context["table"]
        return [row.qid for row in table.rows]

    assert found("") == ["12", "99"]
    assert found("q=hail") == ["99"]
    assert found("domain=weather") == ["99"]
    assert found("work=begun") == ["12"]
    assert found("work=bare") == ["99"]


def test_fragment_holds_the_results_alone(world):
    for path in ("queries/", "passages/", "disputes/"):
        page = one_line(get(world, world.reviewer, path, **hx("results")))
        assert page.lstrip().startswith('<section id="results"')
        assert "<html" not in page


def test_passages_are_filtered_by_text(world):
    make_passage(world.benchmark, "lost.txt", text=None)
    index_texts(world.benchmark)

    def found(query_string):
        table = get(world, world.reviewer, f"passages/?{query_string}").context["table"]
        return [row.pid for row in table.rows]

    assert found("text=no") == ["lost.txt"]
    assert found("text=yes") == ["lamps/page_3.txt"]
    assert found("q=moths bulb") == ["lamps/page_3.txt"]


def test_passage_shows_page_neighbours_and_labels(world):
    page = Document.objects.create(
        version=world.passage.version,
        domain=world.passage.domain,
        doc_id="lamps/page.txt",
        title="Lamps and flight",
        source_url="https://lamps.example/flight",
        text="x" * 90,
    )
    first, middle, last = [
        make_passage(
            world.benchmark, f"lamps/{n}.txt", "biology", document=page, start=n, end=n + 5
        )
        for n in (0, 30, 60)
    ]
    make_gold(world.query, middle)
    body = one_line(get(world, world.reviewer, f"passages/{middle.pk}/"))
    assert world.url(f"passages/{first.pk}/") in body
    assert world.url(f"passages/{last.pk}/") in body
    assert "Passage 2 of 3" in body
    assert 'rel="noreferrer' in body
    assert "https://lamps.example/flight" in body
    assert "original" in body.lower()


def test_source_that_is_no_web_address_is_no_link(world):
    page = Document.objects.create(
        version=world.passage.version,
        domain=world.passage.domain,
        doc_id="evil.txt",
        source_url="javascript:alert(1)",
        text="x",
    )
    evil = make_passage(world.benchmark, "evil_0.txt", "biology", document=page)
    body = one_line(get(world, world.reviewer, f"passages/{evil.pk}/"))
    assert 'href="javascript' not in body


def test_disputes_show_the_outcome_of_closed_cases_only(world):
    closed, still_open = world.case(), world.case()
    for voter in world.voters[:3]:
        cast_vote(case=closed, voter=voter, label=0)
    body = one_line(get(world, world.reviewer, "disputes/"))
    assert body.count("not relevant") == 1
    table = get(world, world.reviewer, "disputes/?status=open").context["table"]
    assert table.rows == [still_open]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("queries/", [200, 200, 200, 404]),
        ("passages/", [200, 200, 200, 404]),
        ("disputes/", [403, 200, 200, 404]),
    ],
)
def test_who_may_see_the_lists(world, path, expected):
    people = [world.voters[0], world.reviewer, world.admin, world.stranger]
    assert [get(world, person, path).status_code for person in people] == expected


def test_dispute_is_for_reviewers_and_admins(world):
    path = f"disputes/{world.case().public_id}/"
    people = [world.voters[0], world.reviewer, world.admin, world.stranger]
    assert [get(world, who, path).status_code for who in people] == [403, 200, 200, 404]


def test_empty_lists_say_what_to_do(world):
    assert "A case appears here" in one_line(get(world, world.reviewer, "disputes/"))
    body = one_line(get(world, world.reviewer, "disputes/?q=nothing"))
    assert "Nothing matches" in body


def test_home_counts_what_waits_for_me(world):
    case, _ = world.case(), world.case()
    cast_vote(case=case, voter=world.voters[0], label=1)
    body = one_line(signed_in(world.voters[0]).get("/home/annotate/"))
    assert "Vote 2 of 2" in body
    assert "<b>1 left</b>" in body
    assert "1 unassigned query to take" in body
    assert "open dispute" not in body


def test_home_of_another_domain_counts_its_own_work_alone(world):
    world.case()
    body = one_line(signed_in(world.outsider).get("/home/annotate/"))
    assert "Nothing waits for you." in body
    assert "unassigned query to take" not in body


def test_home_of_a_reviewer_counts_open_disputes(world):
    world.case(), world.case()
    body = one_line(signed_in(world.reviewer).get("/home/annotate/"))
    assert "2 open disputes" in body
    assert "Votes</b>" not in body
