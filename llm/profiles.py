"""What a model at an endpoint takes, found out from its refusals. Pure.

Models that speak the same API differ in the parameters they take (OpenAI's reasoning models
refuse `max_tokens` and a temperature, DeepSeek a JSON schema, early o-series models a system
message). A small table says what is known of families; the rest is learnt: a refusal that names a
parameter is mended, and the same model is asked so from then on.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

# How an answer is bound to its schema, from the strictest on.
ANSWERS: Final = ("json_schema", "json_object", "words")
# Who gives the instructions: models that know no system message take one of the others.
SPEAKERS: Final = ("system", "developer", "user")
LIMITS: Final = ("max_tokens", "max_completion_tokens")
# What may be left out; log-probabilities are asked for with two parameters.
_OPTIONAL: Final = ("temperature", "top_p", "seed", "reasoning_effort", "logprobs")


@dataclass(frozen=True, slots=True)
class Profile:
    """How to ask one model: the name of its token limit, what binds its answer, who instructs it,
    and the parameters that are left out."""

    limit: str = "max_tokens"
    answer: str = "json_schema"
    speaker: str = "system"
    without: frozenset[str] = frozenset()


_REASONING: Final = Profile(
    limit="max_completion_tokens", without=frozenset({"temperature", "top_p", "logprobs"})
)
# Words of a refusal that is about the parameter and not about its value.
_UNSUPPORTED: Final = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown (parameter|argument|field)|unavailable"
    r"|not (available|permitted|allowed|accepted)|unexpected keyword"
)
# OpenAI's documentation of reasoning models: platform.openai.com/docs/guides/reasoning.
_FAMILIES: Final = (
    (re.compile(r"(.*/)?gpt-5[\w.]*-chat"), Profile(limit="max_completion_tokens")),
    (re.compile(r"(.*/)?(gpt-5|o[1-9])(?![a-z])"), _REASONING),
)


def known(model: str) -> Profile:
    """What is taken for granted of a model before it was asked."""
    for pattern, profile in _FAMILIES:
        if pattern.match(model.lower()):
            return profile
    return Profile()


def mended(profile: Profile, refusal: str) -> Profile | None:
    """The profile that this refusal asks for; None where it names nothing that can be changed.

    `refusal` is the parameter that the endpoint names, if it names one, and its words.
    """
    named = refusal.lower()
    if not _UNSUPPORTED.search(named):
        return None  # a value out of range, or a filtered prompt: a person has to know of it
    if re.search(r"response_format|json_schema|structured output|json mode", named):
        answer = _next(ANSWERS, profile.answer)
        return replace(profile, answer=answer) if answer else None
    if re.search(r"\brole\b", named) and re.search(r"system|developer", named):
        speaker = _next(SPEAKERS, profile.speaker)
        return replace(profile, speaker=speaker) if speaker else None
    for name in _OPTIONAL:
        if re.search(rf"\b(top_)?{name}\b", named) and name not in profile.without:
            return replace(profile, without=profile.without | {name})
    other = LIMITS[1 - LIMITS.index(profile.limit)]
    return replace(profile, limit=other) if profile.limit in named else None


def applied(
    profile: Profile,
    parameters: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    *,
    schema_name: str,
    schema: Mapping[str, Any],
) -> dict[str, Any]:
    """The parts of a request's body that depend on the profile."""
    body = {name: value for name, value in parameters.items() if name not in profile.without}
    if "logprobs" in profile.without:
        body.pop("top_logprobs", None)
    if "max_tokens" in body:
        body[profile.limit] = body.pop("max_tokens")
    told = [dict(message) for message in messages]
    if profile.answer == "json_schema":
        shape = {"name": schema_name, "schema": dict(schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    else:
        if profile.answer == "json_object":
            body["response_format"] = {"type": "json_object"}
        told[0]["content"] += _IN_WORDS.format(schema=json.dumps(schema))
    for message in told:
        if message["role"] == "system":
            message["role"] = profile.speaker
    return {"messages": told, **body}


_IN_WORDS: Final = (
    "\n\nAnswer with one JSON object and nothing else. It has to follow this JSON schema:\n{schema}"
)


def _next(choices: Sequence[str], now: str) -> str:
    """The one after, or "" behind the last."""
    return dict(pairwise(choices)).get(now, "")
