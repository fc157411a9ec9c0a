"""What README, CONTRIBUTING and docs/ tell people to type or set is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
ROOMS = ("annotate", "config", "corpus", "debate", "evaluation", "kit", "llm", "templates", "tests")
CODE = [
    path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*"))
    if path.suffix in (".py", ".html") and path != Path(__file__)
]
# "docs/protocol.md 3.1 step 8, 3.2 and D25": sections or ids, perhaps with steps or rows of them.
NAME = r"\d+\.\d+|\d+|[CDMPVX]\d\d"
ITEMS = r"\d+\b(?!\.\d)(?:(?:, | and | to )\d+\b(?!\.\d))*"
PART = r",? (?:point|row|rule|step)s? "
CITATION = re.compile(
    rf"protocol\.md\)?((?:(?:,|;| and| to)? (?:{NAME})\b(?:{PART}{ITEMS})?)+)", re.MULTILINE
)
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


def in_protocol() -> set[tuple[str, str]]:
    """(section or id, "") for each of docs/protocol.md, and (section, number) for its items."""
    text = (ROOT / "docs/protocol.md").read_text()
    found = {(name, "") for name in re.findall(r"^\| ([A-Z]\d\d) \|", text, re.MULTILINE)}
    for part in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
        name = part.split(" ", 1)[0].rstrip(".")
        items = re.findall(r"^(?:\| )?(\d+)(?:\.| \|) ", part, re.MULTILINE)
        found |= {(name, ""), *((name, item) for item in items)}
    return found


def cited_in(text: str) -> Iterator[tuple[str, str]]:
    """What the text cites of docs/protocol.md, also over the end of a line or comment."""
    for citation in CITATION.findall(re.sub(r"\s*\n[\s#]*", " ", text)):
        for name, items in re.findall(rf"({NAME})\b(?:{PART}({ITEMS}))?", citation):
            yield name, ""
            yield from ((name, item) for item in re.findall(r"\d+", items))


def test_citations_are_read_as_they_are_written() -> None:
    text = (
        "(docs/protocol.md 3.1 steps 6 and 7, 6.12;\n    # 7, row 21 and D25). 4 see [protocol.md]"
    )
    found = [("3.1", ""), ("3.1", "6"), ("3.1", "7"), ("6.12", ""), ("7", ""), ("7", "21")]
    assert list(cited_in(text)) == [*found, ("D25", "")]


def test_cited_sections_of_the_protocol_are_there() -> None:
    cited = {(path.name, *each) for path in [*CODE, *PAGES] for each in cited_in(path.read_text())}
    there = in_protocol()
    assert len(cited) > 150
    assert [each for each in sorted(cited) if each[1:] not in there] == []


def test_code_cites_pages_that_are_there() -> None:
    unknown = [
        f"{path.name}: {folder}{page}"
        for path in CODE
        for folder, page in re.findall(r"[\s(`](docs/)?([a-z][a-z-]*\.md)\b", path.read_text())
        if not folder or not (ROOT / folder / page).exists()
    ]
    assert unknown == []
