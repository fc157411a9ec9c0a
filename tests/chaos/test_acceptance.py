"""The acceptance script of docs/protocol.md 2.12 against a scripted endpoint, over real HTTP.

Its last sentence (a submission with a failed attention check) belongs to batches of votes.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from annotate.models import EscalationCase
from annotate.voting.services import cast_vote
from corpus.models import Judgment
from debate.models import Debate, DebateRun
from debate.runs.figures import figures, outcomes
from tests.chaos.conftest import StubMaker
from tests.chaos.judged import judge, pool_of
from tests.factories import make_member
from tests.stub.process import Stub

pytestmark = pytest.mark.django_db(transaction=True)

ITEMS = ("agree-yes", "agree-no", "split-agree", "split-split", "malformed")


def says(response: str, reason: str) -> str:
    return json.dumps({"reference": [], "reason": reason, "response": response})


def turns(**said: str) -> dict[str, list[str]]:
    """A1="yes" as what agent A says in round 1, with a reason that names the place."""
    return {place: [says(said[place], f"Reason {place}.")] for place in said}


SCRIPT = {
    "agree-yes": turns(A1="yes", B1="yes"),
    "agree-no": turns(A1="no", B1="no"),
    "split-agree": turns(A1="yes", B1="no", A2="no", B2="no"),
    "split-split": turns(A1="yes", B1="no", A2="yes", B2="no"),
    "malformed": {"A1": ["I would say: yes", says("no", "Repaired.")], **turns(B1="no")},
}


@pytest.fixture
def stub(start_stub: StubMaker, tmp_path: Path) -> Stub:
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps({f"item {name}": turns for name, turns in SCRIPT.items()}))
    return start_stub("--replies", str(replies), "--keep-bodies")


@pytest.fixture
def run(stub: Stub, transactional_db) -> DebateRun:
    return judge(pool_of({name: f"This is item {name}." for name in ITEMS}), stub)


def requests_about(stub: Stub, item: str) -> list[dict[str, Any]]:
    """What the endpoint was asked about an item, in order."""
    bodies = [json.loads(body) for (body,) in stub.rows("SELECT request FROM payment ORDER BY id")]
    return [body for body in bodies if f"This is item {item}." in str(body["messages"])]


def history_of(body: dict[str, Any]) -> str:
    asked = next(m["content"] for m in body["messages"] if m["role"] == "user")
    return asked.partition("<history-")[2].partition("</history-")[0].partition("\n")[2].strip()


def test_labels_rounds_and_calls_of_the_five_items(run: DebateRun, stub: Stub) -> None:
    ends = Debate.objects.values_list("passage__pid", "status", "label", "round")
    assert {pid: end for pid, *end in ends} == {
        "agree-yes": ["agreed", 1, 1],
        "agree-no": ["agreed", 0, 1],
        "split-agree": ["agreed", 0, 2],
        "split-split": ["escalated", None, None],
        "malformed": ["agreed", 0, 1],
    }
    calls = {item: len(requests_about(stub, item)) for item in ITEMS}
    # 2 in the first round, 2 more in a second; the repair is one more.
    assert calls == dict(zip(ITEMS, (2, 2, 4, 4, 3), strict=True))


@pytest.mark.slow
def test_one_of_five_escalates_and_none_errs(run: DebateRun) -> None:
    counts, (whole, _) = figures(run), outcomes(run)
    assert whole.escalation.value == 1 / 5
    assert (counts["failed"], counts["unreadable"], counts["total"]) == (0, 0, 5)


@pytest.mark.slow
@pytest.mark.parametrize("item", ["split-agree", "split-split"])
def test_history_is_the_previous_round_and_nothing_older(
    run: DebateRun, stub: Stub, item: str
) -> None:
    first, second = (requests_about(stub, item)[n : n + 2] for n in (0, 2))
    assert all("opening position" in history_of(body) for body in first)
    assert sorted(map(history_of, second)) == [
        "Agent A (You), round 1: Yes. Reason A1.\n\nAgent B, round 1: No. Reason B1.",
        "Agent A, round 1: Yes. Reason A1.\n\nAgent B (You), round 1: No. Reason B1.",
    ]


@pytest.mark.slow
def test_the_repair_shows_the_agent_what_could_not_be_read(run: DebateRun, stub: Stub) -> None:
    *_, repair = requests_about(stub, "malformed")
    assert [message["role"] for message in repair["messages"]][-2:] == ["assistant", "user"]
    assert repair["messages"][-2]["content"] == "I would say: yes"
    debate = Debate.objects.get(passage__pid="malformed")
    assert [(t.agent, t.reason, "repaired" in t.flags) for t in debate.turns.all()] == [
        ("A", "Repaired.", True),
        ("B", "Reason B1.", False),
    ]


@pytest.mark.slow
def test_two_of_three_votes_settle_the_dispute(run: DebateRun) -> None:
    case = EscalationCase.objects.get()
    for name, label in (("ada", 1), ("ben", 1), ("cleo", 0)):
        cast_vote(case=case, voter=make_member(run.benchmark, name, "annotator"), label=label)
    label = Judgment.objects.standing().get(passage__pid="split-split")
    assert (label.label, label.source) == (1, "human")
