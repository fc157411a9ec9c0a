"""From a query's aspects and passages to a request, and from replies to a cited answer.

Passages are called [doc_1], [doc_2], ... in the prompt, by their places in the query's gold: names
that no text can forge, because ours alone stand outside the fences. The answer gets their ids back.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from annotate.answers.citing import Evidence, Report, check_answer, renamed
from llm.parsing import ParseFailure, read_object
from llm.profiles import likely_tokens
from llm.prompts import PromptTemplate, fence
from llm.requests import Message, Request, object_schema

Ask: TypeAlias = Callable[[Request], Awaitable[tuple[str, int]]]
"""Send a request; the reply's text and the key of its call. Raises LLMError."""

ROLE: Final = "reference_answer"
PLACEHOLDERS: Final = frozenset({"query", "aspects", "passages"})
SCHEMA: Final = object_schema(answer={"type": "string"})
# Room for the answer and for the thoughts of a reasoning model before it.
MAX_TOKENS: Final = 16_000
# More than models in use read at once.
MOST_TOKENS: Final = 150_000
_QUOTED_BACK: Final = 20_000
_LABELS: Final = re.compile(
    r"\[\s*(?:doc[ _]?)?[0-9]{1,4}(?:\s*[,;]\s*(?:doc[ _]?)?[0-9]{1,4})*\s*\]", re.IGNORECASE
)


@dataclass(frozen=True)
class PassageText:
    """A gold passage; `doc` is its label in the prompt, `k` the aspect that it supports."""

    doc: str
    pid: str
    k: int
    text: str


@dataclass(frozen=True)
class AspectText:
    """An aspect with its raw weight on a scale from 1 to `top`."""

    k: int
    content: str
    weight: int
    top: int


@dataclass(frozen=True)
class Task:
    """What one answer is written from."""

    query: str
    aspects: tuple[AspectText, ...]
    passages: tuple[PassageText, ...]

    @property
    def evidence(self) -> Evidence:
        """The same as the checks read it, under the labels of the prompt."""
        return Evidence(
            {a.k: [p.doc for p in self.passages if p.k == a.k] for a in self.aspects},
            {each.doc: each.text for each in self.passages},
        )

    @property
    def ids(self) -> Mapping[str, str]:
        """Passage ids by label."""
        return {each.doc: each.pid for each in self.passages}


@dataclass(frozen=True)
class Settings:
    """One run's model, as it was frozen when the run was made."""

    endpoint: str
    model: str
    prompt: PromptTemplate
    temperature: float = 0.0
    with_weights: bool = True
    reasoning_effort: str = ""


@dataclass(frozen=True)
class CheckedAnswer:
    """An answer with passage ids, and what its checks said; `text` is "" where none was readable.

    `call` is the key of the call that brought it; `asked` how often the model was asked.
    """

    text: str
    call: int | None = None
    asked: int = 1
    fault: str = ""
    report: Report | None = field(default=None, compare=False)


@cache
def default_prompt() -> PromptTemplate:
    """The prompt that comes with the app."""
    return PromptTemplate.parse(prompt_text(), placeholders=PLACEHOLDERS)


def prompt_text() -> str:
    """Its whole text, which its hash is of."""
    path = Path(__file__).resolve().parent.parent / "prompts" / "reference_answer.txt"
    return path.read_text("utf-8").replace("\r\n", "\n")


def request(task: Task, settings: Settings, *, key: bytes) -> Request:
    """What the model is asked. Everything that people or pages wrote stands between fences."""
    messages = settings.prompt.render(
        query=fence("query", task.query, key),
        aspects="\n\n".join(_aspect(each, settings, key) for each in task.aspects),
        passages="\n\n".join(
            f"[{each.doc}] supports a{each.k}:\n{fence('passage', each.text, key)}"
            for each in task.passages
        ),
    )
    return Request(
        endpoint=settings.endpoint,
        role=ROLE,
        model=settings.model,
        messages=messages,
        schema_name=ROLE,
        schema=SCHEMA,
        temperature=settings.temperature,
        max_tokens=MAX_TOKENS,
        reasoning_effort=settings.reasoning_effort,
    )


def is_too_long(asked: Request) -> bool:
    """Whether the request is longer than models read."""
    return sum(likely_tokens(each["content"]) for each in asked.messages) > MOST_TOKENS


async def write(task: Task, settings: Settings, *, key: bytes, ask: Ask) -> CheckedAnswer:
    """Ask for an answer; once more where it cannot be read, cites strangers or leaves out aspects.

    Of two readable answers the sounder one is taken. Raises what `ask` raises.
    """
    first = request(task, settings, key=key)
    if is_too_long(first):
        return CheckedAnswer("", asked=0, fault="The passages are too long to be sent at once.")
    reply, call = await ask(first)
    written = _read(reply, call, task)
    if written.report is not None and written.report.is_sound:
        return _with_ids(written, task)
    again = replace(first, messages=_repair(first.messages, reply, written))
    reply, call = await ask(again)
    second = _read(reply, call, task)
    better = second if _rank(second) > _rank(written) else written
    return replace(_with_ids(better, task), asked=2)


def _aspect(aspect: AspectText, settings: Settings, key: bytes) -> str:
    weight = f", weight {aspect.weight} of {aspect.top}" if settings.with_weights else ""
    return f"a{aspect.k}{weight}:\n{fence('aspect', aspect.content, key)}"


def _read(reply: str, call: int, task: Task) -> CheckedAnswer:
    found = read_object(reply, "answer")
    if isinstance(found, ParseFailure):
        return CheckedAnswer("", call, fault=found.reason)
    text = found.value["answer"]
    if not isinstance(text, str) or not text.strip():
        return CheckedAnswer("", call, fault="The answer is empty.")
    text = _tidy(text.replace("\r\n", "\n").strip())
    return CheckedAnswer(text, call, report=check_answer(text, task.evidence))


def _tidy(text: str) -> str:
    """Labels as they were given: [doc 3], [3] and [doc_1, doc_2] mean labels too."""

    def put(match: re.Match[str]) -> str:
        return "".join(f"[doc_{int(number)}]" for number in re.findall(r"[0-9]+", match[0]))

    return _LABELS.sub(put, text)


def _rank(written: CheckedAnswer) -> tuple[bool, int, int]:
    if written.report is None:
        return False, 0, 0
    return True, -len(written.report.errors), written.report.covered


def _with_ids(written: CheckedAnswer, task: Task) -> CheckedAnswer:
    return replace(written, text=renamed(written.text, task.ids))


def _repair(
    messages: tuple[Message, ...], reply: str, written: CheckedAnswer
) -> tuple[Message, ...]:
    """The same question once more, with what was wrong; an empty reply is named."""
    wrong = [written.fault or "It could not be used as it is."]
    if written.report is not None:
        strangers = sorted({each.cited for each in written.report.errors})
        left_out = [f"a{k}" for k, count in written.report.coverage if not count]
        # Only labels of a known form go back: what else stood in brackets may be anything.
        named = [each for each in strangers if each.startswith("doc_") and each[4:].isdigit()]
        wrong = ["It cites something that is no label of a passage."] if strangers else []
        wrong = [f"There is no {', '.join(named)}."] if named else wrong
        if left_out:
            wrong.append(f"It cites no passage of {', '.join(left_out)}.")
    said = (
        f"Your answer cannot be taken. {' '.join(wrong)} Write the whole answer again by the same "
        "rules, as one JSON object with the single key answer."
    )
    return (
        *messages,
        {"role": "assistant", "content": reply[:_QUOTED_BACK].strip() or "(empty reply)"},
        {"role": "user", "content": said},
    )
