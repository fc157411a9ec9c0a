"""Versions of reference answers: history, restoring, choice and review."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.models import ReferenceAnswer
from annotate.services.answer_choice import choose_answer, unchoose_answer
from annotate.services.answer_reviews import review_answer
from annotate.services.answer_rights import answers_are_hidden, why_not_answer
from annotate.services.reference_answers import restore_answer
from annotate.views.answer_editor import answer_url, get_answer, visible
from annotate.views.history import difference
from annotate.views.numbers import number
from corpus.access import Access, enter, get_query
from kit import htmx
from kit.errors import Conflict, Refused

MOST_SHOWN = 50


@require_GET
def answer_history(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every version of both lines, newest first, each with what it changed."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    context: dict[str, Any] = {"access": access, "tab": "queries", "query": query}
    context["hidden"] = answers_are_hidden(access, query)
    context["versions"] = [] if context["hidden"] else _versions(visible(access, query))
    context["may_write"] = not why_not_answer(access, query)
    return htmx.render(request, "annotate/answers/history.html", context)


@require_POST
def answer_restore(request: HttpRequest, slug: str, pk: int, answer_pk: int) -> HttpResponse:
    """Let an earlier version stand again."""
    access, found = _get(request, slug, pk, answer_pk)
    expected = number(request.POST.get("version", "")) or 0
    try:
        restored = restore_answer(answer=found, actor=access.user, expected=expected)
        messages.success(request, f"Version {found.version} stands again, as {restored.version}.")
    except Conflict:
        messages.warning(request, "Somebody wrote meanwhile. Look at the newest version first.")
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, reverse("answer-history", args=[slug, pk]))


@require_POST
def answer_choose(request: HttpRequest, slug: str, pk: int, answer_pk: int) -> HttpResponse:
    """Let releases publish this version."""
    access, found = _get(request, slug, pk, answer_pk)
    try:
        choose_answer(answer=found, actor=access.user)
        messages.success(request, "Releases publish this answer from now on.")
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, answer_url(access, found.query))


@require_POST
def answer_unchoose(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Publish nothing that was written here."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    try:
        unchoose_answer(query=query, actor=access.user)
        messages.success(request, "Releases publish no answer written here any more.")
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, answer_url(access, query))


@require_POST
def answer_review(request: HttpRequest, slug: str, pk: int, answer_pk: int) -> HttpResponse:
    """A second person's word on a version."""
    access, found = _get(request, slug, pk, answer_pk)
    given = {name: request.POST.get(name, "") for name in ("verdict", "note")}
    try:
        review_answer(answer=found, access=access, **given)
        messages.success(request, "Your word is kept.")
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, answer_url(access, found.query))


def _get(
    request: HttpRequest, slug: str, pk: int, answer_pk: int
) -> tuple[Access, ReferenceAnswer]:
    access = enter(request.user, slug)
    return access, get_answer(access, get_query(access, pk), answer_pk)


def _versions(rows: Any) -> list[dict[str, Any]]:
    """Versions with what each changed against the one before it in its line."""
    before: dict[str, str] = {}
    shown = []
    listed = list(rows.order_by("-pk")[:MOST_SHOWN])[::-1]
    stands = {each.author: each.version for each in listed if each.stands}
    for each in listed:
        changes = difference(before.get(each.author, ""), each.text)
        shown.append({"answer": each, "changes": changes, "stands": stands.get(each.author, "")})
        before[each.author] = each.text
    return shown[::-1]
