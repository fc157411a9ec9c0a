"""Probes and figures for machines, which need no account, and a page for staff."""

import json
import logging
import re
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404, get_script_prefix, resolve
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST, require_safe
from rest_framework.request import Request

from kit import htmx
from kit.account.rates import Rate
from kit.health import checks, metrics
from kit.runs.workers import Worker

logger = logging.getLogger(__name__)
_LONGEST_REPORT: Final = 8_192  # bytes
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


class ReportRate(Rate):
    """Reports of one address, so that nobody fills the log."""

    scope = "reports"

    def get_cache_key(self, request: Request | HttpRequest, view: Any) -> str:
        return f"throttle_reports_{self.get_ident(request)}"


@csrf_exempt
@login_not_required
@never_cache
@require_POST
def csp_report(request: HttpRequest) -> HttpResponse:
    """What a browser kept from being loaded or run: a line of the log, and nothing of its texts.

    Anybody may send anything here, so a report is short, seldom, and only what is known is logged.
    """
    if not ReportRate().allow_request(request, None):
        return HttpResponse(status=204)  # a refusal would be a line as well
    try:
        told = json.loads(request.read(_LONGEST_REPORT))["csp-report"]
        directive, blocked, page = (
            str(told[name]) for name in ("violated-directive", "blocked-uri", "document-uri")
        )
    except (ValueError, LookupError, TypeError, RecursionError):
        return HttpResponse(status=400)
    name = re.match(r"[a-z-]{1,40}", directive)
    if name is None:
        return HttpResponse(status=400)
    logger.warning("csp: %s kept %s from %s", name[0], _origin(blocked), _route(page))
    return HttpResponse(status=204)


def _origin(blocked: str) -> str:
    """Whose it was: an address may hold what is secret, its host does not."""
    if re.fullmatch(r"[a-z-]{1,20}", blocked):  # "inline", "eval", "data"
        return blocked
    found = re.match(r"[a-z]{1,10}://[A-Za-z0-9.:-]{1,253}(?=[/?#]|$)", blocked)
    return found[0] if found else "something"


def _route(page: str) -> str:
    """The kind of page, by its route: an address may hold the token of a link."""
    try:
        path = urlsplit(page).path.removeprefix(get_script_prefix().rstrip("/"))
        return f"/{resolve(path).route}"
    except (ValueError, Resolver404):
        return "a page"


@require_GET
def health(request: HttpRequest) -> HttpResponse:
    """For staff: every check in words, and the workers; asks again every ten seconds."""
    if not (isinstance(request.user, User) and request.user.is_staff):
        raise PermissionDenied("Only staff see how the installation does.")
    found = checks.look()
    is_known = all(check.is_ok is not None for check in found)
    context = {"checks": found, "workers": Worker.objects.alive() if is_known else []}
    return htmx.render(request, "kit/health.html", context, partial="health")
