"""Whatever reads pages, passages, answers or uploads does work in proportion to their length.

Texts come from crawls, models and strangers: one that costs a minute for each of its kilobytes
stops a worker. Every reader is held against texts that are built to make pattern matching try
each place from each other, and four times the text may cost six times the work at most.
"""

import json
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from annotate.answers import citing
from annotate.answers import evidence as answer_carrying
from annotate.guidelines.rendering import as_html
from annotate.workspace import neighbours, wording
from corpus.chunking import markup, rules, semantic, sentences
from corpus.extraction import extract_html, extract_text, page_blocks
from corpus.importers.formats import all_formats
from corpus.marcus import (
    asking,
    figures,
    inheritance,
    parts,
    regions,
    repairing,
    showing,
    splitting,
    tokens,
    verify,
)
from corpus.retrieval import analysis
from corpus.texts import finding as excerpts
from corpus.texts import index as textindex
from debate.answering import asking as answering
from debate.baselines import graded, relevance
from debate.dream import closing, quotes, turns
from debate.dream.types import Agent, Pair
from evaluation.metrics import names
from kit import boilerplate
from kit.stats import reading
from llm import errors, parsing
from llm.endpoints import Endpoint
from llm.practice import blocks, words
from llm.practice import rules as practice_rules
from tests.work import MOST, growth


