"""My drafts: everything that I typed and did not send."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.models import Draft
from kit import htmx
from kit.lists.tables import Column, Table

DRAFTS = Table(
    search=("text",),
    columns=(Column("kept", "Kept", order=("updated_at",)),),
    order=("-updated_at", "pk"),
)


@require_GET
def drafts(request: HttpRequest) -> HttpResponse:
    """The list, with the way back to where each was typed."""
    assert isinstance(request.user, User)
    table = DRAFTS.read(Draft.objects.of(request.user), request.GET)
    return htmx.render(request, "annotate/drafts/drafts.html", {"table": table}, partial="results")


@require_POST
def draft_discard(request: HttpRequest, pk: int) -> HttpResponse:
    """Throw one away."""
    assert isinstance(request.user, User)
    get_object_or_404(Draft.objects.of(request.user), pk=pk).delete()
    messages.success(request, "The draft was discarded.")
    return htmx.redirect(request, reverse("drafts"))
