"""Prompts that are written on screens: checked, tried on a sample, adopted as a version."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max

from corpus.models import Benchmark
from debate import dream
from debate.dream.prompting import PLACEHOLDERS
from debate.models import PromptVersion
from kit import audit
from kit.errors import Refused
from llm.prompts import PromptError, PromptTemplate

ROLE = "debate_turn"
LONGEST = 40_000
GONE = "The prompt that this run was made with is not here any more; start a new run."


class PromptGone(LookupError):
    """No prompt of that hash is known."""


def write_prompt(*, benchmark: Benchmark, text: str, actor: User) -> PromptVersion:
    """Keep a template as a draft; the same text twice is the same row.

    Raises Refused (field `text`) with what is wrong: the role, a placeholder that is missing or
    unknown, a section.
    """
    text = text.replace("\r\n", "\n").strip() + "\n"
    if len(text) > LONGEST or "\x00" in text:
        raise Refused(f"A prompt has at most {LONGEST:,} characters of text.", field="text")
    try:
        template = PromptTemplate.parse(text, placeholders=PLACEHOLDERS)
    except PromptError as error:
        raise Refused(str(error), field="text") from None
    if template.role != ROLE:
        raise Refused(f"The line `role:` has to say {ROLE}.", field="text")
    with transaction.atomic():
        made, is_new = PromptVersion.objects.get_or_create(
            benchmark=benchmark,
            role=ROLE,
            sha256=template.sha256,
            defaults={"text": text, "created_by": actor},
        )
        if is_new:
            _note(made, actor, "write prompt")
    return made


def adopt_prompt(*, prompt: PromptVersion, actor: User) -> PromptVersion:
    """Make a draft the prompt of every debate run that starts from now on.

    Runs that exist keep theirs. Raises Refused for one that has a version already.
    """
    try:
        with transaction.atomic():
            number = _newest(prompt.benchmark) + 1
            drafts = PromptVersion.objects.filter(pk=prompt.pk, version=None)
            if not drafts.update(version=number):
                raise Refused("This prompt is adopted already.")
            prompt.refresh_from_db()
            _note(prompt, actor, "adopt prompt")
    except IntegrityError:
        raise Refused("Another prompt was adopted at this moment; try again.") from None
    return prompt


def current_prompt(benchmark: Benchmark) -> tuple[int, PromptTemplate]:
    """(version, template) that new runs use: the newest adopted one, else the file's."""
    adopted = benchmark.prompts.filter(role=ROLE, version__isnull=False)
    newest = adopted.order_by("-version").first()
    if newest is None:
        prompt = dream.default_prompt()
        return prompt.version, prompt
    return newest.version or 0, template_of(newest)


def prompt_versions(benchmark: Benchmark) -> list[int]:
    """The versions of the debate prompt that a run can be made with, the newest first."""
    adopted = benchmark.prompts.filter(role=ROLE, version__isnull=False)
    numbers = {dream.default_prompt().version, *adopted.values_list("version", flat=True)}
    return sorted((number for number in numbers if number), reverse=True)


def prompt_numbered(benchmark: Benchmark, version: int | None) -> tuple[int, PromptTemplate]:
    """(version, template) of that version, or what new runs use. Raises Refused."""
    if version is None:
        return current_prompt(benchmark)
    stored = benchmark.prompts.filter(role=ROLE, version=version).first()
    if stored is not None:
        return version, template_of(stored)
    prompt = dream.default_prompt()
    if prompt.version != version:
        offered = ", ".join(map(str, prompt_versions(benchmark)))
        words = f"There is no version {version} of the debate prompt; there are: {offered}."
        raise Refused(words, field="prompt_version")
    return version, prompt


def prompt_with(benchmark: Benchmark, sha256: str) -> PromptTemplate:
    """The template of that hash: the file's or a stored one. Raises PromptGone."""
    prompt = dream.default_prompt()
    if prompt.sha256 == sha256:
        return prompt
    stored = benchmark.prompts.filter(role=ROLE, sha256=sha256).first()
    if stored is None:
        raise PromptGone(GONE)
    return template_of(stored)


def template_of(prompt: PromptVersion) -> PromptTemplate:
    """A stored prompt, ready to be filled."""
    return PromptTemplate.parse(prompt.text, placeholders=PLACEHOLDERS)


def _newest(benchmark: Benchmark) -> int:
    found = benchmark.prompts.filter(role=ROLE).aggregate(newest=Max("version"))["newest"]
    return max(found or 0, dream.default_prompt().version)


def _note(prompt: PromptVersion, actor: User, verb: str) -> None:
    data = {"sha256": prompt.sha256, "version": prompt.version}
    audit.record(actor=actor, verb=verb, target=prompt, scope=prompt.benchmark.slug, data=data)
