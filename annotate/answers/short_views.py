"""The short answers of a query, by which debates judge: read by members, written by admins."""

import json
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.answers.rights import answers_are_hidden
from annotate.answers.short import reference_text
from annotate.forms import TextField
from corpus.access import enter, get_query
from corpus.importers.answers import ANSWER_LIMIT
from corpus.models import Query, Role
from corpus.texts.answers import MAX_ANSWERS, write_answers
from kit import htmx

TEMPLATE = "annotate/answers/short.html"


class ShortAnswersForm(forms.Form):
    """Answers one a line, written over those that were `expected`."""

    answers = TextField(
        label="Short answers",
        help_text="One a line. A passage is relevant in a debate if it supports one of them.",
        max_length=MAX_ANSWERS * ANSWER_LIMIT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 10, "data-draft": "answers"}),
    )
    expected = forms.JSONField(widget=forms.HiddenInput)

    def clean_expected(self) -> list[str]:
        """A list; anything else was not sent by the page."""
        expected = self.cleaned_data["expected"]
        if not isinstance(expected, list):
            raise forms.ValidationError("Load the page again.")
        return expected

    def lines(self) -> list[str]:
        """The answers; a line that one of several lines was shown as stays as it was stored."""
        stored = {_line(each): each for each in self.cleaned_data["expected"]}
        typed = self.cleaned_data["answers"].split("\n")
        return [stored.get(_line(each), each) for each in typed]


@require_http_methods(["GET", "POST"])
def short_answers(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The form; with `?from=reference` it begins with the reference answer."""
    access = enter(request.user, slug, Role.ADMIN)
    query = get_query(access, pk)
    # Who is to rate the query's answers blind does not read them here.
    reference = "" if answers_are_hidden(access, query) else reference_text(query)
    if request.method == "POST":
        form = ShortAnswersForm(request.POST)
        if htmx.submit(form, lambda **_: _write(form, query, access.user)):
            messages.success(request, "Debates judge by these answers from now on.")
            return htmx.redirect(request, reverse("query", args=[slug, pk]))
        query.refresh_from_db()
        # What was typed goes over what the message shows, if it is sent once more.
        form.data = request.POST.dict() | {"expected": json.dumps(query.answers)}
    else:
        lines = [_line(each) for each in query.answers]
        if request.GET.get("from") == "reference" and reference:
            lines = [*lines, _line(reference)]
        form = ShortAnswersForm(initial={"answers": "\n".join(lines), "expected": query.answers})
    context = {"access": access, "query": query, "form": form, "reference": reference}
    return htmx.render(request, TEMPLATE, context, form=form)


def _write(form: ShortAnswersForm, query: Query, actor: Any) -> Query:
    expected = form.cleaned_data["expected"]
    return write_answers(query=query, answers=form.lines(), actor=actor, expected=expected)


def _line(answer: object) -> str:
    return " ".join(str(answer).split())
