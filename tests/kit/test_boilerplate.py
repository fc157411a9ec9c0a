"""What is boilerplate of a page, and what is not, whatever the page's language."""

import gzip
import json
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest

from corpus.chunking.rules import clean
from kit.boilerplate import (
    inline_boilerplate,
    menu_lines,
    without_boilerplate,
    without_menus,
)
from tests.bench.extraction import DATA, dumped, gold, score

MENU = ["Home", "News", "Sport", "Sign in", "Subscribe", "Advertise with us", "Contact", "Share"]
ARTICLE = [
    "Moths find the lamp",
    "On warm evenings the moths of the valley gather around the only street lamp of the village, "
    "and nobody has ever been able to say why they come from so far away.",
    "They are gone by morning.",
    "A biologist who has counted them for eleven years thinks that they mistake the lamp for the "
    "moon, by which they keep their course.",
]
TEASERS = [
    "Related",
    "Mayor Opens New Bridge",
    "Council Votes Against Dog Park",
    "Privacy policy",
    "© 2019 The Valley News",
]
PAGE = "\n".join([*MENU, *ARTICLE, *TEASERS])


def test_menus_around_an_article_go() -> None:
    assert without_menus(PAGE).splitlines() == ARTICLE[1:]  # a headline looks like any other
    assert clean(PAGE) == "\n".join(ARTICLE[1:])


def test_gold_loses_no_line_but_those_that_are_boilerplate_by_their_words() -> None:
    results = [f"{place} Swimmer {place} 54.3" for place in range(1, 9)]
    page = "\n".join([*MENU, *ARTICLE, *results, *TEASERS])
    assert "Swimmer" not in without_menus(page)
    for text in (without_boilerplate(page), clean(page, is_gold=True)):
        assert all(line in text for line in [*ARTICLE, *results, "Council Votes Against Dog Park"])
        assert "Privacy policy" not in text


def menus_of(text: str, **options: Any) -> list[str]:
    lines = text.split("\n")
    return [
        line for line, is_menu in zip(lines, menu_lines(lines, **options), strict=True) if is_menu
    ]


def test_the_last_words_of_gold_may_be_a_long_notice() -> None:
    """Articles of news agencies end so; what is as long in a footer goes, and a short one too."""
    notice = (
        "© 2019 Associated Press. All Rights Reserved. This material may not be published, "
        "broadcast, rewritten, or redistributed."
    )
    page = "\n".join([*MENU, *ARTICLE, notice, *TEASERS, "Share", notice.replace("19", "20")])
    assert notice in without_boilerplate(page)
    assert notice in clean(notice, is_gold=True)
    assert notice not in without_menus(page)
    assert menus_of(page) == [*MENU, *TEASERS, "Share", notice.replace("19", "20")]


def test_labels_of_gold_are_no_menu_unless_they_have_its_words() -> None:
    labels = ["PDF: ratschlage-geben", "The recipe:"]
    page = "\n".join([*MENU, *ARTICLE, *TEASERS[:2], *labels, "Share: mail", *TEASERS[2:]])
    assert menus_of(page) == [*MENU, *TEASERS[:2], "Share: mail", *TEASERS[2:]]


def test_paragraphs_of_gold_are_no_menu_unless_they_have_its_words() -> None:
    headline = TEASERS[1]
    places = {PAGE.split("\n").index(line) for line in (headline, "Related")}
    assert menus_of(PAGE, paragraphs=places) == [
        *MENU,
        *(line for line in TEASERS if line != headline),
    ]


def article(number: int) -> list[str]:
    """Other sentences of the same kind."""
    words = (
        ("moths", f"moths of night {number}"),
        ("They", f"The {number}"),
        ("bio", f"{number} bio"),
    )
    return [reduce(lambda text, pair: text.replace(*pair), words, line) for line in ARTICLE[1:]]


def test_menus_at_the_ends_of_a_page_may_leave_gold() -> None:
    assert menus_of(PAGE) == [*MENU, *TEASERS]
    assert menus_of(PAGE, protected={"bridge"}) == [
        *MENU,
        *(line for line in TEASERS if "Bridge" not in line),
    ]
    results = [f"{place} Swimmer {place} 54.3" for place in range(1, 9)]
    for lines in ([*results, *ARTICLE, *results], ["Share", *ARTICLE]):
        assert menus_of("\n".join(lines)) == []
    # In the middle of a page only what stands between two signs, and no list.
    assert menus_of(PAGE, head=False) == [*MENU[3:], *TEASERS]
    assert menus_of(PAGE, tail=False) == [*MENU, *TEASERS]


