"""Qualification as admins see it: the bank of items, what is asked, who is qualified."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms as django_forms
from django.contrib import messages
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.exams import bank as verbs
from annotate.exams import forms
from annotate.exams.qualification import (
    APPROVAL_COLUMNS,
    ask_recheck,
    import_approvals,
    people_rows,
    rule_of,
    set_rule,
)
from annotate.models import ExamItem
from annotate.voting.disputes import domain_choices
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.csvread import csv_rows
from kit.errors import Conflict, Refused
from kit.tables import Column, Filter, Table

ITEM_COLUMNS = ("question", "answers", "passage", "label")
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


Shown = dict[str, Callable[..., django_forms.Form]]
Acts = dict[str, Callable[[Access, dict[str, Any]], str]]


@require_http_methods(["GET", "POST"])
def exam_bank(request: HttpRequest, slug: str) -> HttpResponse:
    """Every item with how people did on it; adding by hand, by file, and drawing from gold."""
    access = enter(request.user, slug, Role.ADMIN)
    benchmark = access.benchmark
    shown: Shown = {
        "add": partial(forms.ItemForm, benchmark=benchmark, auto_id="add-%s"),
        "file": partial(forms.ItemFileForm, benchmark=benchmark, auto_id="file-%s"),
        "draw": partial(forms.DrawForm, benchmark=benchmark, auto_id="draw-%s"),
    }
    acts: Acts = {"add": _add, "file": _add_file, "draw": _draw}
    bound = _act(request, access, shown, acts)
    if isinstance(bound, str):
        messages.success(request, bound)
        return htmx.redirect(request, reverse("exam-bank", args=[slug]))
    choices = {"domain": domain_choices(benchmark)}
    table = BANK.read(verbs.bank(benchmark), request.GET, choices=choices)
    context = {"access": access, "tab": "qualification", "table": table, "forms": bound}
    show = htmx.invalid if request.method == "POST" else htmx.render
    return show(request, "annotate/exam_bank.html", context, partial="results")


@require_GET
def exam_item(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One item with its right answer."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access, "tab": "qualification", "item": get_item(access, pk)}
    return htmx.render(request, "annotate/exam_item.html", context)


@require_POST
def exam_item_retire(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Draw an item no more."""
    access = enter(request.user, slug, Role.ADMIN)
    act = partial(verbs.retire_item, item=get_item(access, pk), actor=access.user)
    return htmx.attempt(request, act, reverse("exam-bank", args=[slug]))


@require_http_methods(["GET", "POST"])
def qualification_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """What the benchmark asks, approval history, rechecks, and who is qualified."""
    access = enter(request.user, slug, Role.ADMIN)
    benchmark = access.benchmark
    rule = rule_of(benchmark)
    start = model_to_dict(rule) | {"expected": rule.version}
    shown: Shown = {
        "rule": partial(forms.RuleForm, initial=start, auto_id="rule-%s"),
        "approvals": partial(forms.ApprovalForm, auto_id="approvals-%s"),
        "recheck": partial(forms.RecheckForm, benchmark=benchmark, auto_id="recheck-%s"),
    }
    acts: Acts = {"rule": _rule, "approvals": _approvals, "recheck": _recheck}
    bound = _act(request, access, shown, acts)
    if isinstance(bound, str):
        messages.success(request, bound)
        return htmx.redirect(request, reverse("qualification-rules", args=[slug]))
    context = {
        "access": access,
        "tab": "qualification",
        "rule": rule,
        "forms": bound,
        "people": people_rows(benchmark),
    }
    show = htmx.invalid if request.method == "POST" else htmx.render
    return show(request, "annotate/qualification_rules.html", context)


def get_item(access: Access, pk: int) -> ExamItem:
    """An item of this benchmark's bank, or 404."""
    rows = ExamItem.objects.filter(domain__benchmark=access.benchmark)
    return get_object_or_404(rows.select_related("domain__benchmark"), pk=pk)


def _act(
    request: HttpRequest,
    access: Access,
    shown: Shown,
    acts: Acts,
) -> str | dict[str, django_forms.Form]:
    """Do what the sent form asks and say so; else every form, the sent one with its errors."""
    intent = request.POST.get("intent", "") if request.method == "POST" else ""
    found = {name: make() for name, make in shown.items() if name != intent}
    if intent not in shown:
        return found
    form = shown[intent](request.POST, request.FILES)
    if form.is_valid():
        try:
            return acts[intent](access, form.cleaned_data)
        except Refused as refusal:
            known = refusal.field if refusal.field in form.fields else None
            form.add_error(known, refusal.message)
        except Conflict:
            form.add_error(None, "Another admin saved meanwhile. Reload the page, then change it.")
    return found | {intent: form}


def _add(access: Access, data: dict[str, Any]) -> str:
    domain = data.pop("domain")
    verbs.add_items(domain=domain, actor=access.user, items=[ExamItem(**data)])
    return "One item was added."


def _add_file(access: Access, data: dict[str, Any]) -> str:
    items = verbs.read_lines(csv_rows(data["file"], ITEM_COLUMNS))
    added = verbs.add_items(domain=data["domain"], actor=access.user, items=items)
    return f"{len(added)} items were added."


def _draw(access: Access, data: dict[str, Any]) -> str:
    drawn = verbs.draw_items(actor=access.user, **data)
    return f"{len(drawn)} items were drawn. Look at them before you ask for the exam."


def _rule(access: Access, data: dict[str, Any]) -> str:
    set_rule(benchmark=access.benchmark, actor=access.user, **data)
    return "Saved."


def _approvals(access: Access, data: dict[str, Any]) -> str:
    rows = csv_rows(data["file"], APPROVAL_COLUMNS)
    kept = import_approvals(benchmark=access.benchmark, actor=access.user, rows=rows)
    return f"The history of {len(kept)} people was kept."


def _recheck(access: Access, data: dict[str, Any]) -> str:
    ask_recheck(actor=access.user, **data)
    return f"{data['person']} has to take the exam of {data['domain']} again."
