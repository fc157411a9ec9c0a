"""What may be sent here at all: decided before a byte of it is kept.

Django parses a form, and writes its files to disk, as soon as anything asks for a field of it, and
the CSRF check asks before anybody looks who is there. So the first upload handler refuses files of
people who are not signed in, and a middleware refuses bodies that say they are too large.
"""

import contextlib
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import resolve

from kit import htmx
from kit.account.rates import MULTIPART, UploadRate
from kit.numbers import number

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# What the fields around the files and the lines between them may add.
AROUND = 1024 * 1024
TOO_LARGE, NOT_SIGNED_IN, TOO_MANY = 413, 401, 429
_WORDS = {
    TOO_LARGE: (
        "Files may have {limit} in all, and what is sent without files {fields}; load larger "
        "files by command (load_benchmark)."
    ),
    NOT_SIGNED_IN: "Sign in or send a token to upload files.",
    TOO_MANY: "You sent many files lately. Wait for a while before you send more.",
}


class UploadRefused(RequestDataTooBig):
    """Nothing of the request is used; UploadLimitMiddleware answers with `status`."""

    def __init__(self, request: HttpRequest, status: int) -> None:
        super().__init__("The upload was refused.")
        request.upload_refused = status  # type: ignore[attr-defined]


class UploadGate(FileUploadHandler):
    """First of the upload handlers: stands before those that write.

    Counts what really comes, for servers that pass on bodies without a declared length.
    """

    def new_file(self, *args: object, **kwargs: object) -> None:
        """A file begins: raises UploadRefused unless somebody is signed in."""
        user = getattr(self.request, "user", None)
        # The API's own check of tokens has happened by now and says so here too.
        if user is None or not user.is_authenticated:
            raise self._refusal(NOT_SIGNED_IN)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass the bytes on while all files together stay within the limit."""
        self.received = getattr(self, "received", 0) + len(raw_data)
        if self.received > settings.ASSAY_UPLOAD_LIMIT:
            raise self._refusal(TOO_LARGE)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """The file is kept by the handlers that follow."""

    def _refusal(self, status: int) -> UploadRefused:
        assert self.request is not None
        for handler in self.request.upload_handlers:
            handler.upload_interrupted()  # what was begun is deleted at once
        return UploadRefused(self.request, status)


class UploadLimitMiddleware:
    """Refuses what is too large by its own account, or one file too many, before anything of it is
    read, and words every refusal of an upload."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if declared_length(request) > most_bytes(request):
            return refuse(request, TOO_LARGE)
        if (seconds := _to_wait(request)) is not None:
            response: HttpResponseBase = refuse(request, TOO_MANY)
            response["Retry-After"] = str(seconds)
            return response
        response = self.get_response(request)
        status = getattr(request, "upload_refused", None)
        return refuse(request, status) if status else response


def _to_wait(request: HttpRequest) -> int | None:
    """Seconds until this person may send files again; None where they may now.

    Who comes by a token is known, and counted, in the API only.
    """
    if request.content_type != MULTIPART or not request.user.is_authenticated:
        return None
    rate = UploadRate()
    is_allowed = rate.allow_request(request, None)
    request.is_counted = True  # type: ignore[attr-defined]
    return None if is_allowed else max(1, round(rate.wait() or 1))


def declared_length(request: HttpRequest) -> int:
    """Content-Length, 0 where it is absent or no number."""
    text = request.META.get("CONTENT_LENGTH") or ""
    return number(text) or 0


def most_bytes(request: HttpRequest) -> int:
    """The longest body that is taken: with files, or of fields and JSON only."""
    fields: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    files: int = settings.ASSAY_UPLOAD_LIMIT + AROUND
    return max(fields, files) if request.content_type == MULTIPART else fields


def refuse(request: HttpRequest, status: int) -> HttpResponse:
    """The refusal as the caller can read it: JSON, the sign-in page or a page of its own."""
    if request.path_info.startswith("/api/"):
        words = _too_large(request) if status == TOO_LARGE else _WORDS[status]
        return JsonResponse({"detail": words.format(**limits_in_words())}, status=status)
    if status == NOT_SIGNED_IN:
        back = redirect_to_login(request.get_full_path())
        return htmx.redirect(request, back.url)
    page = render_to_string(f"{status}.html", limits_in_words(), request)
    return HttpResponse(page, status=status)


def _too_large(request: HttpRequest) -> str:
    """In the words of the route, where it knows a limit of its own."""
    with contextlib.suppress(Http404):
        view = resolve(request.path_info).func
        return getattr(getattr(view, "cls", None), "too_large", "") or _WORDS[TOO_LARGE]
    return _WORDS[TOO_LARGE]


def limits_in_words() -> dict[str, str]:
    """The limits for files, and for requests without any, as people say them."""
    most = {"limit": settings.ASSAY_UPLOAD_LIMIT, "fields": settings.DATA_UPLOAD_MAX_MEMORY_SIZE}
    return {name: f"{size // 2**20} MB" for name, size in most.items()}
