"""`{% sections as nav %}`: the sections of the benchmark that a page belongs to."""

from typing import Any

from django import template

from corpus.navigation import Section, sections_for

register = template.Library()


@register.simple_tag(takes_context=True)
def sections(context: dict[str, Any]) -> list[Section]:
    """Those that `access` sees; none outside a benchmark."""
    access = context.get("access")
    return sections_for(access, context["request"].path) if access else []
