"""The schema of the API, which anybody may read."""

from functools import cache
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema


class RouteSchema(AutoSchema):
    """A route of this API: its lists come in pages where they are read (kit.api.Route)."""

    def _get_paginator(self) -> Any:
        is_read = self.method == "GET"
        return super()._get_paginator() if is_read else None  # type: ignore[no-untyped-call]

    def get_tags(self) -> list[str]:
        """The noun of the route, from the package that holds it, or that it names (`noun_of`)."""
        module = getattr(self.view, "noun_of", "") or type(self.view).__module__
        name, _ = settings.API_NOUNS[".".join(module.split(".")[:2])]
        return [name]


class KeptSchema(SchemaGenerator):
    """It is the same for everybody: made once in each process, which takes half a second."""

    def get_schema(self, request: Any = None, public: bool = False) -> Any:
        return kept_schema()


@cache
def kept_schema() -> Any:
    """The schema, for the routes of everybody."""
    return SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
