"""Every departure from the source is found, a faithful cleaning raises no alarm."""

import itertools
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus.marcus.repairing import repair
from corpus.marcus.verify import Kind, is_repair, verify
from tests.corpus.real_texts import clean_pages

DEMO = Path(__file__).resolve().parents[3] / "corpus" / "demo" / "documents"
FURNITURE = ["Jump to content", "Main page | Contents | Random article", "Log in", "[edit]"]


def texts() -> list[str]:
    rows = [json.loads(line) for path in DEMO.glob("*.jsonl") for line in path.open()]
    found = [row["content"] for row in rows]
    return [f"{a} {b}" for a, b in itertools.pairwise(found)]


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text)


def paraphrase(text: str, rng: random.Random) -> str:
    words = text.split()
    at = rng.randrange(1, len(words) - 4)
    return " ".join([*words[:at], "which", "is", "to", "say", *words[at + 3 :]])


def drop_sentence(text: str, rng: random.Random) -> str:
    parts = sentences(text)
    del parts[rng.randrange(len(parts))]
    return " ".join(parts)


def add_sentence(text: str, rng: random.Random) -> str:
    parts = sentences(text)
    parts.insert(rng.randrange(len(parts) + 1), "Experts agree that this is so.")
    return " ".join(parts)


def reorder_list(text: str, rng: random.Random) -> str:
    items = [line for line in text.split("\n") if line.startswith("- ")]
    first, second = rng.sample(range(len(items)), 2)
    items[first], items[second] = items[second], items[first]
    return "\n".join([text.split("\n")[0], *items])


def change_number(text: str, rng: random.Random) -> str:
    found = rng.choice(list(re.finditer(r"\d", text)))
    digit = str((int(found[0]) + rng.randrange(1, 9)) % 10)
    return text[: found.start()] + digit + text[found.end() :]


def homoglyph(text: str, rng: random.Random) -> str:
    twins = {"a": "а", "e": "е", "o": "о", "c": "с", "p": "р"}
    at = rng.choice([i for i, char in enumerate(text) if char in twins])
    return text[:at] + twins[text[at]] + text[at + 1 :]


def as_list(text: str) -> str:
    return "\n".join(["Points:", *(f"- {each}" for each in dict.fromkeys(sentences(text)))])


PLANTS = {
    "paraphrase": (paraphrase, str),
    "dropped sentence": (drop_sentence, str),
    "added sentence": (add_sentence, str),
    "reordered list": (reorder_list, as_list),
    "changed number": (change_number, lambda text: f"{text} It measured 41.7 on 12 May 1998."),
    "homoglyph": (homoglyph, str),
}


def planted(kind: str, count: int) -> Iterator[tuple[str, str]]:
    """Texts with one violation of that kind each."""
    rng = random.Random(7)
    plant, shape = PLANTS[kind]
    sources = [shape(text) for text in texts() if len(sentences(text)) > 2]
    for number in range(count):
        source = sources[number % len(sources)]
        yield source, plant(source, rng)


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", PLANTS)
def test_planted_violations_are_all_caught_and_mended(kind: str, count: int) -> None:
    caught = 0
    for source, output in planted(kind, count):
        verdict = verify(source, output)
        assert verdict.violations, (kind, source, output)
        for piece in verdict.violations:  # with their places
            assert source[piece.start : piece.end] or output[piece.out_start : piece.out_end]
        repaired = repair(source, output, verdict)[0]
        assert not verify(source, repaired).violations
        caught += 1
    assert caught == count


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_faithful_cleaner_raises_no_alarm_on_clean_pages(count: int) -> None:
    pages = clean_pages(count)
    rng = random.Random(3)
    for text in pages:
        lines = text.split("\n")
        dirty = [rng.choice(FURNITURE), *lines, rng.choice(FURNITURE), "© 2024 A site"]
        output = "# " + "\n".join(lines[:1]) + "\n\n" + "\n".join(lines[1:])
        verdict = verify("\n".join(dirty), output)
        assert not verdict.violations, (text, verdict.violations)
        assert verdict.recall == 1.0
        assert verdict.novel == 0.0


def test_markup_and_white_space_are_not_text() -> None:
    html = "<h1>Ferns</h1><p>They have <b>no</b> seeds &amp; no&nbsp;flowers.</p><!-- x -->"
    output = "# Ferns\n\nThey have **no** seeds & no [flowers](http://example.test)."
    assert not verify(html, output).pieces


SPEAKS_OF_HTML = [
    "Put it in a <script> tag. Then it runs once.",
    "A page may begin with <!-- and all behind it is text.",
    "Vue has <template> blocks. Each holds one root.",
    "The <select> element offers options. It is old.",
    "A vector<int> holds numbers, a vector<String> holds words.",
    "Where a<b and c>d the answer is no.",
    '<form id="all"><div><p>The page of an old server.</p><p>It is one form.</p></div></form>',
    "<article><header><h1>The title</h1></header><p>One.</p><p>Two.</p></article>",
]


