"""Words that the glossary replaces are on no screen."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from django import forms
from django.utils.text import slugify

from kit.glossary import terms

ROOT: Final = Path(__file__).parents[2]
TEMPLATES: Final = sorted((ROOT / "templates").rglob("*.html"))
# Replaced in one meaning only, and right in another, which screens use.
RIGHT_ELSEWHERE: Final = {
    "question": "what a person or a model is asked",
    "answer": "the short answers’ name alone; everything else is an answer",
    "piece": "what somebody chooses of a page",
    "layer": "of a licence",
    "word": "what texts are made of; the last word of an admin",
    "stands": "where something is on a page; to be replaced where it is a label’s state",
    "judge": "a model that judges, and the verb",
    "release": "a frozen benchmark",
    "beside": "where something is on a page",
    "undone": "what the verb undo does",
    "place": "a rank in a list, and where a passage is",
    "places": "ranks won and lost",
    "terms": "of consent, and of the glossary",
    "look": "the verb",
    "said": "what people and agents said",
    "closed": "the state of a case, comparison or panel",
    "frozen": "what a release or a snapshot is",
    "board": "agent board and RAG board",
    "sheet": "never a report table; a class of styles",
    "key": "of the keyboard",
    "room": "what a budget has left",
    "held": "of a lease",
    "hold": "of a lease",
}
_UNSEEN: Final = re.compile(r"{#.*?#}|<(script|style)\b.*?</\1>|{{.*?}}", re.S)
_ATTRIBUTES: Final = re.compile(
    r'(?:aria-label|alt|placeholder|title|data-(?:confirm|key-label|label))="([^"]*)"'
)
# What a tag shows: words with a blank or a capital.
_ARGUMENTS: Final = re.compile(r'"([^"]*\s[^"]*|[A-Z#][^"]*)"')


def replaced() -> dict[str, str]:
    """Words of the column *replaces*, each with its term; what stands in backticks is code."""
    found = {}
    for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or cells[0] == "term" or set(cells[0]) <= set("- "):
            continue
        for word in re.sub(r"`[^`]*`|\([^)]*\)", "", cells[4]).split(","):
            if said := word.strip().strip('"'):
                found[said] = cells[0]
    return found


def visible(source: str) -> str:
    """The words that people see or hear of a template."""
    source = _UNSEEN.sub(" ", source)
    said = _ATTRIBUTES.findall(source)
    for tag in re.findall(r"{%(.*?)%}", source, re.S):
        said += _ARGUMENTS.findall(tag)
    plain = re.sub(r"<(?:\"[^\"]*\"|[^>\"])*>", " ", re.sub(r"{%.*?%}", " ", source, flags=re.S))
    return " ".join(" ".join([plain, *said]).split())


def shown() -> Iterator[tuple[str, str]]:
    """Where words stand, and the words: of templates, labels and helps of forms."""
    for path in TEMPLATES:
        yield str(path.relative_to(ROOT)), visible(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.glob("[a-l]*/**/forms.py")):
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, forms.BaseForm):
                for name, field in getattr(kind, "base_fields", {}).items():
                    yield f"{path.relative_to(ROOT)}: {name}", f"{field.label} {field.help_text}"


def test_no_screen_shows_a_word_that_the_glossary_replaces() -> None:
    words = replaced()
    assert RIGHT_ELSEWHERE.keys() <= words.keys()
    wrong = sorted(words.keys() - RIGHT_ELSEWHERE.keys(), key=len, reverse=True)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, wrong))})\b", re.I)
    found = [
        f"{where}: {hit[0]!r} is {words.get(hit[0].lower(), '?')}"
        for where, text in shown()
        for hit in pattern.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_screens_that_people_begin_with_explain_their_terms() -> None:
    first = {
        "annotate/voting/vote": "first judgment",
        "annotate/workspace/query": "weight",
        "debate/runs/run_new": "debate run",
        "debate/results/report": "consensus",
        "annotate/plans/voting": "voting plan",
        "annotate/exams/qualification": "qualification",
        "evaluation/leaderboard/leaderboard": "leaderboard",
        "annotate/panels/panels": "reference panel",
        "evaluation/agents/board": "retriever",
        "evaluation/rag/board": "generator",
        "evaluation/judges/judges": "card of a judge",
        "corpus/cleaning/new": "cleaning run",
    }
    for name, word in first.items():
        source = (ROOT / "templates" / f"{name}.html").read_text(encoding="utf-8")
        assert f'{{% term "{word}"' in source, name
    names = set(re.findall(r'{% term "([^"]+)"', "".join(text.read_text() for text in TEMPLATES)))
    assert {slugify(name) for name in names} <= terms().keys()


def test_replaced_words_are_found_in_what_is_seen_and_not_in_code() -> None:
    source = (
        """<p class="control room">Old {% table "Old gold" %}{{ room }}<i title="canary">x</i>"""
    )
    assert visible(source) == "Old x canary Old gold"