def test_a_headline_and_a_list_are_no_menu_of_gold() -> None:
    headline = "Moths of the valley gather around the lamp of our village"
    steps = [f"{place}. Switch the lamp off for {place} hours" for place in range(1, 9)]
    page = "\n".join([*MENU, headline, "Share", "Tweet", *steps, *ARTICLE[1:], *steps, *TEASERS])
    left = set(page.split("\n")) - set(menus_of(page))
    assert {headline, *steps, *ARTICLE[1:]} <= left
    assert not left & {*MENU, *TEASERS}


def test_furniture_among_the_sentences_of_gold_goes_and_a_table_of_cells_stays() -> None:
    furniture = ["Share this article", "Facebook", "Twitter", "Mail", "Print", "Follow us on X"]
    furniture += ["Sign up for our newsletter."]
    cells = [cell for n in range(1, 9) for cell in (f"Swimmer {n}", str(n), f"5{n}.3")]
    first, second = (
        [line for number in numbers for line in article(number)]
        for numbers in (range(1, 5), range(5, 9))
    )
    both = "\n".join([*ARTICLE, *furniture, *first, *cells, *second, *TEASERS])
    assert menus_of(both) == [*furniture, *TEASERS]
    table = "\n".join([*MENU, "Pos.", "Swimmer", "Time", *cells, "Share", "Print", *article(1)])
    assert set(menus_of(table)) <= {*MENU, "Share", "Print"}


def test_lines_that_recur_on_the_site_are_menus_where_several_stand_together() -> None:
    block = ["The Valley", "Sheep and dogs", "Two lakes"]
    lines = [*article(1), *block, "Kingdom:", *article(2), "See also", *article(3)]
    page = "\n".join(lines)
    assert menus_of(page) == []
    assert menus_of(page, recurring=set(lines)) == block
    assert menus_of(page, recurring=set(block), protected={"sheep"}) == [block[0], block[2]]


def test_links_at_the_ends_of_a_page_are_menus() -> None:
    lines = [*(f"Village {n}" for n in range(6)), *ARTICLE[1:]]
    shares = [1.0] * 6 + [0.0] * len(ARTICLE[1:])
    assert menu_lines(lines, links=shares) == [share == 1 for share in shares]
    assert not any(menu_lines(lines))
    assert not any(menu_lines(ARTICLE[1:] + lines, links=shares[6:] + shares))  # a list of links


def test_menus_are_known_in_other_languages() -> None:
    head = ["Startseite", "Anmelden", "Registrieren", "Abonnieren"]
    tail = ["Kommentare (3)", "Teilen", "Impressum"]
    farn = "Ein Farn hat keine Samen, er hat Sporen, und die trägt der Wind über das ganze Tal."
    page = "\n".join([*head, *[farn] * 3, *tail])
    assert menus_of(page) == [*head, *tail]
    assert without_boilerplate(page).split("\n")[-2:] == ["Teilen", ""]


def test_gold_keeps_what_stands_inside_of_its_lines() -> None:
    links = " ".join(
        f"[{name}](/man/{name})" for name in ("pcp", "ipcmk", "ipcrm", "shmat", "semop")
    )
    for text in (f"See also {links}.", "if options[edit] and x[edit](a): save()"):
        assert clean(text, is_gold=True) == text


WORDS = [
    "rain",
    "stone",
    "lamp",
    "moth",
    "river",
    "share",
    "hill",
    "next",
    "wool",
    "terms",
    "door",
    "reply",
    "night",
    "comments",
]


def made(pattern: str, count: int = 60) -> list[str]:
    """Lines of a pattern, each with other words; words of menus are among them."""
    words = [f"{word}{n}" if n % 27 else word for n in range(200) for word in WORDS]
    return [pattern.format(*words[5 * n : 5 * n + 7], n=n) for n in range(count)]


