"""Drafts of a form go when the form was accepted."""

import json
from collections.abc import Callable
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.messages import WARNING
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from annotate.drafts.services import settle_drafts

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
        # In this order: the body of a request that was refused is not read for this.
        is_settled = isinstance(request.user, User) and _is_accepted(request, response)
        names = self._names(request) if is_settled else []
        if names and isinstance(request.user, User):
            settle_drafts(person=request.user, place=request.path, names=names)
            told = quote(json.dumps({"place": request.path, "names": names}), safe="")
            response.set_cookie(
                COOKIE, told, max_age=_SECONDS, samesite="Lax", secure=settings.BEHIND_TLS
            )
        return response

    @staticmethod
    def _names(request: HttpRequest) -> list[str]:
        is_form = request.method == "POST" and not request.path.startswith("/api/")
        return request.POST.getlist(FIELD)[:20] if is_form else []


def _is_accepted(request: HttpRequest, response: HttpResponseBase) -> bool:
    """No error, nobody sent to sign in, and no verb that was refused with a message."""
    if response.status_code >= 400:
        return False
    waiting = getattr(request, "_messages", None)
    said = getattr(waiting, "_queued_messages", [])
    return not any(message.level >= WARNING for message in said)
