"""The run monitor: domains, failures by class, trying again, what was used."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from corpus.hidden import READ
from debate.models import Debate, DebateFlag, Turn
from debate.runs.figures import figures, outcomes, run_spending, seconds_left
from debate.runs.outcomes import note_flags
from kit.models import Event
from kit.runs.models import lease
from kit.runs.sharing import new_group
from llm.ledger.accounts import open_account
from llm.models import Call
from tests.debate.runs.test_screens import (  # noqa: F401  (fixtures)
    client,
    make_debate,
    make_outcomes,
    make_run,
    make_turns,
    reviewer,
    text,
    url,
)
from tests.factories import make_benchmark, make_passage, make_query

pytestmark = pytest.mark.django_db


def make_call(number: int, **fields: Any) -> Call:
    values = {
        "status": "answered",
        "text": "x",
        "input_tokens": 900,
        "output_tokens": 100,
        "elapsed_s": 2.0,
    } | fields
    return Call.objects.create(
        key=f"k{number}", attempt=1, request={}, created_at=timezone.now(), **values
    )


@pytest.mark.slow
def test_every_number_by_domain_leads_to_its_rows(client) -> None:  # noqa: F811
    two = make_benchmark("two", domains=("biology", "robotics"))
    run = make_run(two)
    for domain, status, fields in [
        ("biology", "agreed", {"label": 1, "round": 1}),
        ("biology", "agreed", {"label": 0, "round": 2}),
        ("robotics", "agreed", {"label": 1, "round": 2}),
        ("robotics", "escalated", {}),
        ("robotics", "failed", {"error": "server"}),
    ]:
        number = Debate.objects.count()
        query = make_query(two, f"q{number}", domain)
        make_debate(
            run, status, query=query, passage=make_passage(two, f"p{number}", domain), **fields
        )
    whole, domains = outcomes(run)
    assert whole.figures() == figures(run)
    assert [
        (each.name, each.total, sorted(each.agreed.items()), each.relevant) for each in domains
    ] == [
        ("biology", 2, [(1, 1), (2, 1)], 1),
        ("robotics", 3, [(2, 1)], 1),
    ]
    assert (domains[1].escalation.hits, domains[1].escalation.n) == (1, 2)
    from tests.factories import make_member

    client.force_login(make_member(two, "two-admin", "admin"))
    page = text(client.get(f"/b/two/debates/{run.pk}/"))
    links = re.findall(r'<a href="([^"]*domain=[^"]*)">(\d+)</a>', page)
    assert len(links) == 2 * 9
    for link, value in links:
        table = client.get(link.replace("&amp;", "&")).context["table"]
        assert (link, table.total) == (link, int(value))


def test_failures_are_counted_by_class_and_lead_to_their_rows(client, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark, status="done")
    for error_class in ("server", "server", "refused"):
        make_debate(run, "failed", error="It said: a < b & more", error_class=error_class)
    make_debate(run, "unreadable", error="No object.")
    page = text(client.get(url("debate-run", run.pk)))
    table = page[page.index("What went wrong") : page.index("By domain")]
    links = re.findall(r'data-label="Pairs"><a href="([^"]+)">(\d+)</a>', table)
    assert [int(value) for _, value in links] == [2, 1, 1]
    for link, value in links:
        found = client.get(link.replace("&amp;", "&")).context["table"]
        assert found.total == int(value)


def test_one_failure_class_is_tried_again(client, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark, status="done", total=3, done=3)
    again = make_debate(run, "failed", error_class="server", round=1)
    make_turns(again, 1, flags=["failed"])
    DebateFlag.objects.create(run=run, debate=again, flag="failed")
    other = make_debate(run, "failed", error_class="refused")
    make_debate(run, "agreed", label=1, round=1)
    response = client.post(url("debate-run-requeue", run.pk), {"error": "server"})
    assert (response.status_code, response.url) == (302, url("debate-run", run.pk))
    run.refresh_from_db()
    assert (run.status, run.done) == ("queued", 2)
    states = dict(run.debates.values_list("pk", "status"))
    assert (states[again.pk], states[other.pk]) == ("waiting", "failed")
    assert not Turn.objects.exists()
    assert not DebateFlag.objects.exists()
    event = Event.objects.get(verb="requeue debates")
    assert event.data == {"error_class": "server", "pairs": 1}


def test_one_pair_is_tried_again_from_its_page(client, reviewer, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark, status="paused", total=1, done=1)
    debate = make_debate(run, "failed", error="why")
    address = url("debate-requeue", run.pk, debate.pk)
    assert address in text(client.get(url("debate", run.pk, debate.pk)))
    assert address not in text(reviewer.get(url("debate", run.pk, debate.pk)))
    assert client.post(address).status_code == 302
    run.refresh_from_db()
    assert (run.status, run.done, run.debates.get().status) == ("paused", 0, "waiting")


@pytest.mark.parametrize(
    ("status", "state", "words"),
    [
        ("agreed", "done", "Only a pair that failed"),
        ("failed", "running", "Pause it first"),
        ("failed", "cancelled", "This run is cancelled"),
    ],
)
def test_trying_again_is_refused_with_the_reason(client, benchmark, status, state, words) -> None:  # noqa: F811
    run = make_run(benchmark, status=state, done=1)
    agreed = {"label": 1, "round": 1} if status == "agreed" else {}
    debate = make_debate(run, status, **agreed)
    page = text(client.post(url("debate-requeue", run.pk, debate.pk), follow=True))
    assert words in page
    run.refresh_from_db()
    debate.refresh_from_db()
    assert (run.status, run.done, debate.status) == (state, 1, status)
    assert not Event.objects.exclude(verb=READ).exists()


def test_spending_adds_up_the_calls_and_looks_ahead(client, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark, status="done", total=4, done=2)
    other = make_run(benchmark)
    paid, by_other = {"account": open_account(run)}, {"account": open_account(other)}
    for number in range(2):
        # Asked twice: the first answer could not be read, and no turn is made of it.
        make_call(10 + number, **paid)
        debate = make_debate(run, "agreed", label=1, round=1)
        make_turns(debate, 1, call=make_call(number, reasoning_tokens=40, **paid))
    silent = make_call(20, input_tokens=None, output_tokens=None, **paid)
    make_turns(make_debate(run, "failed"), 1, call=silent)
    # Answered from the ledger: the other run has paid.
    make_turns(make_debate(run, "agreed", label=1, round=1), 1, call=make_call(21, **by_other))
    found = run_spending(run)
    assert (found.calls, found.input_tokens, found.output_tokens, found.untold) == (5, 3600, 400, 1)
    assert (found.reasoning_tokens, found.unpriced) == (80, 5)
    assert (found.forecast_input, found.forecast_output) == (7200, 800)
    assert (found.usd, found.known_usd) == (0, None)
    page = text(client.get(url("debate-run-spending", run.pk)))
    assert "forecast 7,200" in page
    assert "80 of them reasoning" in page
    assert "no price is known" in page
    part = client.get(url("debate-run-spending", run.pk), headers={"HX-Request": "true"})
    assert part.status_code == 286
    assert text(part).startswith('<section id="spending"')


def test_time_left_follows_the_pace(benchmark) -> None:
    now = timezone.now()
    run = make_run(benchmark, status="running", started_at=now - timedelta(seconds=60))
    for _ in range(3):
        make_debate(run, "agreed", label=1, round=1, ended_at=now)
    # 3 in 60 s: 20 s each.
    assert seconds_left(run, 6) == pytest.approx(120, rel=0.05)
    assert seconds_left(run, 0) is None
    run.status = "paused"
    assert seconds_left(run, 6) is None


def test_flags_are_counted_and_lead_to_their_rows(client, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark)
    make_outcomes(run)
    for debate in run.debates.all()[:4]:
        DebateFlag.objects.create(run=run, debate=debate, flag="long_reason")
    page = text(client.get(url("debate-run", run.pk)))
    assert f'href="{url("debates", run.pk)}?flag=long_reason"' in page
    assert "A reason of more than 100 words: 4" in page


def test_what_turns_are_flagged_with_is_noted_with_them(benchmark) -> None:
    run = make_run(benchmark)
    debate = make_debate(run)
    DebateFlag.objects.create(run=run, debate=debate, flag="of an earlier try")
    said = [
        Turn(debate=debate, round=1, agent=agent, stance="relevant", flags=flags)
        for agent, flags in (("A", ["long_reason", "no_quote"]), ("B", ["long_reason"]))
    ]
    note_flags(run, said)
    noted = DebateFlag.objects.filter(debate=debate).order_by("flag")
    assert list(noted.values_list("flag", flat=True)) == ["long_reason", "no_quote"]


def test_the_page_tells_how_many_workers_are_at_a_run(client, benchmark) -> None:  # noqa: F811
    run = make_run(benchmark, status="running")
    for number, owner in enumerate(["one:1", "one:1", "two:2"]):
        group = new_group(run, number, [number + 1])
        group.status, group.owner, group.lease_until = "running", owner, timezone.now() + lease()
        group.save()
    assert "2 workers at it" in text(client.get(url("debate-run", run.pk)))
