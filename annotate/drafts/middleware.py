"""Drafts of a form go when the form was accepted."""

import json
from collections.abc import Callable
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.messages import WARNING
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from annotate.models import Draft

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# Hidden inputs that static/js/fields.js puts into a form: the names of its kept fields.
FIELD = "_drafts"
# Tells the browser to forget its own copies; read and cleared by the same script.
COOKIE = "assay_drafts_settled"
_SECONDS = 120


class DraftsSettledMiddleware:
    """After a form was accepted, forget what was kept of its fields. Inside MessageMiddleware."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_form = request.method == "POST" and not request.path_info.startswith("/api/")
        # In this order: the body of a request that was refused is not read for this.
        if not is_form or not isinstance(request.user, User) or not _is_accepted(request, response):
            return response
        if names := request.POST.getlist(FIELD)[:20]:
            Draft.objects.of(request.user).at(request.path).filter(name__in=names).delete()
            settled = quote(json.dumps({"place": request.path, "names": names}), safe="")
            response.set_cookie(
                COOKIE, settled, max_age=_SECONDS, samesite="Lax", secure=settings.BEHIND_TLS
            )
        return response


def _is_accepted(request: HttpRequest, response: HttpResponseBase) -> bool:
    """No error, nobody sent to sign in, and no verb that was refused with a message."""
    if response.status_code >= 400:
        return False
    waiting = getattr(request, "_messages", None)
    queued = getattr(waiting, "_queued_messages", [])
    return not any(message.level >= WARNING for message in queued)
