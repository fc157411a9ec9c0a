"""The page of quotas: what a benchmark uses and may use, which staff set."""

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from corpus.access import Access, enter
from corpus.models import Role
from corpus.quotas.services import quota_of, set_quota, sharing_runs, used_by
from corpus.run_pages import page_of, priority_field
from kit import htmx

_MOST = 2**62


class QuotaForm(forms.Form):
    """The limits; empty is none."""

    bytes = forms.IntegerField(
        label="Bytes of pages and imported files", min_value=0, max_value=_MOST, required=False
    )
    calls = forms.IntegerField(
        label="Calls to models", min_value=0, max_value=_MOST, required=False
    )
    usd = forms.DecimalField(
        label="USD for models", min_value=0, max_digits=9, decimal_places=2, required=False
    )
    usd_month = forms.DecimalField(
        label="USD for models a month", min_value=0, max_digits=9, decimal_places=2, required=False
    )
    in_flight = forms.IntegerField(
        label="Calls in flight at once", min_value=1, max_value=10_000, required=False
    )
    priority = priority_field(
        "each run by its size",
        "Of runs of every kind, imports, pools and computed runs among them, unless a run has "
        "its own.",
    )


def enter_as_staff(access: Access) -> Access:
    """Raise PermissionDenied for an admin of the benchmark who does not run the site."""
    if not access.user.is_staff:
        raise PermissionDenied("Only staff of the site set quotas.")
    return access


@require_http_methods(["GET", "POST"])
def quotas(request: HttpRequest, slug: str) -> HttpResponse:
    """What is used of what, and the form for staff."""
    access = enter(request.user, slug, Role.ADMIN)
    quota, form = quota_of(access.benchmark), None
    if request.method == "POST":
        form = QuotaForm(request.POST)
        who = {"benchmark": access.benchmark, "actor": enter_as_staff(access).user}
        if htmx.submit(form, set_quota, **who):
            messages.success(request, "The quota is set. Runs that paused for it can be resumed.")
            return htmx.redirect(request, reverse("quotas", args=[slug]))
    elif access.user.is_staff:
        form = QuotaForm(initial={name: getattr(quota, name) for name in QuotaForm.base_fields})
    used = used_by(access.benchmark)
    context = {"access": access, "quota": quota, "used": used, "form": form}
    context["runs"] = [(run, page_of(run)) for run in sharing_runs(access.benchmark)]
    show = htmx.invalid if request.method == "POST" else htmx.render
    return show(request, "corpus/quotas/quotas.html", context)
