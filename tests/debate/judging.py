"""Driving a rule by hand: what was asked, and the verdict."""

from collections.abc import Callable, Sequence
from typing import Any

from debate.baselines.judges import JudgeConfig, line_up_judges
from debate.dream import Pair, Verdict
from debate.dream.prompting import PROMPTS
from llm.prompts import PromptTemplate

KEY = b"a key for tests"
PAIR = Pair(
    query="Why do moths circle lamps?",
    answers=("They tilt their backs toward the light.",),
    passage="Moths tilt their backs toward the light and so fly in circles.",
)
ROLES = ("is_supported", "graded", "relevance", "relevance_confidence", "solo_turn")
TEMPLATES = {
    role: PromptTemplate.load(PROMPTS / f"{role}.txt", placeholders={"query", "answers", "chunk"})
    for role in ROLES
}


def judges(count: int = 1, **options: Any) -> JudgeConfig:
    """That many judges of different models."""
    seats = [(f"model-{number}", "somewhere") for number in range(1, count + 1)]
    return JudgeConfig(line_up_judges(seats), TEMPLATES, **options)


def samples(count: int, **options: Any) -> JudgeConfig:
    """One model asked that often."""
    return JudgeConfig(line_up_judges([("m", "somewhere")], samples=count), TEMPLATES, **options)


def play(
    rule: Callable[..., Any], config: JudgeConfig, *script: Sequence[Any], pair: Pair = PAIR
) -> tuple[Verdict, list[list[Any]]]:
    """Drive a rule with one list of answers per step."""
    steps, asked = rule(pair, config, KEY), []
    answers = iter(script)
    try:
        asked.append(list(next(steps)))
        while True:
            asked.append(list(steps.send(list(next(answers)))))
    except StopIteration as end:
        return end.value, asked


__all__ = ["KEY", "PAIR", "TEMPLATES", "judges", "play", "samples"]
