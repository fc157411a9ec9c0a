"""Reference answers: the editor with its live checks, their versions, and the list of queries."""

from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.answers import services as verbs
from annotate.answers.comparing import to_rate
from annotate.answers.evidence import AnswerEvidence, check, material_of
from annotate.answers.rights import (
    answers_are_hidden,
    hidden_queries,
    may_review_answers,
    model_is_hidden,
    require_writer,
    why_not_answer,
)
from annotate.models import AnswerAuthor, AnswerReview, AnswerVerdict, ReferenceAnswer
from annotate.voting.disputes import domain_choices
from annotate.workspace.models import present_aspects
from annotate.workspace.views.queries import reading
from annotate.workspace.views.texts import difference
from corpus.access import Access, enter, get_query
from corpus.models import Query
from corpus.texts.finding import query_matches
from kit import htmx
from kit.errors import Conflict, Refused
from kit.lists.tables import Column, Filter, Table
from kit.numbers import number

EDITOR = "annotate/answers/editor.html"
IMPORT = "import"
MODEL = "model"
MAX_SHOWN = 50


class AnswerForm(forms.Form):
    """A submitted answer, the version it replaces, and what it was started from."""

    text = forms.CharField(max_length=verbs.LONGEST, strip=False, required=False)
    version = forms.IntegerField(min_value=0)
    reason = forms.CharField(max_length=2000, required=False)
    base = forms.IntegerField(required=False, min_value=1)
    from_import = forms.BooleanField(required=False)


class ReviewForm(forms.Form):
    """A second person's verdict."""

    verdict = forms.ChoiceField(choices=AnswerVerdict.choices, widget=forms.RadioSelect)
    note = forms.CharField(
        label="What should change", required=False, max_length=4000, widget=forms.Textarea
    )


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
    context = {"report": check(material_of(query, access), text)}
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
    url = answer_url(access, query)
    context = {
        "label": f"answer to {query}",
        "field": "text",
        "mine": request.POST.get("text", ""),
        "theirs": current.text if current else "",
        "theirs_by": current.created_by if current else None,
        "theirs_at": current.updated_at if current else None,
        "version": current.version if current else 0,
        "save_url": url,
        "back_url": url,
    }
    return htmx.conflict(request, context)


def editor(access: Access, query: Query, *, begin: str = "", **typed: Any) -> dict[str, Any]:
    """Context of the editor: passages by number, what is written, and what may be done with it."""
    context: dict[str, Any] = {"access": access, "query": query, **reading(query)}
    if answers_are_hidden(access, query):
        return context | {"hidden": True}
    material = material_of(query, access)
    lines = {each.author: each for each in visible(access, query).filter(stands=True)}
    mine, model = lines.get(AnswerAuthor.PERSON), lines.get(AnswerAuthor.MODEL)
    why_not = why_not_answer(access, query)
    start = _start(query, mine, model, begin) | typed
    shown = [each for each in (mine, model) if each is not None]
    return context | {
        "material": material,
        "cards": passage_cards(material),
        "mine": mine,
        "model": model,
        "model_is_hidden": model_is_hidden(access, query),
        "chosen": visible(access, query).chosen().first(),
        "why_not": why_not,
        "may_write": not why_not and not material.missing,
        "may_choose": access.is_admin or not why_not,
        "may_review": may_review_answers(access, query),
        "reviews": AnswerReview.objects.filter(answer__in=shown, stands=True).select_related(
            "reviewer"
        ),
        "review_form": ReviewForm(),
        "start": start,
        "report": check(material, start["text"]),
    }


def passage_cards(material: AnswerEvidence) -> list[dict[str, Any]]:
    """Gold passages by their number, each with its aspect and the aspect's colour."""
    supports = {
        each.pk: {"aspect": aspect, "css": f"n{place % 6 + 1}"}
        for place, (aspect, own) in enumerate(material.aspects)
        for each in own
    }
    return [
        {"number": number, "passage": each, **supports[each.pk]}
        for number, each in enumerate(material.passages, start=1)
    ]


def visible(access: Access, query: Query) -> Any:
    """Versions that this person may see; none of a model where its answer is kept from them."""
    rows = ReferenceAnswer.objects.filter(query=query).select_related("created_by", "based_on")
    return rows.by_people() if model_is_hidden(access, query) else rows


def answer_url(access: Access, query: Query) -> str:
    """The editor of a query's answer."""
    return reverse("answer", args=[access.benchmark.slug, query.pk])


def get_answer(access: Access, query: Query, pk: int) -> ReferenceAnswer:
    """A version that this person may see, or 404."""
    found = visible(access, query).filter(pk=pk).first()
    if found is None or answers_are_hidden(access, query):
        raise Http404("No such answer.")
    found.query = query
    return found


def _start(
    query: Query, mine: ReferenceAnswer | None, model: ReferenceAnswer | None, begin: str
) -> dict[str, Any]:
    """The text when the page is opened, and the version it replaces."""
    start = {
        "text": mine.text if mine else "",
        "version": mine.version if mine else 0,
        "base": "",
        "from_import": False,
    }
    if begin == MODEL and model is not None:
        return start | {"text": model.text, "base": model.pk}
    if begin == IMPORT and query.reference_answer:
        return start | {"text": query.reference_answer, "from_import": True}
    return start


