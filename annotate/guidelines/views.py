"""Guidelines: to be read by everybody, published by admins."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotate.forms import TextField
from annotate.guidelines.rendering import rendered
from annotate.guidelines.services import publish_guideline
from annotate.models import Guideline, Scale
from annotate.workspace.scales import choose_scale, scale_of_benchmark
from corpus.access import Access, enter, first_or_404
from corpus.models import Role
from kit import htmx
from kit.numbers import number

TEMPLATE = "annotate/guidelines/guidelines.html"


@require_http_methods(["GET", "POST"])
def guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """The current version (or ?version=); htmx asks for its text alone, for the dialog."""
    if request.method == "GET":
        access = enter(request.user, slug)
        return htmx.render(request, TEMPLATE, _context(request, access), partial="reading")
    access = enter(request.user, slug, Role.ADMIN)
    form = GuidelineForm(request.POST)
    if htmx.submit(form, publish_guideline, benchmark=access.benchmark, actor=access.user):
        version = form.cleaned_data["expected"] + 1
        messages.success(request, f"Version {version} of the guidelines is active.")
        return htmx.redirect(request, reverse("guidelines", args=[slug]))
    context = _context(request, access) | {"form": form, "is_open": True}
    return htmx.invalid(request, TEMPLATE, context)


@require_POST
def weight_scale(request: HttpRequest, slug: str) -> HttpResponse:
    """The scale on which new aspects are weighed from now on."""
    access = enter(request.user, slug, Role.ADMIN)
    far = number(request.POST["far"]) or 0 if "far" in request.POST else None

    def choose() -> None:
        scale = request.POST.get("scale", "")
        choose_scale(benchmark=access.benchmark, scale=scale, far=far, actor=access.user)

    url = reverse("guidelines", args=[access.benchmark.slug])
    return htmx.attempt(request, choose, url, "The new scale applies from now on.")


def _context(request: HttpRequest, access: Access) -> dict[str, Any]:
    current = Guideline.objects.current(access.benchmark)
    written = Guideline.objects.filter(benchmark=access.benchmark).select_related("created_by")
    shown = _chosen(request, written) or current
    chosen = scale_of_benchmark(access.benchmark)
    return {
        "access": access,
        "guideline": shown,
        "is_current": shown.version == current.version,
        "body": rendered(shown.text),
        "versions": written,
        "scale": chosen.scale,
        "scales": Scale.choices,
        "far": chosen.far,
        "form": GuidelineForm(initial={"text": current.text, "expected": current.version}),
    }


def _chosen(request: HttpRequest, written: QuerySet[Guideline]) -> Guideline | None:
    version = request.GET.get("version", "")
    if not version:
        return None
    return first_or_404(written.filter(version=number(version) or 0), "version")


class GuidelineForm(forms.Form):
    """A new version of the guidelines, written over the version that was current."""

    text = TextField(
        label="Guidelines",
        help_text="Markdown: # for headings, - for lists, > for examples.",
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 24, "data-draft": "text"}),
    )
    note = forms.CharField(
        label="What is new",
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"data-draft": "note"}),
    )
    expected = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
