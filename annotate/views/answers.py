"""Reference answers: the editor with its live checks."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST

from annotate.models import ReferenceAnswer
from annotate.services import reference_answers as verbs
from annotate.services.answer_evidence import check, material_of
from annotate.services.answer_rights import require_writer
from annotate.views.answer_editor import answer_url, editor, get_answer
from annotate.views.numbers import number
from corpus.access import Access, enter, get_query
from corpus.models import Query
from kit import htmx
from kit.errors import Conflict, Refused

EDITOR = "annotate/answers/editor.html"


class AnswerForm(forms.Form):
    """A submitted answer, and what it was written over and begun from."""

    text = forms.CharField(max_length=verbs.LONGEST, strip=False, required=False)
    version = forms.IntegerField(min_value=0)
    reason = forms.CharField(max_length=2000, required=False)
    base = forms.IntegerField(required=False, min_value=1)
    from_import = forms.BooleanField(required=False)


@require_http_methods(["GET", "POST"])
def answer(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The editor; submitting makes a version. `?from=model` or `import` begins with that text."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    if request.method == "POST":
        return _submit(request, access, query)
    context = editor(access, query, begin=request.GET.get("from", ""))
    return htmx.render(request, EDITOR, context)


@require_POST
def answer_check(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The checks of what is being written; nothing is kept."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    text = request.POST.get("text", "")[: verbs.LONGEST]
    context = {"report": check(material_of(query), text)}
    return htmx.render(request, "annotate/answers/checks_part.html", context)


def _submit(request: HttpRequest, access: Access, query: Query) -> HttpResponse:
    require_writer(access, query)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _again(request, access, query, "The form is not whole. Reload the page.")
    given = dict(form.cleaned_data)
    base_pk = given.pop("base")
    base = get_answer(access, query, base_pk) if base_pk else None
    try:
        written = verbs.write_answer(
            query=query, actor=access.user, expected=given.pop("version"), base=base, **given
        )
    except Conflict as conflict:
        return _conflict(request, access, query, conflict)
    except Refused as refusal:
        return _again(request, access, query, refusal.message)
    said = "It is what releases publish." if written.is_chosen else "It is not published yet."
    messages.success(request, f"Version {written.version} is kept. {said}")
    return htmx.redirect(request, answer_url(access, query))


def _again(request: HttpRequest, access: Access, query: Query, error: str) -> HttpResponse:
    """The editor with what was typed and what is wrong."""
    typed: dict[str, Any] = {
        "text": request.POST.get("text", ""),
        "version": number(request.POST.get("version", "")) or 0,
        "base": number(request.POST.get("base", "")) or "",
        "from_import": bool(request.POST.get("from_import")),
    }
    context = editor(access, query, **typed) | {"error": error}
    return htmx.invalid(request, EDITOR, context)


def _conflict(
    request: HttpRequest, access: Access, query: Query, conflict: Conflict
) -> HttpResponse:
    current: ReferenceAnswer | None = conflict.current
    context = {
        "label": f"answer to {query}",
        "field": "text",
        "mine": request.POST.get("text", ""),
        "theirs": current.text if current else "",
        "theirs_by": current.created_by if current else None,
        "theirs_at": current.updated_at if current else None,
        "version": current.version if current else 0,
        "save_url": answer_url(access, query),
        "back_url": answer_url(access, query),
    }
    return htmx.conflict(request, context)
