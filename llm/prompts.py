"""Prompts as files with checked placeholders, and fences around text that nobody vouches for.

A template file names its version and role and holds two sections:

    version: 1
    role: debate_turn

    [system]
    You are {agent}. ...
    [user]
    {query}

Only {lower_case_words} are placeholders; every other brace stands for itself.
"""

import hashlib
import hmac
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from llm.requests import Message

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SECTION = re.compile(r"^\[(\w+)\][ \t]*$", re.MULTILINE)
_TAG = re.compile(r"[a-z][a-z_]*")
_FIELD = re.compile(r"^(\w+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


class PromptError(ValueError):
    """A template or its values do not fit together; the message says where."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt in a known version. `sha256` is that of the whole template text."""

    version: int
    role: str
    system: str
    user: str
    placeholders: frozenset[str]
    sha256: str

    @classmethod
    def load(cls, path: Path, *, placeholders: Collection[str]) -> Self:
        """Read a template from a UTF-8 file; see `parse`."""
        return cls.parse(path.read_text(encoding="utf-8"), placeholders=placeholders)

    @classmethod
    def parse(cls, text: str, *, placeholders: Collection[str]) -> Self:
        """Check a template against the placeholders that its caller fills, all of them.

        Raises PromptError.
        """
        text = text.replace("\r\n", "\n")
        head, *bodies = _SECTION.split(text)
        if bodies[::2] != ["system", "user"]:
            raise PromptError("A template needs the sections [system] and [user], in this order.")
        fields = dict(_FIELD.findall(head))
        version, role = fields.get("version", ""), fields.get("role", "")
        if not (version.isascii() and version.isdigit() and role):
            raise PromptError("A template starts with the lines `version: 1` and `role: name`.")
        system, user = (body.strip() for body in bodies[1::2])
        declared, used = frozenset(placeholders), set(_PLACEHOLDER.findall(system + user))
        _complain("uses undeclared", used - declared)
        _complain("does not use", declared - used)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return cls(int(version), role, system, user, declared, digest)

    def render(self, **values: str) -> tuple[Message, ...]:
        """The messages with every placeholder filled, each exactly once over.

        Braces inside values are text. Raises PromptError where a value is missing or unknown.
        """
        _complain("lacks a value for", self.placeholders - values.keys())
        _complain("has no place for", values.keys() - self.placeholders)

        def fill(text: str) -> str:
            return _PLACEHOLDER.sub(lambda match: values[match[1]], text)

        messages = {"system": fill(self.system), "user": fill(self.user)}
        return tuple({"role": role, "content": text} for role, text in messages.items() if text)


def fence(tag: str, text: str, key: bytes) -> str:
    """Put untrusted text between delimiters that it cannot forge (docs/protocol.md 1.3).

    The code in both tags is an HMAC of tag and text under a server key: whoever wrote the text
    cannot guess it, and any closing tag put into the text changes it. The same text gets the
    same code on every retry, so that the request's key holds.
    """
    if not _TAG.fullmatch(tag):
        raise PromptError(f"{tag!r} cannot be a tag: use lower-case letters.")
    code = hmac.new(key, f"{tag}\0{text}".encode("utf-8", "surrogatepass"), "sha256").hexdigest()
    return f"<{tag}-{code[:16]}>\n{text}\n</{tag}-{code[:16]}>"


def _complain(fault: str, names: Collection[str]) -> None:
    if names:
        raise PromptError(f"The template {fault} {', '.join(sorted(names))}.")
