"""Qualification as admins see it: the bank of items, what is asked, who is qualified."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.exams import forms
from annotate.exams.bank import bank, retire_item
from annotate.exams.qualification import people_rows
from annotate.models import ExamItem
from annotate.voting.disputes import domain_choices
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Conflict, Refused
from kit.lists.tables import Column, Filter, Table

BANK = Table(
    search=("question", "passage"),
    filters=(
        Filter("domain", "Domain", lookup="domain__name"),
        Filter(
            "use",
            "Use",
            choices=(("exam", "Exam"), ("practice", "Practice"), ("retired", "Retired")),
            apply=lambda rows, value: {
                "exam": rows.filter(is_practice=False, retired_at=None),
                "practice": rows.filter(is_practice=True, retired_at=None),
                "retired": rows.filter(retired_at__isnull=False),
            }[value],
        ),
    ),
    columns=(
        Column("item", "Item", order=("pk",)),
        Column("domain", "Domain", order=("domain__name",)),
        Column("label", "Right answer", order=("label",)),
        Column("basis", "From", order=("basis",)),
        Column("answered", "Answered", order=("answered",), numeric=True),
        Column("right", "Rightly", order=("right",), numeric=True),
    ),
)


@require_http_methods(["GET", "POST"])
def exam_bank(request: HttpRequest, slug: str) -> HttpResponse:
    """Every item with how people did on it; adding by hand, by file, and drawing from gold."""
    access = enter(request.user, slug, Role.ADMIN)

    def context() -> dict[str, Any]:
        choices = {"domain": domain_choices(access.benchmark)}
        return {"table": BANK.read(bank(access.benchmark), request.GET, choices=choices)}

    found = {"add": forms.ItemForm, "file": forms.ItemFileForm, "draw": forms.DrawForm}
    return _page(request, access, "annotate/exams/bank.html", found, context, partial="results")


@require_GET
def exam_item(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One item with its right answer."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access, "item": get_item(access, pk)}
    return htmx.render(request, "annotate/exams/item.html", context)


@require_POST
def exam_item_retire(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Draw an item no more."""
    access = enter(request.user, slug, Role.ADMIN)
    act = partial(retire_item, item=get_item(access, pk), actor=access.user)
    return htmx.attempt(request, act, reverse("exam-bank", args=[slug]))


@require_http_methods(["GET", "POST"])
def qualification_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """What the benchmark asks, approval history, rechecks, and who is qualified."""
    access = enter(request.user, slug, Role.ADMIN)
    found = {"rule": forms.RuleForm, "approvals": forms.ApprovalForm, "recheck": forms.RecheckForm}
    template = "annotate/exams/qualification_rules.html"
    return _page(
        request, access, template, found, lambda: {"people": people_rows(access.benchmark)}
    )


def get_item(access: Access, pk: int) -> ExamItem:
    """An item of this benchmark's bank, or 404."""
    return get_object_or_404(bank(access.benchmark), pk=pk)


def _page(
    request: HttpRequest,
    access: Access,
    template: str,
    classes: dict[str, type[forms.AdminForm]],
    context: Callable[[], dict[str, Any]],
    *,
    partial: str | None = None,
) -> HttpResponse:
    """A page with several forms: the one that is sent acts, or comes back with its errors."""
    intent = request.POST.get("intent", "")
    bound = {}
    for name, make in classes.items():
        sent = (request.POST, request.FILES) if name == intent else ()
        bound[name] = make(*sent, benchmark=access.benchmark, auto_id=f"{name}-%s")
    form = bound.get(intent)
    if form is not None and form.is_valid():
        try:
            messages.success(request, form.act(access.user))
            return htmx.redirect(request, request.path)
        except Refused as refusal:
            known = refusal.field if refusal.field in form.fields else None
            form.add_error(known, refusal.message)
        except Conflict:
            form.add_error(None, "Another admin saved meanwhile. Reload the page, then change it.")
    show = htmx.invalid if request.method == "POST" else htmx.render
    page = {"access": access, "forms": bound, **context()}
    return show(request, template, page, partial=partial)
