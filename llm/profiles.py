"""What a model at an endpoint takes, found out from its refusals; and how many tokens a request
has, before anybody counted them. Pure.

Models that speak the same API differ in the parameters they take (OpenAI's reasoning models
refuse `max_tokens` and a temperature, DeepSeek a JSON schema, early o-series models a system
message). A small table says what is known of families; the rest is learnt from refusals.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Any, Final, Self

from llm.requests import Message, Request

# How an answer is bound to its schema, from the strictest on.
ANSWERS: Final = {
    "json_schema": "answers by JSON schema",
    "json_object": "answers in JSON mode",
    "words": "answers as the prompt says",
}
# Who gives the instructions: models that know no system message take one of the others.
SPEAKERS: Final = ("system", "developer", "user")
# Which of OpenAI's two interfaces: some of its models answer in the second one only.
APIS: Final = ("chat", "responses")
LIMITS: Final = ("max_tokens", "max_completion_tokens")
# What may be left out; log-probabilities are asked for with two parameters.
_OPTIONAL: Final = ("temperature", "top_p", "seed", "reasoning_effort", "logprobs")


@dataclass(frozen=True, slots=True)
class Profile:
    """How to ask one model: in which interface, the name of its token limit, what binds its answer,
    who instructs it, and the parameters that are left out."""

    api: str = "chat"
    limit: str = "max_tokens"
    answer: str = "json_schema"
    speaker: str = "system"
    without: frozenset[str] = frozenset()

    @property
    def stored(self) -> dict[str, Any]:
        """As JSON; `read` takes it back."""
        return {**asdict(self), "without": sorted(self.without)}

    @property
    def words(self) -> str:
        """For people: "max_completion_tokens, no temperature, answers by JSON schema"."""
        parts = ["by the Responses API"] if self.api == "responses" else [self.limit]
        parts += [f"no {name}" for name in sorted(self.without)]
        parts.append(ANSWERS[self.answer])
        if self.speaker != "system":
            parts.append(f"instructed as {self.speaker}")
        return ", ".join(parts)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """A profile that was stored, perhaps by another version: what is not known is left out."""
        known = {each.name: stored[each.name] for each in fields(cls) if each.name in stored}
        return cls(**known | {"without": frozenset(stored.get("without", ()))})


_REASONING: Final = Profile(
    limit="max_completion_tokens", without=frozenset({"temperature", "top_p", "logprobs"})
)
# Words of a refusal that is about the parameter and not about its value.
_UNSUPPORTED: Final = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown (parameter|argument|field)|unavailable"
    r"|not (available|permitted|allowed|accepted)|unexpected keyword|invalid schema"
    r"|not in (the )?v1/chat"
)
# OpenAI's documentation of reasoning models: platform.openai.com/docs/guides/reasoning.
_FAMILIES: Final = (
    (re.compile(r"(.*/)?gpt-5[\w.]*-chat"), Profile(limit="max_completion_tokens")),
    (re.compile(r"(.*/)?(gpt-5|o[1-9])(?![a-z])"), _REASONING),
)


def known(model: str, *, api: str = "chat") -> Profile:
    """What is taken for granted of a model before it was asked."""
    for pattern, profile in _FAMILIES:
        if pattern.match(model.lower()):
            return replace(profile, api=api)
    return Profile(api=api)


def adapted(profile: Profile, refusal: str, model: str = "") -> Profile | None:
    """The profile that this refusal asks for; None where it names nothing that can be changed.

    `refusal` is the parameter that the endpoint names, if it names one, and its words. Nothing is
    changed back, so that refusals come to an end.
    """
    named = refusal.lower()
    if not _UNSUPPORTED.search(named):
        return None  # a value out of range, or a filtered prompt: a person has to know of it
    if "v1/responses" in named and profile.api == "chat":
        return replace(profile, api="responses")
    if re.search(r"response_format|text\.format|json_schema|structured output|json mode", named):
        answer = _next([*ANSWERS], profile.answer)
        return replace(profile, answer=answer) if answer else None
    if re.search(r"\brole\b", named) and re.search(r"system|developer", named):
        speaker = _next(SPEAKERS, profile.speaker)
        return replace(profile, speaker=speaker) if speaker else None
    for name in _OPTIONAL:
        if re.search(rf"\b(top_)?{name}\b", named) and name not in profile.without:
            return replace(profile, without=profile.without | {name})
    other = LIMITS[1 - LIMITS.index(profile.limit)]
    is_first = profile.limit == known(model).limit
    return replace(profile, limit=other) if is_first and profile.limit in named else None


def messages_for(profile: Profile, request: Request) -> list[Message]:
    """The messages as this model takes them: who instructs it, and the schema in words."""
    messages = [dict(message) for message in request.messages]
    if request.schema_name and profile.answer != "json_schema":
        messages[0]["content"] += _IN_WORDS.format(schema=json.dumps(request.schema))
    for message in messages:
        if message["role"] == "system":
            message["role"] = profile.speaker
    return messages


_IN_WORDS: Final = (
    "\n\nAnswer with one JSON object and nothing else. It has to follow this JSON schema:\n{schema}"
)


def _next(choices: Sequence[str], now: str) -> str:
    """The one after, or "" behind the last."""
    return dict(pairwise(choices)).get(now, "")


# English prose has about four characters a token; measured, that errs on the side of too many.
CHARACTERS_PER_TOKEN: Final = 4
# Tokens of thought by reasoning effort, on the side of too many: unused ones cost nothing.
_THOUGHTS: Final = {
    "minimal": 1_000,
    "low": 4_000,
    "medium": 8_000,
    "high": 16_000,
    "xhigh": 32_000,
}


def likely_tokens(text: str) -> int:
    """About how many tokens a text has: characters / 4, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def likely_thoughts(model: str, effort: str) -> int:
    """Tokens that a model may think in before its answer; they count into its longest length.

    By the effort that is asked for, or the usual one of a family that is known to reason.
    """
    if not effort and "temperature" in known(model).without:
        effort = "medium"
    return _THOUGHTS.get(effort, 0)


def likely_input(request: Request) -> int:
    """About how many tokens a request has, its schema left out: few endpoints count it."""
    return sum(likely_tokens(_written(m)) + 4 for m in request.messages)


def most_input(request: Request) -> int:
    """Tokens that a request cannot exceed.

    A token of the tokenisers in use (byte-level BPE, byte fallback) stands for at least one
    byte, so the bytes of all that is sent bound it: schema, and a margin for the chat template.
    A request that is counted in something else says its own bound.
    """
    if request.most_counted is not None:
        return request.most_counted
    parts = [_written(message) for message in request.messages]
    shape = json.dumps([request.schema, request.tools] if request.tools else request.schema)
    sent = "".join([*parts, shape, request.schema_name]).encode("utf-8", "surrogatepass")
    # What a chat template puts around each message, and around all of them: markers and names.
    return len(sent) + 16 * len(parts) + 64


def _written(message: Message) -> str:
    """What a message says, with the functions that it calls."""
    calls = message.get("tool_calls")
    return (message.get("content") or "") + (json.dumps(calls) if calls else "")
