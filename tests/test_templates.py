"""Templates are read by people: short lines, one element or one block tag on each."""

import re
from pathlib import Path

import pytest

from tests.markup import BLOCKS

TEMPLATES = Path(__file__).parents[1] / "templates"
LONGEST = 120
ELEMENTS = re.compile(rf"<(?:{BLOCKS}|button|input|select|textarea)\b")
ALONE = re.compile(r"{% (?:extends|load|include|partial|csrf_token)\b")
TAG = re.compile(r"{% (?:end)?(?:if|elif|else|for|empty|with|block|partialdef|nothing)\b.*?%}")


def is_crowded(line: str) -> bool:
    """Whether a line holds two things that belong on lines of their own.

    Text is one thing with its inline elements and conditions: where no blank may be shown, a block
    tag stands beside a word.
    """
    tags = TAG.findall(line.replace("%}{% endblock %}", "%}").replace("%}{% endnothing %}", "%}"))
    bare = 0 if TAG.sub("", line).strip() else len(tags)
    return len(ELEMENTS.findall(line)) > 1 or len(ALONE.findall(line)) > 1 or bare > 1


def test_lines_of_templates_are_short_and_hold_one_thing() -> None:
    found = [
        f"{path.relative_to(TEMPLATES)}:{number}: {line.strip()}"
        for path in sorted(TEMPLATES.rglob("*.html"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST or is_crowded(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "<div><p>Two elements</p></div>",
        "<td>One</td><td>two</td>",
        "{% if a %}{% if b %}",
        "{% endif %}{% endfor %}",
        "{% block main %}{% partialdef results inline %}",
        '{% extends "base.html" %}{% load static %}',
        '{% csrf_token %}{% include "kit/fields.html" %}',
    ],
)
def test_what_is_crowded(line: str) -> None:
    assert is_crowded(line)


@pytest.mark.parametrize(
    "line",
    [
        "<p>One with <em>a</em> and <b>b</b></p>",
        '<option value="1"{% if it %} selected{% endif %}>{{ it }}</option>',
        "{% block title %}Vote{% endblock %}",
        "and a word{% if last %}, the last",
    ],
)
def test_what_is_not(line: str) -> None:
    assert not is_crowded(line)


@pytest.mark.parametrize(
    "name",
    [
        *("annotate/voting/vote", "annotate/workspace/query", "annotate/workspace/remake"),
        *("annotate/workspace/aspect_split", "annotate/workspace/aspect_merge"),
        *("annotate/workspace/query_scale", "annotate/assignments/submit"),
        *("annotate/panels/item", "annotate/review/review", "corpus/cleaning/violation"),
    ],
)
def test_screens_of_work_have_no_bar(name: str) -> None:
    first = (TEMPLATES / f"{name}.html").read_text(encoding="utf-8").splitlines()[0]
    assert first == '{% extends "work.html" %}'


def test_filters_apply_at_once() -> None:
    # A search has a button and is asked by it.
    forms = {
        f"{path.relative_to(TEMPLATES)}: {found[0]}"
        for path in sorted(TEMPLATES.rglob("*.html"))
        for found in re.finditer(r'<form\b(?:{%.*?%}|[^>])*method="get"(?:{%.*?%}|[^>])*>',
                                 path.read_text(encoding="utf-8"))
        if not re.search(r'at_once|hx-get|role="search"', found[0])
    }  # fmt: skip
    assert forms == set()


def test_no_style_changes_the_case_of_data() -> None:
    """Ids and names of measures stand in headings, cells and tags: none is put into capitals."""
    sheets = sorted((TEMPLATES.parent / "static" / "css").glob("*.css"))
    assert sheets
    assert [path.name for path in sheets if "text-transform" in path.read_text()] == []
