"""Writing, restoring, choosing and reviewing reference answers. Versions are added, never edited.

Blind comparisons compare the standing versions (comparing.py); each write refills open pairs.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotate.answers.citing import by_ids
from annotate.answers.comparing import fill_pairs
from annotate.answers.evidence import check, material_of
from annotate.answers.rights import (
    lock_for_answer,
    lock_for_choice,
    refuse_unseen,
    require_answer_reviewer,
)
from annotate.models import (
    AnswerAuthor,
    AnswerReview,
    AnswerVerdict,
    Assignment,
    Guideline,
    ReferenceAnswer,
    StartedFrom,
    WorkState,
)
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Query
from kit import audit
from kit.errors import Conflict, Refused

LONGEST = 100_000
_COPIED = (
    *("query", "author", "text", "begun_from", "endpoint", "model", "prompt_version"),
    *("prompt_sha256", "call", "practice"),
)


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

    `[doc_3]` becomes the id that it means now: gold comes and goes, what is cited stays.
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
        lock_for_answer(query, actor)
        material = material_of(query)
        if material.missing:
            raise Refused(material.missing)
        text = by_ids(text, material.evidence.gold)
        standing = _standing(query, AnswerAuthor.PERSON)
        if standing is not None and standing.text == text:
            return standing
        if (standing.version if standing else 0) != expected:
            raise Conflict(standing)
        written = _add(
            standing,
            "write answer",
            query=query,
            author=AnswerAuthor.PERSON,
            text=text,
            reason=reason.strip(),
            begun_from=_started_from(standing, base, from_import),
            based_on=base,
            created_by=actor,
        )
        has_choice = ReferenceAnswer.objects.chosen().filter(query=query).exists()
        if not has_choice and not check(material, text).errors:
            mark_chosen(written, actor)
    return written


def record_model_answer(
    *, query: Query, text: str, call: int | None = None, **making: Any
) -> ReferenceAnswer:
    """Keep a model's answer, which supersedes its earlier one; for a caller's transaction.

    `making` holds endpoint, model, prompt_version, prompt_sha256 and practice; `call` is the key
    of its row in the ledger.
    The same words of the same model and prompt change nothing. It is published only when a person
    chooses it: until then whatever was chosen stays so, also the model's earlier version.
    """
    with transaction.atomic():
        lock_queries([query.pk])
        standing = _standing(query, AnswerAuthor.MODEL)
        same = {"text": text} | making
        if standing is not None and all(getattr(standing, n) == v for n, v in same.items()):
            return standing
        data = {"model": making["model"], "prompt": making["prompt_sha256"]}
        about: dict[str, Any] = {"query": query, "author": AnswerAuthor.MODEL, "call_id": call}
        return _add(standing, "model answer", data, takes_choice=False, **about, **same)


def restore_answer(*, answer: ReferenceAnswer, actor: User, expected: int) -> ReferenceAnswer:
    """Make an earlier version the last again, as a new one; errors as `write_answer`."""
    query = answer.query
    with transaction.atomic():
        lock_for_answer(query, actor)
        refuse_unseen(answer, actor)
        standing = _standing(query, answer.author)
        assert standing is not None  # the line has a version
        if standing.version != expected:
            raise Conflict(standing)
        if standing.pk == answer.pk:
            return standing
        copied: dict[str, Any] = {name: getattr(answer, name) for name in _COPIED}
        copied |= {"based_on": answer, "created_by": actor}
        return _add(standing, "restore answer", {"restored": answer.version}, **copied)


def _standing(query: Query, author: str) -> ReferenceAnswer | None:
    return ReferenceAnswer.objects.standing().filter(query=query, author=author).first()


def _started_from(
    standing: ReferenceAnswer | None, base: ReferenceAnswer | None, from_import: bool
) -> str:
    """What was once started from another answer stays so, whoever corrects it."""
    if base is not None:
        return StartedFrom.MODEL
    if from_import:
        return StartedFrom.IMPORT
    return standing.begun_from if standing else StartedFrom.NOTHING


def _add(
    standing: ReferenceAnswer | None,
    verb: str,
    data: Mapping[str, Any] | None = None,
    *,
    takes_choice: bool = True,
    **fields: Any,
) -> ReferenceAnswer:
    """The next version of a line, compared from now on, and the event that says so.

    With `takes_choice` it is published where the last one was.
    """
    query = fields["query"]
    line = ReferenceAnswer.objects.filter(query=query, author=fields["author"])
    is_chosen = takes_choice and standing is not None and standing.is_chosen
    if is_chosen:
        line.update(is_chosen=False)
    written = line.supersede(
        version=standing.version + 1 if standing else 1,
        is_chosen=is_chosen,
        guideline=Guideline.objects.current_version(query.domain.benchmark_id),
        **fields,
    )
    note_answer(written, written.created_by, verb, **(data or {}))
    fill_pairs(query)
    return written


def choose_answer(*, answer: ReferenceAnswer, actor: User) -> ReferenceAnswer:
    """Let releases publish this version; Refused for an older one or one with foreign citations.

    By whoever may write here, and by admins. An accepted query counts as answered from then on.
    """
    with transaction.atomic():
        lock_for_choice(answer.query, actor)
        refuse_unseen(answer, actor)
        current = ReferenceAnswer.objects.select_related("query__domain__benchmark").get(
            pk=answer.pk
        )
        if current.is_chosen:
            return current
        if not current.stands:
            raise Refused("There is a newer version. Choose that one, or restore this one first.")
        if errors := check(material_of(current.query), current.text).errors:
            raise Refused(f"{errors[0].message} Correct it, then choose it.")
        mark_chosen(current, actor)
    return current


def unchoose_answer(*, query: Query, actor: User) -> None:
    """Publish nothing written here: releases fall back to what came with the query."""
    with transaction.atomic():
        lock_for_choice(query, actor)
        chosen = ReferenceAnswer.objects.chosen().filter(query=query).first()
        if chosen is None:
            raise Refused("No answer is chosen.")
        ReferenceAnswer.objects.filter(pk=chosen.pk).update(is_chosen=False)
        note_answer(chosen, actor, "unchoose answer")
        _move_work(query, actor, WorkState.ACCEPTED, "unanswer query")


def mark_chosen(answer: ReferenceAnswer, actor: User) -> None:
    """Publish it instead of what was chosen before; for a transaction that locked the query."""
    chosen = ReferenceAnswer.objects.chosen().filter(query=answer.query_id)
    before = chosen.values_list("pk", flat=True).first()
    chosen.update(is_chosen=False)
    ReferenceAnswer.objects.filter(pk=answer.pk).update(is_chosen=True)
    answer.is_chosen = True
    note_answer(answer, actor, "choose answer", instead_of=before)
    _move_work(answer.query, actor, WorkState.ANSWERED, "answer query")


def _move_work(query: Query, actor: User, to: str, verb: str) -> None:
    """An accepted query whose answer is chosen is answered (docs/protocol.md 3.1)."""
    states = (WorkState.ACCEPTED, WorkState.ANSWERED)
    assignment = Assignment.objects.standing().filter(query=query, state__in=states).first()
    if assignment is not None and Assignment.objects.move(assignment.pk, to):
        slug = query.domain.benchmark.slug
        audit.record(actor=actor, verb=verb, target=assignment, scope=slug)


def note_answer(answer: ReferenceAnswer, actor: User | None, verb: str, **data: Any) -> None:
    """The event of a change of an answer."""
    slug = answer.query.domain.benchmark.slug
    kept = {"query": answer.query_id, "author": answer.author, "version": answer.version, **data}
    audit.record(actor=actor, verb=verb, target=answer, scope=slug, data=kept)


def review_answer(
    *, answer: ReferenceAnswer, access: Access, verdict: str, note: str = ""
) -> AnswerReview:
    """A second person's verdict on a standing version; it replaces one's own earlier one.

    Raises PermissionDenied for whoever wrote here or may have to rate, Refused without a note
    where changes are asked for.
    """
    actor, query, note = access.user, answer.query, note.strip()
    with transaction.atomic():
        lock_queries([query.pk])
        require_answer_reviewer(access, query)
        if verdict not in AnswerVerdict.values:
            raise Refused("Choose fine or needs changes.", field="verdict")
        if verdict == AnswerVerdict.CHANGES and not note:
            raise Refused("Say what should change.", field="note")
        if not ReferenceAnswer.objects.standing().filter(pk=answer.pk).exists():
            raise Refused("There is a newer version. Look at that one.")
        mine = AnswerReview.objects.filter(answer=answer, reviewer=actor)
        given = mine.supersede(answer=answer, reviewer=actor, verdict=verdict, note=note)
        note_answer(answer, actor, "review answer", verdict=verdict, note=note)
    return given
