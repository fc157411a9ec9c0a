"""The page of the API, which anybody may read."""

from functools import cache
from typing import Any

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from kit.schema import kept_schema


class ApiPage(SpectacularSwaggerSplitView):
    """Every route by its noun; with `try` Swagger UI, which sends requests and weighs 430 kB."""

    url_name = "api-schema"

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The page, or the script that begins Swagger UI."""
        answer: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        if "try" not in request.GET:
            answer.data |= {"info": kept_schema()["info"], "nouns": _nouns()}
        return answer


@cache
def _nouns() -> list[dict[str, Any]]:
    """The tags of the schema, each with its `routes`."""
    schema, found = kept_schema(), dict[str, list[dict[str, Any]]]()
    for path, ways in schema["paths"].items():
        for method, way in ways.items():
            words, _, _ = way.get("description", "").partition("\n\n")
            route = {"method": method.upper(), "path": path, "words": words}
            found.setdefault(way["tags"][0], []).append(route)
    return [tag | {"routes": found[tag["name"]]} for tag in schema["tags"]]
