"""`{% sections as nav %}`: the sections of the benchmark that a page belongs to."""

from typing import Any

from django import template
from django.utils.functional import SimpleLazyObject

from corpus.navigation import sections_for

register = template.Library()


@register.simple_tag(takes_context=True)
def sections(context: dict[str, Any]) -> Any:
    """Those that `access` sees, worked out where they are shown: screens of work show none. None
    outside a benchmark."""
    access, request = context.get("access"), context["request"]
    return SimpleLazyObject(lambda: sections_for(access, request.path)) if access else []
