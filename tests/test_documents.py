"""What README, CONTRIBUTING and docs/ tell people to type or set is there."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"manage\.py +([a-z_]+)((?:[^\n`]|\\\n)*)")


def told(pattern: str) -> list[tuple[str, str]]:
    """(page, what it says) for each match."""
    return [(page.name, found) for page in PAGES for found in re.findall(pattern, page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page: Path) -> None:
    unknown = []
    for name, rest in COMMAND.findall(page.read_text()):
        app = get_commands().get(name)
        if app is None:
            unknown.append(name)
            continue
        assert isinstance(app, str)
        parser = load_command_class(app, name).create_parser("manage.py", name)
        given = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", rest))
        unknown += [f"{name} {option}" for option in given - parser._option_string_actions.keys()]
    assert unknown == []


def test_make_knows_what_people_are_told_to_make() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):.*##", makefile, re.MULTILINE))
    named = {name for _, name in told(r"(?:`| {4})(?:[A-Z]+=\S+ )?make ([a-z0-9-]+)")}
    assert {"run", "test", "check", "e2e", "test-services", "bench"} <= named <= targets


def test_links_between_pages_lead_somewhere() -> None:
    dead = [
        f"{page.name}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text())
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_every_knob_is_listed() -> None:
    knobs = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "config/settings.py").read_text()))
    listed = set(re.findall(r"`([A-Z_]+)`", (ROOT / "docs/settings.md").read_text()))
    assert len(knobs) > 25
    assert knobs - listed == set()
