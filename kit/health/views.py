"""Probes and figures for machines, which need no account, and a page for staff."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from kit import htmx
from kit.health import checks, metrics
from kit.runs.workers import Worker

_CONTACT_HOLDS: Final = timedelta(days=90)
# How old the answer of /-/ready may be: probes come every ten seconds or so.
_FRESH_SECONDS: Final = 2
_KEY: Final = "kit.health.ready"


@login_not_required
@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """This process answers; nothing else is looked at."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Whether everything works; 503 with the names of what does not."""
    found = _looked_at()
    failing = [check.name for check in found if check.is_ok is False]
    states = {check.name: check.state for check in found}
    answer = {"ready": not failing, "failing": failing, "checks": states}
    return JsonResponse(answer, status=503 if failing else 200)


def _looked_at() -> list[checks.Check]:
    """Anybody may ask, as often as they like: the database is asked once in a few seconds."""
    found: list[checks.Check] | None = cache.get(_KEY)
    if found is None:
        found = checks.look()
        cache.set(_KEY, found, _FRESH_SECONDS)
    return found


@login_not_required
@never_cache
@require_safe
def figures(request: HttpRequest) -> HttpResponse:
    """For Prometheus, with METRICS_KEY as its bearer token; not there without a key."""
    if not settings.METRICS_KEY:
        raise Http404
    given = request.headers.get("Authorization", "")
    if not constant_time_compare(given, f"Bearer {settings.METRICS_KEY}"):
        return HttpResponse("The key of METRICS_KEY is needed as bearer token.\n", status=403)
    return HttpResponse(metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")


@login_not_required
@never_cache
@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Whom to tell of a weakness (RFC 9116); not there without SECURITY_CONTACT."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = (timezone.now() + _CONTACT_HOLDS).strftime("%Y-%m-%dT00:00:00Z")
    text = f"Contact: {settings.SECURITY_CONTACT}\nExpires: {expires}\n"
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_GET
def health(request: HttpRequest) -> HttpResponse:
    """For staff: every check in words, and the workers; asks again every ten seconds."""
    if not (isinstance(request.user, User) and request.user.is_staff):
        raise PermissionDenied("Only staff see how the installation does.")
    found = checks.look()
    is_known = all(check.is_ok is not None for check in found)
    context = {"checks": found, "workers": Worker.objects.alive() if is_known else []}
    return htmx.render(request, "kit/health.html", context, partial="health")
