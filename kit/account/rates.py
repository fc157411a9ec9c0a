"""How many requests the API takes in a time: of a person, of a token, of an address; and uploads.

Django REST framework's own windows. Without LIMITS_CACHE each web process counts what it answers,
so that several processes take as many times the rate at most; with it they count together.
"""

import logging
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest
from django.utils.connection import ConnectionProxy
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle, UserRateThrottle

from kit.account.limits import client_address

logger = logging.getLogger(__name__)
MULTIPART = "multipart/form-data"


class Rate(SimpleRateThrottle):
    """Base: the rate of its scope in the settings; one that is empty is no limit."""

    cache: Any = ConnectionProxy(caches, "limits")
    scope = ""

    def get_rate(self) -> str | None:
        """Such as "600/min"."""
        rate: str = settings.ASSAY_RATES[self.scope]
        return rate or None

    def get_ident(self, request: Request | HttpRequest) -> str:
        """The address that asks, which no header of its own can change."""
        return client_address(request)  # type: ignore[arg-type]

    def allow_request(self, request: Request | HttpRequest, view: Any) -> bool:
        """Whether there is room; a cache that is away keeps nobody out."""
        try:
            allowed: bool = super().allow_request(request, view)  # type: ignore[arg-type]
        except Exception as error:  # whatever the cache's client raises
            logger.warning("rate limits: the cache does not answer: %s", error)
            return True
        return allowed


class PersonRate(Rate, UserRateThrottle):
    """Of a person, by whatever token or session; of an address where nobody is signed in."""

    scope = "person"


class TokenRate(Rate):
    """Of one API token."""

    scope = "token"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        """None, which is no limit, for a session."""
        token = getattr(request, "auth", None)
        return token and f"throttle_token_{token.pk}"


class UploadRate(Rate):
    """Requests with files, of a person: on the screens (kit.uploads) and in the API."""

    scope = "uploads"

    def get_cache_key(self, request: Request | HttpRequest, view: Any) -> str | None:
        """None for a request without files, and for one that was counted before the API's turn."""
        has_files = (request.content_type or "").startswith(MULTIPART)
        if not has_files or getattr(request, "is_counted", False):
            return None
        return f"throttle_uploads_{request.user.pk}" if request.user.is_authenticated else None