def repeated(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


# What reads the most of what strangers write is held against it in every run of the suite.
QUICK: Final = {
    "verify: every other",
    "markup",
    "take_apart",
    "quotes",
    "guidelines",
    "extract_html",
}
# What is written again and again, by what it is.
PIECES: Final = {
    "comments": "<!--", "ends of comments": "-->",
    "tags": "<p>", "tags not closed": "<p ", "links not closed": "<a ", "attributes": "<a =",
    "bare attributes": "<a async ", "closings": "</", "scripts": "<p><script>",
    "ends of scripts": "</script>", "forms": "<p><form>", "menus": "<p><nav>a</nav>",
    "less": "<", "greater": ">", "brackets": "[", "links": "[a](",
    "citations": "[doc_1] ", "citations behind stops": "A. [a/b.txt]",
    "braces": "{", "objects": '{"a":', "parentheses": "(",
    "quotes": '"', "backslashes": "\\",
    "blanks": " ", "tabs": "\t", "lines": "\n", "blank lines": " \n",
    "entities not closed": "&amp", "numbers of entities": "&#", "entities": "&amp;",
    "fences": "```", "emphasis": "*_", "stars": "*", "underlines": "_", "bars": "|",
    "items": "- a\n", "hashes": "#",
    "dashes": "-", "dashes and blanks": "- ", "numbers of a list": "1. a\n",
    "one word": "word ", "one long word": "a", "digits": "1.",
    "hyphens": "a-", "soft hyphens": "a\u00ad", "combining": "e\u0301",
    "tiny lines": "a\n", "sentences": "A b. ", "stops": ".",
    "questions in words": "a?", "commas": ",", "broken": "\ufffd", "broken words": "\u00c3",
    "thoughts": "</think>", "labels": "Chunk A:\n", "edit marks": "[ edit ", "masks": "a*",
    "addresses": "http://", "hosts": "a-b.", "numbers and colons": "[a:b:", "columns": "1 0 a 1\n",
}  # fmt: skip
PATTERNS: Final[dict[str, Callable[[int], str]]] = {
    **{name: partial(repeated, piece) for name, piece in PIECES.items()},
    "nested brackets": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "nested tags": lambda size: "<div>" * (size // 11) + "</div>" * (size // 11),
    "nested objects": lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6),
    "blanks before a word": lambda size: " " * size + "a",
    "blanks in a tag": lambda size: "<p><p><p><a" + " " * size,
    "blanks in a sentence": lambda size: "A." + " " * size + "a",
    "blanks in a bracket": lambda size: "[" + " " * size + "a",
    "lines before a word": lambda size: "a" + "\n" * size + "a",
    "stops before a word": lambda size: "a" + "." * size + "a",
    "words that differ": lambda size: " ".join(map(str, range(size // 6))),
    "lines that differ": lambda size: "\n".join(f"{n:x} it" for n in range(size // 8)),
    "names of blocks": lambda size: "\n".join(f"<page-{n:016x}>" for n in range(size // 24)),
    "comments behind a page": lambda size: "<p>a</p>" * (size // 16) + "<!--" * (size // 8),
}


def halves_swapped(text: str) -> str:
    return text[len(text) // 2 :] + text[: len(text) // 2]


def every_other(text: str) -> str:
    return " ".join(text.split(" ")[::2]) if " " in text else text[::2]


def slices(text: str, size: int = 120) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def repaired(text: str) -> object:
    output = every_other(text)
    return repairing.repair(text, output, verify.verify(text, output))


def cut_and_repaired(text: str) -> object:
    output = halves_swapped(text)
    cuts = splitting.cuts_of(slices(output))
    verdict = verify.verify(text, output, with_tables=True)
    return splitting.kept_texts(splitting.without_inventions(text, output, verdict, cuts), {})


def sources(text: str) -> list[parts.Source]:
    return [parts.Source(n, f"page_{n}.txt", each) for n, each in enumerate(slices(text))]


def taken_apart(text: str) -> object:
    given = sources(text)
    return parts.take_apart(given, {n: [1] for n in range(0, len(given), 3)}, page_text=text)


def taken_apart_changed(text: str) -> object:
    given = [
        parts.Source(n, f"page_{n}.txt", f"{n} {each[::-1]} {n}")
        for n, each in enumerate(slices(text))
    ]
    return parts.take_apart(given, {n: [1] for n in range(0, len(given), 2)}, page_text=text)


def taken_apart_by_numbers(text: str) -> object:
    given = sources(text)
    return parts.take_apart(given, {n: [1] for n in range(0, len(given), 2)}, single_span=True)


def inherited(text: str) -> object:
    page = parts.take_apart(sources(text), {}, page_text=text)
    return [
        inheritance.inherit(inheritance.overlaps(part, slices(text, 200))[0]) for part in page.parts
    ]


def run_of(text: str) -> list[neighbours.Piece]:
    """No more than a form takes, however long they are."""
    pieces = slices(text, len(text) // MAX_MERGED + 1)
    return [neighbours.Piece(n, f"page_{n}.txt", each) for n, each in enumerate(pieces)]


MAX_MERGED: Final = 50


def placed(text: str) -> list[neighbours.Piece]:
    return [
        neighbours.Piece(n, f"page_{n}.txt", each, "page", 120 * n, 120 * n + len(each))
        for n, each in enumerate(slices(text))
    ]


def checked_answer(text: str) -> object:
    known = citing.brackets(text)
    evidence = citing.Evidence({1: known[::2], 2: known[1::3]}, {pid: pid for pid in known[::2]})
    citing.foreign_citations(text, evidence.gold, known)
    citing.renamed(text, dict.fromkeys(known, "x"))
    return citing.check_answer(text, evidence, known=known)


def chunked(text: str) -> object:
    units = semantic.units_of(text, most=50)
    vectors = [[1.0, float(number % 3)] for number in range(len(units))]
    return semantic.chunks_of(text, units, vectors, most=50)


ENDPOINT = Endpoint(
    name="one",
    base_url="http://a.example/v1",
    api_key="k1234567",
    is_practice=False,
    default_model="",
)
PAIR = ("q", ("a",))


def read_turn(text: str) -> object:
    answer = json.dumps({"response": "yes", "reason": text, "reference": slices(text)})
    agent = Agent("A", "relevant", "m", "e")
    for each in (text, answer):
        turns.read_turn(each, Pair("q", ("a",), text), agent=agent, round=1)
    given = {"reason": text, "reference": slices(text)[:20]}
    closing.closing_verdict(text)
    return turns.argument_of(given, text)


TOPIC: Final = "<top>\n<num>1</num>\n<title>{}</title>\n</top>\n"
DOCUMENT: Final = "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>{}</TEXT>\n</DOC>\n"


def imported(format: str, name: str, around: str = "{}") -> Callable[[str], object]:
    """Every row of a folder with a file of this name that holds the text."""

    def read(text: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(around.replace("{}", text).encode())
            return sum(1 for _ in all_formats()[format].read(Path(folder)))

    return read


def pair(text: str) -> dict[str, object]:
    return {"id": "1", "query": text, "answers": slices(text), "passage": text}


def as_bytes(text: str) -> bytes:
    return b"\xff" + text.encode()


def rated(text: str) -> object:
    lines = text.splitlines(keepends=True)
    return reading.read_ratings(["item,rater,label\n", *lines], "nominal")


def tried(read: Callable[[str], object]) -> Callable[[str], object]:
    """To refuse a text is an answer, too."""

    def attempt(text: str) -> object:
        try:
            return read(text)
        except ValueError as fault:
            return fault

    return attempt


READERS: Final[dict[str, Callable[[str], object]]] = {
    "verify: nothing left": lambda text: verify.verify(text, "x y"),
    "verify: all new": lambda text: verify.verify("x y", text),
    "verify: every other": lambda text: verify.verify(text, every_other(text), with_tables=True),
    "verify: moved": lambda text: verify.verify(text, halves_swapped(text)),
    "markup": lambda text: (markup.markup(text), markup.is_source(text)),
    "elements": lambda text: markup.elements(text, ("nav", "form", "script")),
    "boilerplate_spans": regions.boilerplate_spans,
    "menu_spans": regions.menu_spans,
    "recurring_lines": lambda text: regions.recurring_lines([text, text[::-1]]),
    "tables": regions.tables,
    "tokenise": tokens.tokenise,
    "is_repair": lambda text: verify.is_repair(text, 0, len(text), text.replace("\u00c3", "")),
    "mend": repaired,
    "cut and mend": cut_and_repaired,
    "take_apart": taken_apart,
    "take_apart: changed": taken_apart_changed,
    "take_apart: without a page": taken_apart_by_numbers,
    "overlaps": inherited,
    "side_by_side": lambda text: showing.side_by_side(text, every_other(text)),
    "near_duplicates": lambda text: figures.near_duplicates(slices(text)),
    "windows": lambda text: splitting.windows(text, 500),
    "read_chunks": lambda text: splitting.read_chunks(text, source=text),
    "read_reply": lambda text: (asking.read_reply(text), asking.says_nothing(text)),
    "clean": rules.clean,
    "cut_fixed": partial(splitting.cut_fixed, most=512),
    "semantic chunks": chunked,
    "sentences": sentences.sentences,
    "page_blocks": page_blocks,
    "extract_text": extract_text,
    "boilerplate": lambda text: (
        boilerplate.inline_boilerplate(text),
        boilerplate.edit_marks(text),
        boilerplate.without_boilerplate(text),
        boilerplate.without_menus(text),
        [boilerplate.is_boilerplate(each) for each in slices(text)],
    ),
    "excerpt": lambda text: excerpts.excerpt(text, frozenset({"a", "word", "it"})),
    "words_of": textindex.words_of,
    "terms": lambda text: analysis.Terms().of(text),
    "quotes": lambda text: quotes.locate_all([text, text[1:], halves_swapped(text)], text),
    "turns": read_turn,
    "read_object": lambda text: parsing.read_object(text, "a"),
    "read_object: behind one": lambda text: parsing.read_object('x {"b": 1} ' + text, "b"),
    "grades": graded.read_reference,
    "confidence": relevance.confidence_of,
    "labels in answers": answering._tidy,
    "without_secrets": lambda text: errors.without_secrets(text, ENDPOINT),
    "citing": checked_answer,
    "citations once": answer_carrying._once,
    "neighbours": lambda text: neighbours.groups(run_of(text), {}),
    "neighbours: placed": lambda text: neighbours.groups(placed(text), {"page": text}),
    "neighbours: joined": lambda text: neighbours.joined(run_of(text)),
    "neighbours: overlap": lambda text: neighbours.overlap(text, text[1:]),
    "count_sentences": wording.count_sentences,
    "guidelines": lambda text: as_html(text.encode()),
    "names of metrics": tried(names.read_metrics),
    "ratings": tried(rated),
    "practice: blocks": lambda text: (
        blocks.read_blocks(text),
        list(blocks.read_named(text)),
        practice_rules.read_position(text),
    ),
    "practice: cleaning": lambda text: (
        practice_rules.safe_clean(text),
        practice_rules.fast_clean(text),
        practice_rules.split(text),
    ),
    "practice: words": lambda text: (words.tokens(text), list(words.sentences(text))),
}
JSON_LINES: Final = (
    imported("beir", "corpus.jsonl"),
    imported("bright", "examples/a.jsonl"),
    imported("bright_pro", "examples/a.json"),
    imported("bridge", "a.jsonl"),
    imported("hotpotqa", "a.jsonl"),
    imported("pairs", "a.jsonl"),
)
# Opening a file and setting up a library cost as much as thousands of characters.
FILES: Final[dict[str, Callable[[str], object]]] = {
    "Cranfield": imported("cranfield", "cran.all.1400"),
    "Cranfield: a field": imported("cranfield", "cran.all.1400", ".I 1\n.W\n{}\n"),
    "TREC topics": imported("trec", "topics.txt"),
    "TREC topics: a title": imported("trec", "topics.txt", TOPIC),
    "TREC documents": imported("trec", "docs.txt"),
    "TREC documents: a text": imported("trec", "docs.txt", DOCUMENT),
    "TREC qrels": imported("trec", "qrels.txt"),
    "TREC run": imported("trec_run", "a.run"),
    "scores": imported("score_json", "a.json"),
    "JSON lines": lambda text: [read(text) for read in JSON_LINES],
    "pairs: fields": lambda text: imported("pairs", "a.jsonl")(json.dumps(pair(text))),
    "extract_html": extract_html,
    "extract_text: unknown charset": lambda text: extract_text(as_bytes(text)),
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The libraries tell of every page that is none."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def each_of(readers: Mapping[str, Callable[[str], object]]) -> list[Any]:
    """The readers; all but a few are slow."""
    return [
        pytest.param(read, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, read in readers.items()
    ]


@pytest.mark.parametrize("read", each_of(READERS))
def test_four_times_the_text_is_at_most_six_times_the_work(read) -> None:
    assert too_much(read, first=500) == {}


@pytest.mark.parametrize("read", each_of(FILES))
def test_four_times_the_file_is_at_most_six_times_the_work(read) -> None:
    assert too_much(read, first=4_000) == {}


def too_much(read: Callable[[str], object], *, first: int) -> dict[str, float]:
    """The patterns that cost more, with the ratio."""
    found = {name: growth(read, make, first=first) for name, make in PATTERNS.items()}
    return {name: ratio for name, ratio in found.items() if ratio > MOST}