@pytest.mark.parametrize("text", SPEAKS_OF_HTML)
def test_no_word_is_taken_for_markup_or_furniture_of_html(text: str) -> None:
    """Whatever single word is left out, it is noticed and put back."""
    words = re.findall(r"[A-Za-z]+", re.sub(r"</?(?:p|div|h1|article)\b[^<>]*>", " ", text))
    for word in dict.fromkeys(words):
        if word in ("script", "template", "select", "form", "id", "all", "header"):
            continue  # names of elements, which are markup where they are written as tags
        output = re.sub(rf"\b{word}\b", "", text, count=1)
        verdict = verify(text, output)
        assert verdict.violations, word
        assert not verify(text, repair(text, output, verdict)[0]).violations


def test_scripts_and_menus_of_a_page_are_no_text() -> None:
    page = (
        "<html><head><script>var a = 1;</script><style>p {}</style></head><body><nav>Moths and "
        '<a href="/m">more of it</a></nav><div><p>Ferns have no seeds.</p></div>'
        "<form>Search here</form><footer>An imprint of words</footer></body></html>"
    )
    assert not verify(page, "Ferns have no seeds.").violations


def test_of_a_page_neither_quotations_nor_the_ends_of_its_parts_may_go() -> None:
    """A side bar with a sentence, and a footer that the text goes on behind, are text."""
    quotation = "Ferns behave as if nobody had ever told them that seeds would be more convenient"
    page = (
        f"<html><body><nav>More</nav><p>Ferns have no seeds.</p><aside>{quotation}</aside>"
        "<div><footer>Drawn by hand</footer></div><aside>Our shop</aside><p>They have spores.</p>"
        "<footer>An imprint of words</footer></body></html>"
    )
    answer = f"Ferns have no seeds.\n{quotation}\nDrawn by hand\nThey have spores."
    assert not verify(page, answer).violations
    for words in (quotation, "Drawn by hand"):
        assert verify(page, answer.replace(words, "")).violations


def test_furniture_may_go_and_mended_characters_are_listed_as_such() -> None:
    source = "Jump to content\nThe caf\ufffd opened in 1901.\nPrivacy policy | About us"
    verdict = verify(source, "The café opened in 1901.")
    kinds = [piece.kind for piece in verdict.pieces]
    assert sorted(kinds) == [Kind.BOILERPLATE, Kind.BOILERPLATE, Kind.REPAIRED]
    assert not verdict.violations
    assert verdict.recall == 1.0


def test_mojibake_may_be_mended_but_nothing_beside_it() -> None:
    assert not verify("Itâ€™s here.", "It's here.").violations
    assert verify("Itâ€™s here.", "It's there.").violations
    assert verify("caf\ufffd in 1901", "café in 1902").violations


def test_a_moved_stretch_is_called_moved() -> None:
    source = "One two three four; five six seven eight nine ten."
    verdict = verify(source, "five six seven eight nine ten. One two three four;")
    assert {piece.kind for piece in verdict.violations} == {Kind.MOVED}


def test_a_table_in_words_is_allowed_to_a_splitter_alone() -> None:
    source = "Growth by year.\n| year | cm |\n|---|---|\n| 1901 | 4 |\nThen it stopped."
    output = "Growth by year.\nIn 1901 it grew by four centimetres.\nThen it stopped."
    allowed = verify(source, output, with_tables=True)
    assert not allowed.violations
    assert Kind.TABLE in {piece.kind for piece in allowed.pieces}
    assert verify(source, output).violations


def test_shares_of_protocol_4_2() -> None:
    source = " ".join(f"word{n}" for n in range(100))
    verdict = verify(source, " ".join(f"word{n}" for n in range(97)))
    assert verdict.recall == 0.97
    assert verdict.is_poor()
    assert not verify(source, " ".join(f"word{n}" for n in range(99))).is_poor()
    assert verify(source, source + " and two more").novel == pytest.approx(3 / 103)


def test_a_long_hostile_output_is_answered() -> None:
    source = "the cat " * 3000
    verdict = verify(source, "cat the " * 3000)
    assert verdict.source_tokens == 6000


@pytest.mark.parametrize(
    ("source", "output", "is_same"),
    [
        ("a \ufffd b", "a  b", True),
        ("a \ufffd b", "a\n\nb", True),
        ("a \ufffd b", "a b", False),  # a blank is gone too, and nobody knows what stood there
        ("na\ufffdve", "naïve", True),
        ("na\ufffdve caf\ufffd", "naïve café", True),
        ("na\ufffdve", "native one", False),
        ("a\ufffd" * 99, "a" * 99, False),  # what may be many things shows nothing
        ("aÃ" * 400, "a" * 800 + "x", False),
    ],
)
def test_nothing_but_broken_characters_may_be_replaced(source, output, is_same) -> None:
    assert is_repair(source, 0, len(source), output) is is_same
