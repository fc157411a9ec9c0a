"""The prompt texts are pinned: a changed word is a new version, and shows in a review.

To accept a change, raise `version` in the template and paste what the failing test prints.
"""

from pathlib import Path

import pytest

from debate.dream import Config, Pair, Turn, default_prompt, line_up, load_prompt
from debate.dream.prompting import PROMPTS, turn_messages
from llm.prompts import PromptError, PromptTemplate

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
PAIR = Pair(
    query="Why do moths circle lamps?",
    answers=("They tilt their backs toward the light.", "Light upsets their sense of up."),
    passage="Moths tilt their backs toward the light\nand so fly in circles.",
)
ROUND_ONE = (
    Turn(1, "A", "relevant", "yes", "The chunk states the tilt and what it leads to."),
    Turn(1, "B", "irrelevant", "no", "It states the tilt and not the upset sense of up."),
)


def conversation(previous: tuple[Turn, ...]) -> str:
    prompt = default_prompt()
    config = Config(agents=line_up([("model-1", "practice")] * 2), prompt=prompt)
    messages = turn_messages(
        PAIR, config, agent=config.agents[1], previous=previous, key=b"a key for tests"
    )
    texts = (f"[{message['role']}]\n{message['content']}\n" for message in messages)
    return f"{prompt.role}, version {prompt.version}\n\n" + "\n".join(texts)


@pytest.mark.parametrize(("name", "previous"), [("opening", ()), ("later", ROUND_ONE)])
def test_debate_turn_reads_as_pinned(name: str, previous: tuple[Turn, ...]) -> None:
    pinned = (SNAPSHOTS / f"debate_turn_{name}.txt").read_text(encoding="utf-8")
    assert conversation(previous) == pinned


def test_debate_prompt_numbers_its_eight_rules() -> None:
    lines = default_prompt().system.splitlines()
    rules = [line.partition(".")[0] for line in lines if line[:1].isdigit()]
    assert rules == ["1", "2", "3", "4", "5", "6", "7", "8"]


def test_debate_prompt_that_drops_or_adds_a_placeholder_is_refused(tmp_path: Path) -> None:
    text = (PROMPTS / "debate_turn.txt").read_text(encoding="utf-8")
    for changed in (text.replace("{history}", ""), text + "\n{secret}"):
        path = tmp_path / "prompt.txt"
        path.write_text(changed, encoding="utf-8")
        with pytest.raises(PromptError):
            load_prompt(path)


def test_judge_prompt_reads_as_pinned() -> None:
    prompt = PromptTemplate.load(
        PROMPTS / "is_supported.txt", placeholders={"query", "answers", "chunk"}
    )
    messages = prompt.render(query="QUERY", answers="ANSWERS", chunk="CHUNK")
    texts = (f"[{message['role']}]\n{message['content']}\n" for message in messages)
    pinned = (SNAPSHOTS / "is_supported.txt").read_text(encoding="utf-8")
    assert f"{prompt.role}, version {prompt.version}\n\n" + "\n".join(texts) == pinned
