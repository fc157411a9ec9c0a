"""Agents from outside, from their tokens to the board, through a real server."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotate.models import Aspect
from corpus.benchmarks.archive import archive
from corpus.computing.services import run_computation, start
from corpus.models import Passage
from evaluation.agents.guests import close_run, issue_tokens, open_guest, revoke_tokens
from evaluation.agents.judging import start_judging
from evaluation.agents.models import AgentItem, AgentRun, AgentState
from evaluation.agents.reading import figures_of
from evaluation.agents.services import candidates
from evaluation.tasks import AGENTS, JUDGES
from kit.account.links import digest
from kit.errors import Refused
from kit.models import Event, Quota
from kit.runs.polling import due_runs
from llm import endpoints
from tests.debate.answering import answering
from tests.evaluation.agents.guesting import Guest, guests_of, let_in, opened
from tests.evaluation.agents.room import POINTS, REFERENCE
from tests.llm.stub import completion, page

pytestmark = pytest.mark.django_db(transaction=True)
LIGHT = "insects light"


@pytest.fixture
def url(live_server) -> str:
    return live_server.url


def signed_in(person: Any) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_the_whole_path_from_opening_a_run_to_the_board(place, url) -> None:
    admin, here = signed_in(place.room.admin), f"/api{place.room.url('')}agent-runs/"
    asked = {"guest": "theirs", "retriever": place.retriever.pk, "rounds": 2, "k": 2}
    made = admin.post(here, asked, content_type="application/json")
    assert (made.status_code, made.json()["status"]) == (202, "running")
    run = AgentRun.objects.get(pk=made.json()["id"])
    assert (run.model, run.endpoint, run.total) == ("theirs", "", 2)
    assert run.pk not in [pk for model, pk, *_ in due_runs() if model is AgentRun]  # no worker's
    tokens = admin.post(f"{here}{run.pk}/tokens/", content_type="application/json").json()
    assert [each["query"] for each in tokens] == [
        "Why do insects circle a lamp?",
        "Why do leaves fall?",
    ]
    for each in tokens:
        guest = Guest(url, each["token"])
        assert guest.task().json()["query"] == each["query"]
        for number in (1, 2):
            found = guest.search(each["query"] if number == 1 else LIGHT)
            assert 1 <= len(found) <= 2
            early = guest.post("search", {"query": "more"})
            assert early.status_code == 409
            assert early.json()["detail"] == f"Hand in the answer after round {number} first."
            text = f"Answer: So it is [{found[0]['docid']}].\nConfidence: 70%"
            left = guest.post("answer", {"text": text, "citations": ["lamps/page_2.txt"]}).json()
            assert (left["calls_left"], left["answers_left"]) == (2 - number, 2 - number)
        assert left["is_open"] is False
        assert guest.post("answer", {"text": "Once more."}).status_code == 409
    run.refresh_from_db()
    assert (run.status, run.done, run.error) == ("done", 2, "")
    item = run.items.get(query=place.room.query)
    assert (item.state, item.round_count) == (AgentState.FINISHED, 2)
    assert [turn["uses"][0]["text"] for turn in item.turns] == [item.query.text, LIGHT]
    (first, second) = item.answers
    assert first["text"].endswith("[lamps/page_2.txt]")
    assert (first["round"], second["round"], second["confidence"]) == (1, 2, 70.0)
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        judge = start_judging(
            benchmark=run.benchmark, agent_run=run, endpoint=endpoint, actor=None, claimed=True
        )
        JUDGES.drive(judge)
    after = figures_of(run, judge).by_round
    assert [each.alpha.n for each in after] == [2, 2]
    assert all(each.quality.mean.value for each in after)
    board = admin.get(place.room.url("agent-board/")).content.decode()
    assert run.name in board
    trace = admin.get(place.room.url(f"agents/traces/{item.pk}/")).content.decode()
    assert "Step 1 of" in trace
    verbs = Event.objects.filter(target_type__icontains="agentrun").values_list("verb", flat=True)
    assert set(verbs) == {"open guest run", "issue guest tokens"}


@pytest.mark.slow
def test_an_agent_that_decides_itself_searches_up_to_the_limit(place, url) -> None:
    with guests_of(place, url, max_iterations=3, documents=True, k=1) as (run, guest, other):
        (hit,) = guest.search(LIGHT)
        read = guest.post("get_document", {"docid": hit["docid"]}).json()
        assert set(read) == {"docid", "text"}
        assert guest.search(" ") == []
        last = guest.post("search", {"query": LIGHT})
        assert (last.status_code, last.json()["detail"]) == (
            409,
            "All 3 calls are made. Hand in the answer.",
        )
        assert guest.post("answer", {"text": "So.", "confidence": 20}).json()["is_open"] is False
        other.search("leaves")
        assert other.post("answer", {"text": "So [leaves/page_9.txt]."}).status_code == 200
    stopped, ended = run.items.order_by("query__qid")
    assert (stopped.state, stopped.round_count) == (AgentState.MAX_ITERATIONS, 1)
    assert (ended.state, ended.answers[0]["round"]) == (AgentState.FINISHED, 1)
    assert [turn["uses"][0]["tool"] for turn in stopped.turns] == [
        "search",
        "get_document",
        "search",
    ]
    found = figures_of(run, None)
    assert (found.answered, found.failed, found.rounds.value, found.usd.value) == (2, 0, 1.0, None)


@pytest.mark.slow
def test_three_doors_give_the_same_bytes(place, url, settings) -> None:
    # One passage is longer than a snippet, one is excluded, one word needs escapes.
    room = place.room
    long = "Insects é “light” \u2028 " + "light " * 3_000
    Passage.objects.filter(pid="lamps/page_1.txt").update(text=long)
    room.query.excluded_ids = ["lamps/page_4.txt"]
    room.query.save()
    made = start(benchmark=room.benchmark, method="bm25", config={}, actor=None, claimed=True)
    run_computation(made)
    made.refresh_from_db()
    assert made.run is not None
    place.retriever = made.run
    place.without_other()
    calls = [
        *(("search", {"query": each}) for each in (LIGHT, "insects", "", "é", "wavelength", "zz")),
        ("search", {"query": "\x00"}),
        ("search", {"question": "?"}),
        ("get_document", {"docid": "lamps/page_1.txt"}),
        ("get_document", {"docid": "lamps/page_4.txt"}),
        ("get_document", {"docid": "nowhere"}),
        ("get_document", {}),
    ]
    turn = completion(None)
    turn["choices"][0]["finish_reason"] = "tool_calls"
    turn["choices"][0]["message"]["tool_calls"] = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps(given)},
        }
        for number, (tool, given) in enumerate(calls)
    ]
    called = page(json.dumps(turn), "application/json")
    with answering(settings, called, "Answer: So.") as stub:
        own = place.start(endpoints.for_role("agents"), documents=True)
        AGENTS.drive(own)
        ours = [each["content"] for each in stub.asked[1]["messages"] if each["role"] == "tool"]
    assert len(ours) == len(calls)
    http, mcp = (let_in(opened(place, documents=True), url)["7"] for _ in range(2))
    over_http = [http.post(tool, given).content for tool, given in calls]
    for mode in ("auto", "legacy"):
        _, *results = mcp.over_mcp(*calls, mode=mode)
        over_mcp = [result.content[0].text.encode() for result in results]
        assert [each.encode() for each in ours] == over_http == over_mcp
    assert len(json.loads(ours[0])[0]["snippet"]) == 4 * 2_048
    assert "page_4" not in "".join(ours[:8])
    assert json.loads(ours[9]) == {"error": "There is no document 'lamps/page_4.txt'."}
    uses = [[turn["uses"] for turn in item.turns] for item in AgentItem.objects.order_by("pk")]
    kept = [
        [(use["docids"], use["scores"], use["fault"]) for each in u for use in each] for u in uses
    ]
    assert kept[0] == kept[1]
    assert kept[0] * 2 == kept[2]


@pytest.mark.slow
def test_an_mcp_client_is_told_the_tools_and_carries_a_query_through(place, url) -> None:
    with guests_of(place, url, rounds=1) as (run, guest, other):
        tools, task, found, early, given = guest.over_mcp(
            ("task", {}),
            ("search", {"query": LIGHT}),
            ("search", {"query": LIGHT}),
            ("answer", {"text": "So [lamps/page_1.txt].", "confidence": 55}),
        )
        assert [tool.name for tool in tools] == ["task", "search", "answer"]
        assert json.loads(task.content[0].text)["query"] == "Why do insects circle a lamp?"
        assert json.loads(found.content[0].text)[0]["docid"].startswith("lamps/")
        assert (early.is_error, early.content[0].text) == (
            True,
            "Hand in the answer after round 1 first.",
        )
        assert json.loads(given.content[0].text)["is_open"] is False
        _, unknown, wrong = other.over_mcp(
            ("fetch", {"url": "http://127.0.0.1/"}), ("answer", {"text": "", "confidence": 900})
        )
        assert "There is no tool 'fetch'." in unknown.content[0].text
        assert set(json.loads(wrong.content[0].text)) == {"text", "confidence"}
    assert run.items.get(query=place.room.query).answers[0]["confidence"] == 55
    assert httpx2.get(f"{url}/api/guest/mcp/", headers=guest.headers).status_code == 405
    assert httpx2.post(f"{url}/api/guest/mcp/", json={}).status_code == 401


def test_a_token_opens_its_own_query_and_nothing_of_what_is_gold(place, url) -> None:
    room = place.room
    room.query.excluded_ids = ["lamps/page_4.txt"]
    room.query.save()
    with guests_of(place, url, documents=True) as (_, guest, other):
        seen = [guest.task(), guest.post("search", {"query": "lights wavelength insects"})]
        seen += [guest.post("get_document", {"docid": "lamps/page_4.txt"})]
        said = "".join(each.text for each in seen)
        # Neither the other query, nor what its own is judged by, nor what it excludes.
        assert "leaves" not in said
        assert not any(each in said for each in (*POINTS, REFERENCE[:40], "aspect", "weight"))
        assert "longer wavelength" not in said
        assert set(seen[0].json()) == {
            *("query", "is_open", "rounds", "calls_left", "answers_left", "tools"),
            *("k", "snippet_tokens", "tokenizer", "documents"),
        }
        assert all(set(hit) == {"docid", "score", "snippet"} for hit in seen[1].json())
        assert other.task().json()["calls_left"] == 100
        # It is nobody: no other route knows it, by whatever word.
        for word in ("Bearer", "Token"):
            headers = {"Authorization": f"{word} {guest.token}"}
            for path in ("accounts/", "account/decisions/", f"b/{room.benchmark.slug}/queries/"):
                assert httpx2.get(f"{url}/api/{path}", headers=headers).status_code == 401
    assert not AgentItem.objects.filter(token_hash=guest.token).exists()
    assert AgentItem.objects.filter(token_hash=digest(guest.token)).exists()


@pytest.mark.slow
def test_new_tokens_end_old_ones_and_revoked_ones_open_nothing(place, url) -> None:
    run = opened(place)
    old, new = (let_in(run, url)["7"] for _ in range(2))
    assert (old.task().status_code, new.task().status_code) == (401, 200)
    assert old.post("search", {"query": LIGHT}).status_code == 401
    assert Guest(url, "x").task().status_code == Guest(url, "x y").task().status_code == 401
    revoke_tokens(run=run, actor=None)
    assert new.task().status_code == 401
    again = let_in(run, url)["7"]
    archive_of = place.room.benchmark
    with pytest.raises(Refused):
        archive(benchmark=archive_of, actor=place.room.admin)  # the run is open
    close_run(run=run, actor=None)
    assert again.task().json()["is_open"] is False
    assert again.post("search", {"query": LIGHT}).status_code == 409
    for verb in (issue_tokens, revoke_tokens, close_run):
        with pytest.raises(Refused, match="This run is done"):
            verb(run=run, actor=None)


@pytest.mark.slow
def test_calls_at_once_do_not_pass_the_limit(place, url) -> None:
    with guests_of(place, url, max_iterations=3) as (run, guest, _), ThreadPoolExecutor(8) as many:
        got = list(many.map(lambda n: guest.post("search", {"query": f"light {n}"}), range(8)))
        answers = list(many.map(lambda n: guest.post("answer", {"text": f"So {n}."}), range(4)))
    assert sorted(each.status_code for each in got) == [200] * 3 + [409] * 5
    assert sorted(each.status_code for each in answers) == [200] + [409] * 3
    item = run.items.get(query=place.room.query)
    assert [turn["round"] for turn in item.turns] == [1, 2, 3]
    assert len({turn["uses"][0]["text"] for turn in item.turns}) == 3
    assert not any(turn["uses"][0]["fault"] for turn in item.turns)
    run.refresh_from_db()
    assert (len(item.answers), run.done, run.status) == (1, 1, "running")


@pytest.mark.slow
def test_the_last_answers_at_once_end_the_run_once(place, url) -> None:
    with guests_of(place, url, repetitions=4) as (run, _, _), ThreadPoolExecutor(8) as many:
        guests = [Guest(url, each["token"]) for each in issue_tokens(run=run, actor=None)]
        got = list(many.map(lambda guest: guest.post("answer", {"text": "So."}), guests))
    assert {each.status_code for each in got} == {200}
    run.refresh_from_db()
    assert (run.status, run.done, run.total) == ("done", 8, 8)
    assert figures_of(run, None).unsearched == 8


WRONG_CALLS = (
    (b"no json", "search needs the argument query"),
    (b"", "search needs the argument query"),
    (b"[" * 10_000, "search needs the argument query"),
    (b'{"query": {"a": []}}', "search needs the argument query"),
    (b'{"query": "\\u0000"}', "holds NUL"),
    (b'{"query": "\\ud800"}', "holds NUL or half"),
    (b'{"query": "\xff"}', ""),
)


@pytest.mark.slow
def test_what_is_wrong_with_a_call_is_the_tools_output(place, url) -> None:
    with guests_of(place, url) as (run, guest, _):
        for number, (body, said) in enumerate(WRONG_CALLS, 1):
            got = guest.post("search", body)
            assert got.status_code == 200, body
            assert said in (got.json()["error"] if said else str(got.json())), body
            assert guest.task().json()["calls_left"] == 100 - number
        off = guest.post("get_document", {"docid": "lamps/page_1.txt"}).json()
        assert off == {"error": "There is no tool 'get_document'. There is: search."}
    admin = signed_in(place.room.admin)
    item = run.items.get(query=place.room.query)
    assert admin.get(place.room.url(f"agents/traces/{item.pk}/")).status_code == 200


HOSTILE = (
    ("search", json.dumps({"query": "a" * 30_000}).encode(), 409),
    ("search", b'{"query": "a\x00"}', 409),
    ("search", b"a" * 9_000_000, 413),
    ("answer", b"no json", 400),
    ("answer", b'{"text": "\\ud800"}', 400),
    ("answer", b'{"text": "a\\u0000"}', 400),
    ("answer", b'{"text": "a", "confidence": "nan"}', 400),
    ("answer", b'{"text": "a", "confidence": 101}', 400),
    ("answer", b'{"text": "a", "citations": {"a": 1}}', 400),
    ("answer", b'{"text": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", 400),
    ("answer", json.dumps({"text": "a" * 200_000}).encode(), 400),
    ("mcp", b"no json", 400),
    ("mcp", b"[" * 100_000, 400),
)


@pytest.mark.slow
def test_hostile_bodies_are_refused_and_cost_no_call(place, url) -> None:
    with guests_of(place, url) as (_, guest, _):
        for tool, body, status in HOSTILE:
            got = guest.post(tool, body)
            assert got.status_code == status, (tool, body[:99], got.text)
            assert got.json()
        left = guest.task().json()
        assert (left["calls_left"], left["answers_left"]) == (100, 1)


@pytest.mark.slow
def test_a_retriever_whose_model_is_away_costs_no_call(place, url) -> None:
    benchmark = place.room.benchmark
    with endpoints.practice_if_unconfigured("embedder"):
        made = start(benchmark=benchmark, method="embeddings", config={}, actor=None, claimed=True)
        run_computation(made)
        made.refresh_from_db()
        assert made.run is not None, made.error
        place.retriever = made.run
        quota = Quota.objects.create(scope=benchmark.slug, calls=0)
        with guests_of(place, url, rounds=1) as (run, guest, _):
            got = guest.post("search", {"query": LIGHT})
            assert got.status_code == 503
            assert "was not counted" in got.json()["detail"]
            _, also = guest.over_mcp(("search", {"query": LIGHT}))
            assert (also.is_error, also.content[0].text) == (True, got.json()["detail"])
            assert guest.task().json()["calls_left"] == 1
            Quota.objects.filter(pk=quota.pk).update(calls=100)
            assert guest.search(LIGHT)
            assert guest.task().json()["calls_left"] == 0
    assert run.calls.count() == 1  # the run pays for the words of its searches


def test_queries_that_were_never_answered_are_counted_as_such(place, url) -> None:
    with guests_of(place, url, rounds=2) as (run, guest, _):
        guest.search(LIGHT)
        guest.post("answer", {"text": "So."})
    close_run(run=run, actor=place.room.admin)
    errors = dict(run.items.values_list("query__qid", "error"))
    assert errors == {"7": "Not every round was answered.", "8": "Never answered."}
    assert (run.status, run.done) == ("done", 2)
    found = figures_of(run, None)
    assert (found.answered, found.failed) == (0, 2)
    client = signed_in(place.room.admin)
    shown = client.get(place.room.url(f"agents/{run.pk}/")).content.decode()
    assert "Run failed queries again" not in shown
    for verb in ("retry", "pause", "resume"):
        client.post(place.room.url(f"agents/{run.pk}/{verb}/"))
        run.refresh_from_db()
        assert run.status == "done"


@pytest.mark.slow
def test_an_agent_that_stops_early_hands_in_what_is_left(place, url) -> None:
    with guests_of(place, url, rounds=3) as (run, guest, _):
        guest.search(LIGHT)
        for number in range(2):
            assert guest.post("answer", {"text": f"So {number}."}).status_code == 200
        late = guest.post("search", {"query": "more"})
        assert "so the search is over" in late.json()["detail"]
        assert guest.post("answer", {"text": "So 2."}).status_code == 200
    item = run.items.get(query=place.room.query)
    assert [each["round"] for each in item.answers] == [1, 2, 3]
    assert len(figures_of(run, None).by_round) == 3


@pytest.mark.slow
def test_admins_alone_open_runs_and_have_tokens(place, url) -> None:
    room, run = place.room, opened(place)
    tokens_before = let_in(run, url)
    for person in (room.author, room.reviewer, room.both):
        client, here = signed_in(person), f"/api{room.url('')}agent-runs/"
        asked = {"guest": "mine", "retriever": place.retriever.pk}
        assert client.post(here, asked, content_type="application/json").status_code == 403
        for verb in ("tokens", "revoke", "close"):
            assert client.post(f"{here}{run.pk}/{verb}/").status_code == 403
            assert client.post(room.url(f"agents/{run.pk}/{verb}/")).status_code == 403
    assert (
        "New tokens"
        not in signed_in(room.reviewer).get(room.url(f"agents/{run.pk}/")).content.decode()
    )
    assert signed_in(room.author).get(room.url(f"agents/{run.pk}/")).status_code == 403
    assert tokens_before["7"].task().status_code == 200
    assert AgentRun.objects.count() == 1


@pytest.mark.slow
def test_a_run_is_opened_paused_and_closed_on_the_screen(place, live_server) -> None:
    client, here = signed_in(place.room.admin), place.room.url("agents/")
    form = {
        "guest": "=theirs",
        "retriever": place.retriever.pk,
        "rounds": "",
        "repetitions": "2",
        "k": "3",
        "snippet_tokens": "512",
        "tokenizer": "words",
        "temperature": "0",
    }
    told = client.get(f"{here}forecast/", form).content.decode()
    assert "about 0" in told
    refused = client.post(f"{here}new/", form | {"max_iterations": "0"})
    assert refused.status_code == 422
    sent = client.post(f"{here}new/", form | {"max_iterations": "9"})
    run = AgentRun.objects.get()
    page = client.get(sent.headers["Location"]).content.decode()
    assert "0 tokens good" in page
    assert "/api/guest/mcp/" in page
    files = [client.post(f"{here}{run.pk}/tokens/", {"format": kind}) for kind in ("jsonl", "csv")]
    lines, table = (b"".join(each).decode() for each in files)
    first = json.loads(lines.splitlines()[0])
    assert set(first) == {"query_id", "domain", "repetition", "query", "token"}
    assert len(lines.splitlines()) == 4
    assert table.splitlines()[0] == "query_id,domain,repetition,query,token"
    assert first["token"] not in table
    assert "4 tokens good" in client.get(f"{here}{run.pk}/").content.decode()
    client.post(f"{here}{run.pk}/revoke/")
    assert not run.items.exclude(token_hash=None).exists()
    guest = let_in(run, live_server.url)["7"]
    for verb, status, answer in (("pause", "paused", 409), ("resume", "running", 200)):
        client.post(f"{here}{run.pk}/{verb}/")
        run.refresh_from_db()
        assert (run.status, run.error) == (status, "")
        assert guest.post("search", {"query": LIGHT}).status_code == answer
        assert run.pk not in [pk for model, pk, *_ in due_runs() if model is AgentRun]
    client.post(f"{here}{run.pk}/close/")
    run.refresh_from_db()
    assert (run.status, run.items.filter(state="failed").count()) == ("done", 4)
    own = place.run(rounds=1)
    client.post(f"{here}{own.pk}/tokens/")
    assert not own.items.exclude(token_hash=None).exists()


def test_what_cannot_be_opened_is_refused(place) -> None:
    for options, named in (
        ({"agent": " "}, "guest"),
        ({"max_iterations": 101}, "max_iterations"),
        ({"rounds": 11}, "rounds"),
        ({"repetitions": 0}, "repetitions"),
        ({"k": 0}, "k"),
    ):
        with pytest.raises(Refused) as refusal:
            opened(place, **options)
        assert refusal.value.field == named
    Aspect.objects.update(removed_at=timezone.now())
    with pytest.raises(Refused, match="No query has aspects"):
        open_guest(
            benchmark=place.room.benchmark,
            queries=candidates(place.room.benchmark),
            retriever=place.retriever,
            agent="a",
            actor=None,
        )


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [None, 2])
def test_the_example_of_the_docs_answers_every_query(
    rounds, place, url, tmp_path, monkeypatch
) -> None:
    docs = Path(__file__).resolve().parents[3] / "docs" / "agents.md"
    (example,) = re.findall(r"```python\n(.*?)```", docs.read_text(), re.DOTALL)
    assert len(example.strip().splitlines()) <= 12
    run = opened(place, rounds=rounds)
    lines = (f"{json.dumps(each)}\n" for each in issue_tokens(run=run, actor=None))
    (tmp_path / "tokens.jsonl").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    exec(example.replace("http://127.0.0.1:8000", url), {})
    run.refresh_from_db()
    assert (run.status, run.items.filter(state="finished").count()) == ("done", 2)
    assert "[lamps/" in run.items.get(query=place.room.query).answers[-1]["text"]


def test_guest_runs_from_the_shell(place, url, capsys) -> None:
    slug = place.room.benchmark.slug
    call_command("run_agent", slug, guest="theirs", rounds=1)
    first = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    run = AgentRun.objects.get()
    call_command("run_agent", slug, tokens=run.pk)
    tokens = [json.loads(line)["token"] for line in capsys.readouterr().out.splitlines()]
    assert Guest(url, first[0]["token"]).task().status_code == 401
    assert Guest(url, tokens[0]).post("answer", {"text": "So."}).status_code == 200
    call_command("run_agent", slug, revoke=run.pk)
    assert Guest(url, tokens[1]).task().status_code == 401
    call_command("run_agent", slug, close=run.pk)
    run.refresh_from_db()
    assert (run.status, run.items.filter(state="finished").count()) == ("done", 1)
    call_command("export_traces", slug, run=run.pk)
    assert json.loads(capsys.readouterr().out)["query_id"] == "7"
    with pytest.raises(CommandError, match="This run is done"):
        call_command("run_agent", slug, close=run.pk)
    with pytest.raises(CommandError, match="no such agent run"):
        call_command("run_agent", slug, tokens=999)
