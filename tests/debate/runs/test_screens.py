"""Screens of debate runs: setting up, the run monitor, the pairs, one debate."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from corpus.hidden import READ
from corpus.models import Passage, Query
from debate.models import Debate, DebateRun, DebateStatus, Turn
from kit.models import Event
from llm.models import Call
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query
from tests.markup import one_line

pytestmark = pytest.mark.django_db
EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
LIVE = {"HX-Request": "true", "HX-Target": "live"}
PRACTICE = "http://127.0.0.1:9/v1"


@pytest.fixture
def client(benchmark) -> Client:
    client = Client()
    client.force_login(make_member(benchmark, "admin", "admin"))
    return client


@pytest.fixture
def reviewer(benchmark) -> Client:
    client = Client()
    client.force_login(make_member(benchmark, "reviewer", "reviewer"))
    return client


def make_run(benchmark: Any, **fields: Any) -> DebateRun:
    pool = benchmark.pools.first() or make_pool(benchmark)
    fields.setdefault("name", f"run {DebateRun.objects.count()}")
    return DebateRun.objects.create(
        benchmark=benchmark, pool=pool, endpoint="practice", model="m-1", **fields
    )


def make_debate(run: DebateRun, status: str = "waiting", **fields: Any) -> Debate:
    """One more pair of the run."""
    number = Debate.objects.count()
    query = fields.pop("query", None) or make_query(run.benchmark, f"q{number}")
    passage = fields.pop("passage", None) or make_passage(run.benchmark, f"p{number}")
    return Debate.objects.create(run=run, query=query, passage=passage, status=status, **fields)


def make_outcomes(run: DebateRun) -> None:
    """1 agreed in round one, 2 later, 3 disputed, 4 unreadable, 5 failed, 6 skipped, 7 waiting."""
    make_debate(run, "agreed", label=1, round=1)
    for n in range(2):
        make_debate(run, "agreed", label=n, round=2 + n)
    kinds = ["escalated", "unreadable", "failed", "skipped_no_answer", "waiting"]
    for times, status in enumerate(kinds, start=3):
        for _ in range(times):
            make_debate(run, status)


def url(name: str, *args: Any) -> str:
    return reverse(name, args=["demo", *args])


def text(response: Any) -> str:
    return one_line(response)


def test_no_screen_shows_an_endpoints_address_or_key(client, benchmark, settings) -> None:
    settings.OPENAI_BASE_URL = "https://models.example/v1"
    settings.OPENAI_API_KEY = "sk-hidden"
    make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    debate = make_debate(make_run(benchmark), "failed", error="HTTP 500")
    pages = [
        url("debate-run-new"),
        url("debate-runs"),
        url("debate-run", debate.run_id),
        url("debate", debate.run_id, debate.pk),
    ]
    shown = "".join(text(client.get(page)) for page in pages)
    assert "default (" in shown
    assert "models.example" not in shown
    assert "sk-hidden" not in shown


def test_control_room_counts_every_outcome_and_links_to_its_rows(client, benchmark) -> None:
    run = make_run(benchmark, status="running", total=28, done=21)
    make_outcomes(run)
    page = text(client.get(url("debate-run", run.pk)))
    legend = re.findall(r'<a href="([^"]*pairs/\?[^"]*)">([^<]*)</a> <b>(\d+)</b>', page)
    assert {name: int(value) for _, name, value in legend} == {
        "Agreed in round 1": 1,
        "Agreed in round 2": 1,
        "Agreed in round 3": 1,
        "Disputed": 3,
        "Unreadable or failed": 9,
        "Skipped": 6,
        "Waiting": 7,
    }
    for link, name, value in legend:
        rows = client.get(link.replace("&amp;", "&")).context["table"]
        assert (name, rows.total) == (name, int(value))
    assert "21 of 28 pairs" in page
    assert "50.0 % of decided" in page


@pytest.mark.parametrize("status", ["queued", "running", "paused"])
def test_live_part_goes_on_asking_while_the_run_does(client, benchmark, status) -> None:
    run = make_run(benchmark, status=status)
    response = client.get(url("debate-run", run.pk), headers=LIVE)
    part = text(response)
    assert response.status_code == 200
    assert part.startswith('<div id="live"')
    assert f'hx-get="{url("debate-run", run.pk)}" hx-trigger="every 2s"' in part
    assert "HX-Request" in response["Vary"]


@pytest.mark.parametrize("status", ["done", "failed", "cancelled"])
def test_live_part_stops_asking_when_the_run_is_over(client, benchmark, status) -> None:
    run = make_run(benchmark, status=status)
    response = client.get(url("debate-run", run.pk), headers=LIVE)
    assert response.status_code == 286
    assert "hx-trigger" not in text(response)
    whole = client.get(url("debate-run", run.pk))
    assert whole.status_code == 200
    assert "every 2s" not in text(whole)


def test_page_and_live_part_are_the_same_markup(client, benchmark) -> None:
    run = make_run(benchmark, status="running")
    make_outcomes(run)
    part = text(client.get(url("debate-run", run.pk), headers=LIVE))
    token = re.compile(r'value="\w{64}"')
    assert token.sub("", part) in token.sub("", text(client.get(url("debate-run", run.pk))))


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [
        ("pause", "running", "paused"),
        ("pause", "queued", "paused"),
        ("resume", "paused", "queued"),
        ("resume", "failed", "queued"),
        ("cancel", "running", "cancelled"),
    ],
)
def test_run_is_steered_without_javascript(client, benchmark, verb, before, after) -> None:
    run = make_run(benchmark, status=before)
    assert url(f"debate-run-{verb}", run.pk) in text(client.get(url("debate-run", run.pk)))
    response = client.post(url(f"debate-run-{verb}", run.pk))
    run.refresh_from_db()
    assert (response.status_code, response.url) == (302, url("debate-run", run.pk))
    assert run.status == after
    assert Event.objects.filter(verb=f"{verb} debate run", scope="demo").count() == 1


@pytest.mark.parametrize("state", ["done", "failed"])
def test_failed_pairs_are_tried_again_at_a_press(client, reviewer, benchmark, state) -> None:
    run = make_run(benchmark, status=state)
    make_debate(run, "failed", error="why")
    address = url("debate-run-retry", run.pk)
    assert address in text(client.get(url("debate-run", run.pk)))
    assert address not in text(reviewer.get(url("debate-run", run.pk)))
    assert client.post(address).status_code == 302
    run.refresh_from_db()
    debate = run.debates.get()
    assert (run.status, debate.status, debate.error) == ("queued", "waiting", "")
    assert address not in text(client.get(url("debate-run", run.pk)))


def test_without_failed_pairs_no_second_try_is_offered(client, benchmark) -> None:
    run = make_run(benchmark, status="done")
    make_debate(run, "agreed", label=1, round=1)
    assert url("debate-run-retry", run.pk) not in text(client.get(url("debate-run", run.pk)))
    response = client.post(url("debate-run-retry", run.pk), follow=True)
    assert "No pair of this run has failed." in text(response)


def test_move_that_is_not_legal_is_explained(client, benchmark) -> None:
    run = make_run(benchmark, status="done")
    response = client.post(url("debate-run-pause", run.pk), follow=True)
    assert "This run is done already." in text(response)
    assert not Event.objects.filter(verb="pause debate run").exists()


def test_steering_by_htmx_loads_the_page_anew(client, benchmark) -> None:
    run = make_run(benchmark, status="running")
    response = client.post(url("debate-run-pause", run.pk), headers={"HX-Request": "true"})
    assert response["HX-Redirect"] == url("debate-run", run.pk)


def test_reviewer_reads_and_is_offered_nothing_to_press(reviewer, benchmark) -> None:
    run = make_run(benchmark, status="running")
    page = text(reviewer.get(url("debate-run", run.pk)))
    assert "Pause" not in page
    assert "Cancel…" not in page
    assert url("debate-run-new") not in text(reviewer.get(url("debate-runs")))


def test_empty_list_says_how_to_begin(client) -> None:
    assert "Start one over a pool of pairs" in text(client.get(url("debate-runs")))


@pytest.mark.parametrize("name", ["debate-runs", "debate-run", "debates"])
def test_page_costs_the_same_with_one_and_three_rows(
    client, benchmark, name, django_assert_num_queries
) -> None:
    queries = {"debate-runs": 9, "debate-run": 8, "debates": 10}[name]
    run = make_run(benchmark)
    make_debate(run, "agreed", label=1, round=1)
    address = url(name) if name == "debate-runs" else url(name, run.pk)
    client.get(address)
    with django_assert_num_queries(queries):
        client.get(address)
    for n in range(2):
        make_run(benchmark)
        make_debate(run, DebateStatus.ESCALATED if n else "failed")
    with django_assert_num_queries(queries):
        client.get(address)


def test_one_debate_costs_the_same_with_two_and_six_turns(
    client, benchmark, django_assert_num_queries
) -> None:
    debate = make_debate(make_run(benchmark), "escalated")
    address = url("debate", debate.run_id, debate.pk)
    client.get(address)  # the first read of the day is recorded
    for number in range(1, 4):
        make_turns(debate, number)
        with django_assert_num_queries(8):
            page = text(client.get(address))
        assert page.count("Agent A</b>") == number


def make_turns(debate: Debate, number: int, **fields: Any) -> None:
    for agent, stance in (("A", "relevant"), ("B", "irrelevant")):
        values = {"response": "yes", "label": 1, "reason": "So it reads."} | fields
        Turn.objects.create(debate=debate, round=number, agent=agent, stance=stance, **values)


def test_pairs_are_searched_filtered_and_swapped_in(client, benchmark) -> None:
    run = make_run(benchmark)
    make_outcomes(run)
    wanted = make_debate(run, "agreed", label=0, round=1, query=make_query(benchmark, "moths"))
    found = client.get(url("debates", run.pk), {"q": "moths", "label": "0"}, headers=LIVE)
    assert [row.pk for row in found.context["table"].rows] == [wanted.pk]
    assert text(found).startswith('<section id="results"')
    unknown = client.get(url("debates", run.pk), {"status": "' OR 1=1", "round": "x", "page": "9"})
    assert unknown.context["table"].total == 29


def test_hostile_texts_are_text_everywhere(client, benchmark) -> None:
    query = make_query(benchmark, "evil", text=f"{EVIL}\nmore {EVIL}", answers=[EVIL])
    passage = make_passage(benchmark, f"evil/{EVIL}", text=EVIL, title=EVIL)
    run = make_run(benchmark, name=EVIL, status="failed", error=EVIL)
    debate = make_debate(run, "failed", query=query, passage=passage, error=EVIL)
    quote = {"text": EVIL, "start": None, "end": None}
    call = Call.objects.create(
        key="k", attempt=1, request={}, text=EVIL, status="answered", created_at=timezone.now()
    )
    make_turns(debate, 1, reason=EVIL, references=[quote], response="", label=None, call=call)
    pages = [
        url("debate-runs"),
        url("debate-run", run.pk),
        url("debates", run.pk) + "?q=%3Cscript%3Ealert('x')",
        url("debate", run.pk, debate.pk),
    ]
    for page in pages:
        shown = text(client.get(page))
        assert "alert(" in shown, page
        assert "<script>alert" not in shown, page
        assert "<img" not in shown, page


def test_passage_without_text_is_shown_as_such(client, benchmark) -> None:
    passage = make_passage(benchmark, "bare", text=None)
    debate = make_debate(make_run(benchmark), "failed", passage=passage)
    assert "Text not loaded." in text(client.get(url("debate", debate.run_id, debate.pk)))


def test_debate_of_another_run_is_not_found_here(client, benchmark) -> None:
    debate, other = make_debate(make_run(benchmark)), make_run(benchmark)
    assert client.get(url("debate", other.pk, debate.pk)).status_code == 404


@pytest.mark.slow
def test_home_shows_what_goes_on_of_each_benchmark(client, benchmark) -> None:
    for status in ("queued", "running", "paused", "failed", "done", "cancelled"):
        make_run(benchmark, status=status, name=f"the {status} run")
    make_run(make_benchmark("other"), name="a foreign run")
    for asked in ("", "?brief=1"):
        page = text(client.get(url("checklist") + asked))
        shown = re.findall(r"the \w+ run|a foreign run", re.sub(r'aria-label="[^"]*"', "", page))
        assert sorted(shown) == ["the paused run", "the queued run", "the running run"]


def test_nothing_is_changed_by_looking(client, benchmark) -> None:
    debate = make_debate(make_run(benchmark), "waiting")
    kinds = (DebateRun, Debate, Query, Passage)
    before = [list(kind.objects.values()) for kind in kinds]
    for name, *args in [
        ("debate-runs",),
        ("debate-run", debate.run_id),
        ("debates", debate.run_id),
        ("debate", debate.run_id, debate.pk),
    ]:
        assert client.get(url(name, *args)).status_code == 200
    assert [list(kind.objects.values()) for kind in kinds] == before
    # Of the two pages that show labels one read is on record.
    assert [event.verb for event in Event.objects.all()] == [READ]
