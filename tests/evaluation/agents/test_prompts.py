"""The prompts of agents and judges: a changed text is a new version."""

import pytest

from evaluation.agents.protocol.asking import prompt_of

PINNED = {
    "search_agent": (1, "0d4a021926ef0092"),
    "evidence_answer": (1, "85c7909e8a9da03d"),
    "rubric_judge": (1, "e5feaadc0e32e4e9"),
    "likert_judge": (1, "bb931f41d40e31bb"),
}


@pytest.mark.parametrize("role", PINNED)
def test_a_prompt_is_its_version(role) -> None:
    prompt = prompt_of(role)
    assert (prompt.version, prompt.sha256[:16]) == PINNED[role]
    assert prompt.role == role


@pytest.mark.parametrize(
    ("role", "rules"),
    [
        ("search_agent", ["must use the search tool", "exactly one search", "Stop searching only"]),
        ("search_agent", ["rests solely on evidence", "[docid]", "Confidence:", "Answer:"]),
        ("evidence_answer", ["rests solely on the evidence", "[docid]", "Confidence:"]),
        ("rubric_judge", ["authoritative rubric", "every aspect", "1.0", "0.5", "0.0", "one JSON"]),
    ],
)
def test_a_prompt_holds_its_rules(role, rules) -> None:
    prompt = prompt_of(role)
    assert [rule for rule in rules if rule not in prompt.system + prompt.user] == []
