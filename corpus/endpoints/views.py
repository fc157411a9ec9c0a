"""The page of endpoints: which models there are for what, and whether they answer."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter
from corpus.models import Role
from kit import audit, htmx
from kit.errors import Refused
from llm import endpoints
from llm.endpoints import SettingsError
from llm.trying import Trial, trials, try_endpoint

TEMPLATE = "corpus/endpoints/endpoints.html"


@require_GET
def endpoint_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Every model at every endpoint, and its last trial."""
    access = enter(request.user, slug, Role.ADMIN)
    return htmx.render(request, TEMPLATE, _context(access), partial="results")


@require_POST
def endpoint_try(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask each model of one endpoint a tiny question, and show what came of it."""
    access = enter(request.user, slug, Role.ADMIN)
    with htmx.refusal_shown(request):
        outcomes = try_for(access, request.POST.get("endpoint", ""))
        return htmx.render(request, TEMPLATE, _context(access, outcomes), partial="results")
    return htmx.redirect(request, reverse("endpoints", args=[slug]))


def try_for(access: Access, name: str, role: str = "") -> list[Trial]:
    """Try the endpoint of that name, or its model of one role; an event says who paid for it.

    Raises Refused for a name or role that is not here.
    """
    if role not in ("", *endpoints.ROLES):
        raise Refused(f"The roles are {', '.join(endpoints.ROLES)}.", field="role")
    endpoint = endpoints.get(name)
    with transaction.atomic():
        audit.record(
            access.user,
            "try endpoint",
            access.benchmark,
            access.benchmark.slug,
            {"endpoint": endpoint.name, "role": role},
        )
    return try_endpoint(endpoint, role)


def known() -> list[Trial]:
    """Every model at every endpoint as it stands. Raises SettingsError."""
    return [trial for each in endpoints.available() for trial in trials(each)]


def _context(access: Access, outcomes: list[Trial] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"access": access}
    try:
        fresh = {(each.endpoint, each.model, each.roles): each for each in outcomes or []}
        rows = [fresh.get((each.endpoint, each.model, each.roles), each) for each in known()]
        names = dict.fromkeys(each.endpoint.name for each in rows)
        found["endpoints"] = [
            (n, [each for each in rows if each.endpoint.name == n]) for n in names
        ]
    except SettingsError as error:
        found["fault"] = str(error)
    return found