@require_GET
def answer_history(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every version of both lines, newest first, each with what it changed."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    context: dict[str, Any] = {"access": access, "query": query}
    context["hidden"] = answers_are_hidden(access, query)
    context["versions"] = [] if context["hidden"] else _versions(visible(access, query))
    context["may_write"] = not why_not_answer(access, query)
    return htmx.render(request, "annotate/answers/history.html", context)


@require_POST
def answer_restore(request: HttpRequest, slug: str, pk: int, answer_pk: int) -> HttpResponse:
    """Make an earlier version the last again."""
    access, found = _get(request, slug, pk, answer_pk)
    expected = number(request.POST.get("version", "")) or 0
    try:
        restored = verbs.restore_answer(answer=found, actor=access.user, expected=expected)
        messages.success(request, f"Version {found.version} counts again, as {restored.version}.")
    except Conflict:
        messages.warning(request, "Somebody wrote meanwhile. Look at the newest version first.")
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, reverse("answer-history", args=[slug, pk]))


@require_POST
def answer_choose(request: HttpRequest, slug: str, pk: int, answer_pk: int) -> HttpResponse:
    """Let releases publish this version."""
    access, found = _get(request, slug, pk, answer_pk)
    act = partial(verbs.choose_answer, answer=found, actor=access.user)
    said = "Releases publish this answer from now on."
    return htmx.attempt(request, act, answer_url(access, found.query), said)


@require_POST
def answer_unchoose(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Publish nothing that was written here."""
    access = enter(request.user, slug)
    query = get_query(access, pk)
    act = partial(verbs.unchoose_answer, query=query, actor=access.user)
    said = "Releases publish no answer written here any more."
    return htmx.attempt(request, act, answer_url(access, query), said)


@require_POST
def answer_review(request: HttpRequest, slug: str, pk: int, answer_pk: int) -> HttpResponse:
    """A second person's verdict on a version."""
    access, found = _get(request, slug, pk, answer_pk)
    given = {name: request.POST.get(name, "") for name in ("verdict", "note")}
    act = partial(verbs.review_answer, answer=found, access=access, **given)
    return htmx.attempt(request, act, answer_url(access, found.query), "Your comment is saved.")


def _get(
    request: HttpRequest, slug: str, pk: int, answer_pk: int
) -> tuple[Access, ReferenceAnswer]:
    access = enter(request.user, slug)
    return access, get_answer(access, get_query(access, pk), answer_pk)


def _versions(rows: Any) -> list[dict[str, Any]]:
    """Versions with what each changed against the one before it in its line."""
    before: dict[str, str] = {}
    shown = []
    listed = list(rows.order_by("-pk")[:MAX_SHOWN])[::-1]
    stands = {each.author: each.version for each in listed if each.stands}
    for each in listed:
        changes = difference(before.get(each.author, ""), each.text)
        shown.append({"answer": each, "changes": changes, "stands": stands.get(each.author, "")})
        before[each.author] = each.text
    return shown[::-1]


def _by_state(queries: QuerySet[Query], value: str) -> QuerySet[Query]:
    written = ReferenceAnswer.objects.filter(query=OuterRef("pk"))
    has = {
        "person": Exists(written.by_people()),
        "model": Exists(written.by_models()),
        "published": Exists(written.chosen()),
        "none": ~Exists(written),
        "unpublished": Exists(written) & ~Exists(written.chosen()),
    }
    return queries.filter(has[value])


ANSWERS = Table(
    filters=(
        Filter("domain", "Domain", lookup="domain__name"),
        Filter(
            "state",
            "Answers",
            choices=(
                ("none", "None yet"),
                ("person", "By a person"),
                ("model", "By a model"),
                ("published", "Published"),
                ("unpublished", "Written, not published"),
            ),
            apply=_by_state,
        ),
    ),
    columns=(
        Column("query", "Query", order=("domain__name", "pk")),
        Column("title", "Title", order=("text",)),
        Column("person", "By a person", order=("person_version",), numeric=True),
        Column("model", "By a model", order=("model_version",), numeric=True),
        Column("published", "Published"),
        Column("reviewed", "Reviewed"),
    ),
    order=("domain__name", "pk"),
)


@require_GET
def answers(request: HttpRequest, slug: str) -> HttpResponse:
    """Queries with aspects, and the answers that were written to them."""
    access = enter(request.user, slug)
    shown = replace(
        ANSWERS,
        search=lambda found, words: found.filter(query_matches(words, benchmark=access.benchmark)),
    )
    choices = {"domain": domain_choices(access.benchmark)}
    context = {
        "access": access,
        "table": shown.read(answer_rows(access), request.GET, choices=choices),
        "hidden": set(hidden_queries(access).values_list("pk", flat=True)),
        "to_rate": to_rate(access).count(),
        "open": access.benchmark.answer_comparisons.filter(closed_at=None).first(),
    }
    return htmx.render(request, "annotate/answers/list.html", context, partial="results")


def answer_rows(access: Access) -> QuerySet[Query]:
    """Queries with aspects; `chosen_by` says whose line is published, `verdict` is the last one."""
    written = ReferenceAnswer.objects.filter(query=OuterRef("pk"))
    standing: Any = written.standing()
    verdicts = AnswerReview.objects.filter(
        answer__query=OuterRef("pk"), answer__stands=True, stands=True
    )
    queries = Query.objects.in_benchmark(access.benchmark).filter(Exists(present_aspects()))
    return queries.select_related("domain").annotate(
        person_version=Subquery(standing.by_people().values("version")[:1]),
        model_version=Subquery(standing.filter(author=AnswerAuthor.MODEL).values("version")[:1]),
        chosen_by=Subquery(written.chosen().values("author")[:1]),
        verdict=Subquery(verdicts.order_by("-pk").values("verdict")[:1]),
    )
