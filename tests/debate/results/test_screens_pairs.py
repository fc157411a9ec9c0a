"""The list of a run's pairs: pages by place, filters, the file; and one debate in full."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotate.models import CaseStatus, EscalationCase
from debate.models import Debate, DebateFlag
from kit.lists.csvfile import harmless
from llm.models import Call
from tests.debate.runs.test_screens import (  # noqa: F401  (fixtures)
    client,
    make_debate,
    make_run,
    make_turns,
    reviewer,
    text,
    url,
)
from tests.factories import make_member, make_passage, make_query

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(benchmark) -> Any:
    return make_run(benchmark, status="done")


def make_many(run: Any, count: int) -> list[Debate]:
    query, other = make_query(run.benchmark, "moths"), make_query(run.benchmark, "bees")
    kinds = ["agreed", "escalated", "failed"]
    return [
        make_debate(
            run,
            kinds[n % 3],
            query=query if n % 2 else other,
            passage=make_passage(run.benchmark, f"page-{n}"),
            label=1 if kinds[n % 3] == "agreed" else None,
            round=1 if kinds[n % 3] == "agreed" else None,
        )
        for n in range(count)
    ]


@pytest.mark.few(4)
@pytest.mark.parametrize("place", ["x", "~", "a~b", "~99999999999999999999", "\x00~1", "-1~-1"])
@pytest.mark.parametrize("sort", ["", "passage"])
def test_place_that_cannot_be_read_is_the_beginning(client, run, place, sort) -> None:  # noqa: F811
    first = make_many(run, 3)[0]
    for name in ("after", "before"):
        found = client.get(url("debates", run.pk), {name: place, "sort": sort})
        assert found.status_code == 200
        assert first.pk in [row.pk for row in found.context["table"].rows]


def test_flags_failures_and_rounds_are_filters(client, run) -> None:  # noqa: F811
    one = make_debate(run, "agreed", label=0, round=3)
    two = make_debate(run, "failed", error_class="server")
    make_debate(run, "failed", error_class="refused")
    DebateFlag.objects.create(run=run, debate=one, flag="quote_not_found")

    def found(**params: str) -> list[int]:
        return [row.pk for row in client.get(url("debates", run.pk), params).context["table"].rows]

    assert found(flag="quote_not_found") == [one.pk]
    assert found(error="server") == [two.pk]
    assert found(round="3") == found(round="later") == [one.pk]
    assert found(round="2") == []
    assert "A quote is not in the passage" in text(client.get(url("debates", run.pk)))


def test_search_finds_words_of_the_query_and_beginnings_of_ids(client, run) -> None:  # noqa: F811
    first = make_debate(
        run,
        query=make_query(run.benchmark, "bio-7", text="Why do moths circle lamps?"),
        passage=make_passage(run.benchmark, "lamps/page_1"),
    )
    make_debate(run)
    for words in ("moths", "lamps moths", "bio-", "lamps/pa"):
        rows = client.get(url("debates", run.pk), {"q": words}).context["table"].rows
        assert [row.pk for row in rows] == [first.pk], words


def rows_of(response: Any) -> list[dict[str, str]]:
    body = b"".join(response.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(body)))


def test_file_holds_no_formula(client, run) -> None:  # noqa: F811
    query = make_query(run.benchmark, "=1+1", text='=HYPERLINK("http://evil","x")')
    make_debate(run, "failed", query=query, error="@SUM(A1)")
    (row,) = rows_of(client.get(url("debates-csv", run.pk)))
    assert row["query"] == "'=1+1"
    assert row["query_text"].startswith("'=HYPERLINK")
    assert row["failure"] == "'@SUM(A1)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1", "'=1"),
        (" +1", "' +1"),
        ("\t=1", "'\t=1"),
        ("-", "'-"),
        ("a=1", "a=1"),
        (-3, -3),
        (None, ""),
        ("", ""),
    ],
)
def test_only_texts_that_calculate_are_quoted(value, shown) -> None:
    assert harmless(value) == shown


def test_neighbours_are_those_of_the_list_it_was_opened_from(client, run) -> None:  # noqa: F811
    made = make_many(run, 9)
    disputed = [each.pk for each in made if each.status == "escalated"]
    page = client.get(url("debate", run.pk, disputed[1]), {"status": "escalated"})
    around = (page.context["previous_debate"], page.context["next_debate"])
    assert around == (disputed[0], disputed[2])
    plain = client.get(url("debate", run.pk, made[4].pk)).context
    assert (plain["previous_debate"], plain["next_debate"]) == (made[3].pk, made[5].pk)
    first = client.get(url("debate", run.pk, made[0].pk)).context
    assert (first["previous_debate"], first["next_debate"]) == (None, made[1].pk)


def test_quotes_are_marked_where_they_stand_and_listed_where_they_do_not(client, run) -> None:  # noqa: F811
    passage = make_passage(run.benchmark, "lamps", text="Moths tilt 🦋 their  backs.")
    debate = make_debate(run, "escalated", passage=passage)
    quotes = [
        {"text": "their backs", "start": 13, "end": 25},
        {"text": "invented", "start": None, "end": None},
        {"text": "Moths fly", "start": 0, "end": 10},  # the place says something else
    ]
    make_turns(debate, 1, references=quotes, flags=["quote_not_found"])
    page = text(client.get(url("debate", run.pk, debate.pk)))
    assert page.count('id="mark-13">their  backs</mark>') == 1
    assert page.count('id="mark-') == 1
    assert page.count('warn">not in the passage</span>') == 4
    assert "Quotes that are not in the passage" in page
    assert "“Moths fly”" in page


def test_call_is_shown_with_its_request_and_raw_answer(client, run) -> None:  # noqa: F811
    debate = make_debate(run, "agreed", label=1, round=1)
    request = {"messages": [{"role": "user", "content": "Does it? <b>"}]}
    call = Call.objects.create(
        key="k",
        attempt=1,
        model="m-7",
        endpoint="default",
        request=request,
        text='{"response": "yes"}',
        status="answered",
        input_tokens=1200,
        output_tokens=0,
        elapsed_s=4.25,
        created_at=timezone.now(),
    )
    make_turns(debate, 1, call=call)
    page = text(client.get(url("debate", run.pk, debate.pk)))
    assert "m-7 · 4.25 s · 1,200 in, 0 out" in page
    assert "Does it? &lt;b&gt;" in page
    assert "{&quot;response&quot;: &quot;yes&quot;}" in page


def make_case(debate: Debate, **fields: Any) -> EscalationCase:
    case = EscalationCase.objects.create(
        origin=f"debate:{debate.pk}", query=debate.query, passage=debate.passage, **fields
    )
    Debate.objects.filter(pk=debate.pk).update(case=case)
    return case


def test_an_admin_who_votes_is_led_to_the_case_and_told_nothing(benchmark, run) -> None:
    debate = make_debate(run, "escalated")
    case = make_case(debate, votes_in=2)
    voter = Client()
    voter.force_login(make_member(benchmark, "both", "annotator", "admin"))
    page = text(voter.get(url("debate", run.pk, debate.pk)))
    assert f'href="{url("vote-case", case.public_id)}"' in page
    assert url("dispute", case.public_id) not in page
    EscalationCase.objects.update(votes_in=0)
    assert text(voter.get(url("debate", run.pk, debate.pk))).count("tag") == page.count("tag")


@pytest.mark.parametrize(
    ("status", "words"),
    [(CaseStatus.OPEN, "not decided yet"), (CaseStatus.CLOSED, "People decided: relevant")],
)
def test_reader_is_told_of_a_case_once_it_is_closed(reviewer, run, status, words) -> None:  # noqa: F811
    debate = make_debate(run, "escalated")
    case = make_case(debate, status=status, label=1 if status == CaseStatus.CLOSED else None)
    page = text(reviewer.get(url("debate", run.pk, debate.pk)))
    assert words in page
    assert f'href="{url("dispute", case.public_id)}"' in page
