"""Which answer of a query releases publish."""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction

from annotate.models import AnswerAuthor, Assignment, ReferenceAnswer, WorkState
from annotate.services.answer_evidence import check, material_of
from annotate.services.answer_rights import access_of, hold_for_choice, model_is_hidden
from corpus.models import Query
from kit import audit
from kit.errors import Refused


def choose_answer(*, answer: ReferenceAnswer, actor: User) -> ReferenceAnswer:
    """Let releases publish this version. Refused for one that does not stand or cites foreigners.

    By whoever may write here, and by admins. An accepted query counts as answered from then on.
    """
    with transaction.atomic():
        hold_for_choice(answer.query, actor)
        refuse_unseen(answer, actor)
        current = ReferenceAnswer.objects.select_related("query__domain__benchmark").get(
            pk=answer.pk
        )
        if current.is_chosen:
            return current
        if not current.stands:
            raise Refused("A newer version stands. Choose that one, or restore this one first.")
        if errors := check(material_of(current.query), current.text).errors:
            raise Refused(f"{errors[0].message} Correct it, then choose it.")
        mark_chosen(current, actor)
    return current


def unchoose_answer(*, query: Query, actor: User) -> None:
    """Publish nothing written here: releases fall back to what came with the query."""
    with transaction.atomic():
        hold_for_choice(query, actor)
        chosen = ReferenceAnswer.objects.chosen().filter(query=query).first()
        if chosen is None:
            raise Refused("No answer is chosen.")
        ReferenceAnswer.objects.filter(pk=chosen.pk).update(is_chosen=False)
        note_answer(chosen, actor, "unchoose answer")
        _move_work(query, actor, WorkState.ACCEPTED, "unanswer query")


def mark_chosen(answer: ReferenceAnswer, actor: User) -> None:
    """Publish it instead of what was chosen before; for a transaction that holds the query."""
    others = ReferenceAnswer.objects.chosen().filter(query=answer.query_id)
    before = others.values_list("pk", flat=True).first()
    others.update(is_chosen=False)
    ReferenceAnswer.objects.filter(pk=answer.pk).update(is_chosen=True)
    answer.is_chosen = True
    note_answer(answer, actor, "choose answer", instead_of=before)
    _move_work(answer.query, actor, WorkState.ANSWERED, "answer query")


def _move_work(query: Query, actor: User, to: str, verb: str) -> None:
    """An accepted query whose answer is chosen is answered (docs/protocol.md 3.1)."""
    states = (WorkState.ACCEPTED, WorkState.ANSWERED)
    held = Assignment.objects.standing().filter(query=query, state__in=states).first()
    if held is not None and Assignment.objects.move(held.pk, to):
        slug = query.domain.benchmark.slug
        audit.record(actor=actor, verb=verb, target=held, scope=slug)


def refuse_unseen(answer: ReferenceAnswer, actor: User) -> None:
    """A model's answer that is kept from somebody is neither restored nor chosen by them."""
    if answer.author != AnswerAuthor.MODEL:
        return
    if model_is_hidden(access_of(answer.query, actor), answer.query):
        raise PermissionDenied("Write your own answer first: it is compared with the model's.")


def note_answer(answer: ReferenceAnswer, actor: User | None, verb: str, **data: Any) -> None:
    """The event of a change of an answer."""
    slug = answer.query.domain.benchmark.slug
    kept = {"query": answer.query_id, "author": answer.author, "version": answer.version, **data}
    audit.record(actor=actor, verb=verb, target=answer, scope=slug, data=kept)