SUBTITLES = made("{n}|00:{n:02}:01,000 --> 00:{n:02}:02,900|And {0} the {1} {2}.|then {3} {4}", 40)
LONG_LINES: dict[str, list[str]] = {
    "verse": made("{0} and the {1} of {2} {3}"),
    "short verse": made("of {0} {1}"),
    "verse with signs": made("When {0} {1} in the {2} {3},"),
    "code": made("if {0}({1}) == {2}:|    return {3} + {n}|print({4})|{5} = [{n}, {6}]", 30),
    "subtitles": [line for each in SUBTITLES for line in each.split("|")],
    "numbers": made("{n}. {0} {1} {2}"),
    "bullets": made("- {0} {1}"),
    "things": made("{0} {1} with {2}"),
    "results": made("{n} Swimmer{n} 5{n}.3"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_LINES)
@pytest.mark.parametrize("has_menus", [False, True])
def test_long_pages_of_short_lines_are_no_menus(name: str, has_menus: bool) -> None:
    lines = [line for each in LONG_LINES[name] for line in each.split("|")]
    around = ([*MENU, "Log in"], TEASERS) if has_menus else ([], [])
    page = "\n".join([*around[0], *ARTICLE[1:], *lines, *around[1]])
    kept = [line for line in page.split("\n") if line not in menus_of(page)]
    assert set(lines) <= set(kept)
    if name != "results":  # these look like entries of a menu, and only gold is sure to keep them
        assert set(lines) <= set(without_menus(page).split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(["Hold", "the", "line"] * 10),
        "\n".join(["| a | b |"] * 20 + ["Log in", "Share", "Comments"]),
    ],
    ids=["poem", "table"],
)
def test_what_is_no_dumped_page_keeps_its_lines(text: str) -> None:
    left = [line for line in text.split("\n") if line not in ("Log in", "Share")]
    assert without_menus(text).split("\n")[: len(left) - 1] == left[: len(left) - 1]
    assert menus_of(text) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Focusing mechanisms[edit] The path of light", "Focusing mechanisms The path of light"),
        ('Uses [ [ edit ](/w/index.php?a=1 "Edit section: Uses") ] of it', "Uses of it"),
        (
            'It ends. * [ A ](/a) * [ B ](/b) * [ C ](/c) * [ D ](/d) * [ E ](/e "E") * Next',
            "It ends. * Next",
        ),
        ("See [ A ](/a), [ B ](/b) and [ C ](/c).", "See [ A ](/a), [ B ](/b) and [ C ](/c)."),
        ("[](int a) { return a; }", "[](int a) { return a; }"),
    ],
)
def test_edit_marks_and_menus_of_links_inside_of_lines_go(text: str, left: str) -> None:
    assert clean(text) == left


def test_places_of_inline_boilerplate() -> None:
    text = "Heading[edit] text"
    assert [text[start:end] for start, end in inline_boilerplate(text)] == ["[edit]"]


def pages() -> list[tuple[str, bytes]]:
    folder = DATA / "article-extraction"
    if not folder.is_dir():
        pytest.skip("no pages of ../shared/data/web-cleaning-dev here")
    truth = json.loads((folder / "ground-truth.json").read_text())
    return [
        (row["articleBody"], gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes()))
        for key, row in truth.items()
    ]


@pytest.mark.slow
def test_real_pages_given_as_text() -> None:
    given = [(article, dumped(body)) for article, body in pages()]
    assert score(given)[0] < 0.55
    cleaned = [(article, clean(text)) for article, text in given]
    _, recall, f1 = score(cleaned)
    assert recall >= 0.95
    assert f1 >= 0.85
    for _, text in cleaned:
        assert clean(text) == text


@pytest.mark.slow
def test_real_pages_given_as_their_source() -> None:
    found = [(article, clean(body.decode(errors="replace"))) for article, body in pages()]
    _, recall, f1 = score(found)
    assert recall >= 0.95
    assert f1 >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shown", "share"), [(dumped, 0.6), (lambda body: body.decode(errors="replace"), 0.65)]
)
def test_safe_clean_may_leave_out_menus_of_real_pages_and_no_article(
    shown: Callable[[bytes], str], share: float
) -> None:
    """docs/cleaning.md has the figures, of pages as text and as their source."""
    pages()
    noise, left, lost, asked, count = gold(shown)
    assert lost == 0
    assert left < share * noise
    assert asked < 2.5 * count
