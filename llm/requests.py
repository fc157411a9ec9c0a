"""What is asked of a model and what comes back. Pure values, known to no client or database."""

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self, TypeAlias, TypeVar

T = TypeVar("T")

# How long a reasoning model may think, in OpenAI's words; "" leaves it to the model.
EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")

# Why an answer ended: cut off by its longest length, or not given at all.
LENGTH: Final = "length"
# More than any model reads or writes.
_MOST_COUNTED: Final = 10_000_000
REFUSALS: Final = frozenset({"refusal", "content_filter"})

Message: TypeAlias = dict[str, Any]
"""One chat message: {"role": "system" | "user" | "assistant", "content": text}.

An assistant's may hold "tool_calls", as a reply brings them; {"role": "tool", "tool_call_id",
"content"} answers one of them."""

ToolCall: TypeAlias = dict[str, str]
"""A function that the model wants called: {"id", "name", "arguments"}, the last a JSON text."""


def object_schema(**properties: Any) -> dict[str, Any]:
    """The JSON schema of an object that has these properties, all of them and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


@dataclass(frozen=True)
class Request:
    """One question to a model; two requests that are equal in `key` have the same answer.

    `endpoint` is an endpoint's name, never its address. `schema` is the JSON schema that the
    answer has to follow, announced under `schema_name`; without a name the answer is free text.
    `replicate` tells repeated draws at a temperature above 0 apart.

    `tools` are functions that the model may call: {"name", "description", "parameters"}, the last a
    JSON schema. A conversation with them goes on by `followed_by`; `earlier` is the key of the
    request before, which holds the first `prefix_length` messages, so that none is stored twice.
    """

    endpoint: str
    role: str
    model: str
    messages: tuple[Message, ...]
    schema_name: str
    schema: Mapping[str, Any]
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    replicate: int = 0
    logprobs: bool = False
    reasoning_effort: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    earlier: str = ""
    prefix_length: int = 0

    def followed_by(self, *messages: Message) -> Self:
        """The next request of a conversation: all messages so far, then these."""
        length, earlier = len(self.messages), self.key
        more = self.messages + messages
        return replace(self, messages=more, earlier=earlier, prefix_length=length)

    @property
    def most_counted(self) -> int | None:
        """What its input can be counted as at most, where that is not in tokens."""
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        """The sampling parameters that are set, so that a new one leaves old keys alone."""
        given = {
            "temperature": float(self.temperature),
            "top_p": None if self.top_p is None else float(self.top_p),
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "logprobs": self.logprobs or None,
            "reasoning_effort": self.reasoning_effort or None,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def stored(self) -> dict[str, Any]:
        """What the ledger keeps of it in addition to its endpoint, role and model."""
        named = {"schema_name": self.schema_name, "replicate": self.replicate}
        return {**self._transcript, **named, **self.parameters}

    @property
    def _transcript(self) -> dict[str, Any]:
        """What is new in this request, and whose it goes on with."""
        new: dict[str, Any] = {"messages": self.messages[self.prefix_length :]}
        if self.earlier:
            new["earlier"] = self.earlier
        if self.tools:
            new["tools"] = self.tools
        return new

    @cached_property
    def key(self) -> str:
        """The idempotence key (docs/protocol.md 1.3): SHA-256 over canonical JSON, 64 hex digits.

        Everything that can change the answer is in it; timeouts and retries are not.
        """
        identity = {
            "endpoint": self.endpoint,
            "role": self.role,
            "model": self.model,
            "parameters": self.parameters,
            **self._transcript,
            "schema": {"name": self.schema_name, "schema": self.schema},
            "replicate": self.replicate,
        }
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class TextsRequest(Request):
    """A request about texts that stand in the corpus, one in each message; the ledger names them by
    their hashes, since twice is too much. Nothing is written by the model."""

    @property
    def texts(self) -> list[str]:
        """The texts, in order."""
        return [each["content"] for each in self.messages]

    @property
    def stored(self) -> dict[str, Any]:
        given = (text.encode("utf-8", "surrogatepass") for text in self.texts)
        hashes = [hashlib.sha256(each).hexdigest() for each in given]
        return {"texts_sha256": hashes, "schema_name": self.schema_name, **self.schema}

    @classmethod
    def of(cls, role: str, endpoint: str, model: str, texts: Iterable[str], **schema: Any) -> Self:
        """The request in that role, whose `schema` is what else it says."""
        return cls(
            endpoint=endpoint,
            role=role,
            model=model,
            messages=tuple({"role": "user", "content": text} for text in texts),
            schema_name=role,
            schema=schema,
            max_tokens=0,  # its answer costs nothing
        )


def count(value: Any) -> int:
    """Tokens or units as an endpoint counted them; raises ValueError, or what `int` raises, for
    what is no count."""
    number = int(value)
    if not 0 <= number <= _MOST_COUNTED:
        raise ValueError("That is no count.")
    return number


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; `cached_input` is a part of `input`."""

    input: int
    cached_input: int = 0
    output: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `usage` is None where the endpoint gave none: unknown, and not free.

    In the ledger it stands under `call_id`, and under `cut_call_id` a first answer to the same that
    was cut off. A `replayed` one costs nothing now: `elapsed_s` and `usage` are those of the call
    that was paid.
    """

    text: str
    usage: Usage | None
    elapsed_s: float
    finish_reason: str = ""
    logprobs: list[dict[str, Any]] | None = None
    tool_calls: Sequence[ToolCall] = ()
    call_id: int = 0
    cut_call_id: int = 0
    replayed: bool = False

    @property
    def call_ids(self) -> list[int]:
        """Every call that it took, in order."""
        return [each for each in (self.cut_call_id, self.call_id) if each]

    @property
    def is_cut(self) -> bool:
        """Whether the answer ended at its longest length and not where the model meant it to."""
        return self.finish_reason == LENGTH

    @property
    def is_refusal(self) -> bool:
        """Whether the model, or a filter before or behind it, would not answer; `text` says why."""
        return self.finish_reason in REFUSALS


def quoted_back(first: Request, reply: str, said: str, most: int) -> Request:
    """The same question with a reply that cannot be used, in its first `most` characters, and what
    is said of it."""
    back = {"role": "assistant", "content": reply[:most].strip() or "(empty reply)"}
    return replace(first, messages=(*first.messages, back, {"role": "user", "content": said}))


def ask_until(
    first: Request,
    read: Callable[[str], T | str],
    again: Callable[[int, str], str],
    *,
    attempts: int = 2,
    quoted: int = 2_000,
) -> Generator[Sequence[Request], Sequence[Reply], tuple[T | None, tuple[str, ...], Reply]]:
    """Ask until `read` makes something of a reply: that, why those before could not be used, and
    the last reply; None where none could.

    Of others `read` says in words why not, and `again` with the number of the attempt what the
    model is told; each repair quotes the reply before.
    """
    request, faults = first, list[str]()
    while True:
        (reply,) = yield [request]
        found = read(reply.text)
        if not isinstance(found, str):
            return found, tuple(faults), reply
        faults.append(found)
        if len(faults) == attempts:
            return None, tuple(faults), reply
        request = quoted_back(first, reply.text, again(len(faults), found), quoted)
