"""What other tests leave to axe: it sees the one text on a page that is not like the others."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.e2e
FAINT = "color: #999; background: #fff"
PAGE = (
    """<html lang="en"><title>Page</title><main><h1>Words</h1>{}<table><tbody>{}</table></main>"""
)
ROWS = "<tr><td>said</td></tr>" * 50


@pytest.mark.parametrize(
    ("before", "last"),
    [
        ("", f'<tr><td style="{FAINT}">said</td></tr>'),
        ("", '<tr><td style="background: #333">said</td></tr>'),
        ("", '<tr style="opacity: .3"><td>said</td></tr>'),
        ("", f'<tr><td><input aria-label="Word" value="said" style="{FAINT}"></td></tr>'),
        # Of its kind, but nobody sees it.
        (
            f'<p hidden style="{FAINT}">said</p>' * 3,
            f'<tr><td><p style="{FAINT}">said</p></td></tr>',
        ),
    ],
)
@pytest.mark.parametrize("only_colors", [False, True])
def test_a_faint_text_is_found_among_many(
    page: Page, axe: Callable[..., list[str]], before: str, last: str, only_colors: bool
) -> None:
    page.set_content(PAGE.format(before, ROWS))
    assert axe(page, only_colors=only_colors) == []
    page.set_content(PAGE.format(before, ROWS + last))
    (fault,) = axe(page, only_colors=only_colors)
    assert fault.startswith("color-contrast ")


def test_colors_alone_are_asked_for_more(page: Page, axe: Callable[..., list[str]]) -> None:
    page.set_content(PAGE.format("", ROWS + '<tr><td style="color: #666">said</td></tr>'))
    assert axe(page) == []  # 5.7 to 1
    assert [each.split()[0] for each in axe(page, only_colors=True)] == ["color-contrast-enhanced"]


def test_other_rules_are_asked_of_the_whole_page(page: Page, axe: Callable[..., list[str]]) -> None:
    page.set_content(PAGE.format("", ROWS + "<tr><td><img src=x></td></tr>"))
    assert [each.split()[0] for each in axe(page)] == ["image-alt"]
    assert axe(page, only_colors=True) == []
