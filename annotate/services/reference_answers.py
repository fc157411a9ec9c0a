"""Writing and restoring reference answers. Versions are added, never edited.

Blind comparisons read what stands here (comparing.py); each write refills their open pairs.
"""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotate.models import (
    AnswerAuthor,
    Beginning,
    Guideline,
    ReferenceAnswer,
)
from annotate.services.answer_choice import mark_chosen, note_answer, refuse_unseen
from annotate.services.answer_evidence import check, material_of
from annotate.services.answer_pairs import fill_pairs
from annotate.services.answer_rights import (
    hold_for_answer,
)
from corpus.models import Query
from corpus.services.judgments import hold_queries
from kit.errors import Conflict, Refused

LONGEST = 100_000
_COPIED = ("text", "begun_from", "endpoint", "model", "prompt_version", "prompt_sha256")


@dataclass(frozen=True)
class Making:
    """How a model's answer came to be; `call` is the key of its row in the ledger."""

    endpoint: str
    model: str
    prompt_version: int
    prompt_sha256: str
    practice: bool
    call: int | None = None


def write_answer(
    *,
    query: Query,
    actor: User,
    text: str,
    expected: int,
    base: ReferenceAnswer | None = None,
    from_import: bool = False,
    reason: str = "",
) -> ReferenceAnswer:
    """Submit a person's answer, written over version `expected` of it (0: there was none).

    `base` is the model's answer that it was begun from, `from_import` says that it was the one
    which came with the query. The same text again changes nothing. It is published where the
    version before was, and where nothing is and every citation is gold. Raises Conflict,
    carrying the present version, if somebody wrote meanwhile, Refused for an empty or far too
    long text and a query that is not ready, and PermissionDenied for whoever may not write.
    """
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise Refused("Write an answer first.", field="text")
    if len(text) > LONGEST:
        raise Refused(f"An answer holds at most {LONGEST:,} characters.", field="text")
    if base is not None and (base.query_id != query.pk or base.author != AnswerAuthor.MODEL):
        raise Refused("That answer belongs to another query.")
    with transaction.atomic():
        hold_for_answer(query, actor)
        material = material_of(query)
        if material.missing:
            raise Refused(material.missing)
        standing = _standing(query, AnswerAuthor.PERSON)
        if standing is not None and standing.text == text:
            return standing
        if (standing.version if standing else 0) != expected:
            raise Conflict(standing)
        written = _add(
            standing,
            query=query,
            author=AnswerAuthor.PERSON,
            text=text,
            reason=reason.strip(),
            begun_from=_beginning(standing, base, from_import),
            based_on=base,
            created_by=actor,
        )
        note_answer(written, actor, "write answer")
        has_choice = ReferenceAnswer.objects.chosen().filter(query=query).exists()
        if not has_choice and not check(material, text).errors:
            mark_chosen(written, actor)
        fill_pairs(query)
    return written


def record_model_answer(*, query: Query, text: str, making: Making) -> ReferenceAnswer:
    """Keep a model's answer, which supersedes its earlier one; for a caller's transaction.

    The same words of the same model and prompt change nothing. It is published only when a person
    chooses it: until then whatever was chosen stays so, also the model's earlier version.
    """
    with transaction.atomic():
        hold_queries([query.pk])
        standing = _standing(query, AnswerAuthor.MODEL)
        made = {name: getattr(making, name) for name in vars(making) if name != "call"}
        same = {"text": text} | made
        if standing is not None and all(getattr(standing, n) == v for n, v in same.items()):
            return standing
        written = _add(
            standing,
            query=query,
            author=AnswerAuthor.MODEL,
            text=text,
            call_id=making.call,
            takes_choice=False,
            **made,
        )
        data = {"model": making.model, "prompt": making.prompt_sha256}
        note_answer(written, None, "model answer", **data)
        fill_pairs(query)
    return written


def restore_answer(*, answer: ReferenceAnswer, actor: User, expected: int) -> ReferenceAnswer:
    """Let an earlier version stand again, as a new one of its line; errors as `write_answer`."""
    query = answer.query
    with transaction.atomic():
        hold_for_answer(query, actor)
        refuse_unseen(answer, actor)
        standing = _standing(query, answer.author)
        assert standing is not None  # the line has a version
        if standing.version != expected:
            raise Conflict(standing)
        if standing.pk == answer.pk:
            return standing
        copied = {name: getattr(answer, name) for name in _COPIED}
        written = _add(
            standing,
            query=query,
            author=answer.author,
            call=answer.call,
            practice=answer.practice,
            based_on=answer,
            created_by=actor,
            **copied,
        )
        note_answer(written, actor, "restore answer", restored=answer.version)
        fill_pairs(query)
    return written


def _standing(query: Query, author: str) -> ReferenceAnswer | None:
    return ReferenceAnswer.objects.standing().filter(query=query, author=author).first()


def _beginning(
    standing: ReferenceAnswer | None, base: ReferenceAnswer | None, from_import: bool
) -> str:
    """What was once begun from another answer stays so, whoever corrects it."""
    if base is not None:
        return Beginning.MODEL
    if from_import:
        return Beginning.IMPORT
    return standing.begun_from if standing else Beginning.NOTHING


def _add(
    standing: ReferenceAnswer | None, *, takes_choice: bool = True, **fields: Any
) -> ReferenceAnswer:
    """The next version of a line; with `takes_choice` it is published where the last one was."""
    rows = ReferenceAnswer.objects.filter(pk=standing.pk if standing else 0)
    is_chosen = takes_choice and standing is not None and standing.is_chosen
    rows.update(stands=False)
    if is_chosen:
        rows.update(is_chosen=False)
    benchmark = fields["query"].domain.benchmark_id
    written = ReferenceAnswer.objects.create(
        version=standing.version + 1 if standing else 1,
        is_chosen=is_chosen,
        guideline=Guideline.objects.current_version(benchmark),
        **fields,
    )
    rows.update(superseded_by=written)
    return written
