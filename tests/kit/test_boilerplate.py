"""What is boilerplate of a page, and what is not, whatever the page's language."""

import gzip
import json

import pytest

from corpus.chunking.rules import clean
from kit.boilerplate import edge_menus, inline_boilerplate, without_boilerplate, without_menus
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


def lines_of(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end].rstrip("\n") for start, end in spans]


def test_menus_at_the_ends_of_a_page_may_leave_gold() -> None:
    assert lines_of(PAGE, edge_menus(PAGE)) == [*MENU, *TEASERS]
    assert lines_of(PAGE, edge_menus(PAGE, tail=False)) == MENU
    assert lines_of(PAGE, edge_menus(PAGE, head=False, protected={"bridge"})) == [
        line for line in TEASERS if "Bridge" not in line
    ]
    between = "\n".join([*ARTICLE, *MENU, *ARTICLE])
    results = [f"{place} Swimmer {place} 54.3" for place in range(1, 9)]
    for lines in ([*results, *ARTICLE, *results], ["Share", *ARTICLE], between.split("\n")):
        assert edge_menus("\n".join(lines)) == []


def test_menus_are_known_in_other_languages() -> None:
    head, tail = ["Startseite", "Anmelden", "Abonnieren"], ["Kommentare (3)", "Teilen", "Impressum"]
    page = "\n".join([*head, "Ein Farn hat keine Samen, er hat Sporen.", *tail])
    assert lines_of(page, edge_menus(page)) == [*head, *tail]
    assert without_boilerplate(page).split("\n")[-2:] == ["Teilen", ""]


def test_gold_keeps_what_stands_inside_of_its_lines() -> None:
    links = " ".join(
        f"[{name}](/man/{name})" for name in ("pcp", "ipcmk", "ipcrm", "shmat", "semop")
    )
    for text in (f"See also {links}.", "if options[edit] and x[edit](a): save()"):
        assert clean(text, is_gold=True) == text


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(["A sum is computed so:", *(f"    x{n} = y{n} + 1" for n in range(30))]),
        "\n".join(f"- step {n}: turn it" for n in range(30)),
        "\n".join(["Hold", "the", "line"] * 10),
        "\n".join(["| a | b |"] * 20 + ["Log in", "Share", "Comments"]),
    ],
    ids=["code", "list", "poem", "table"],
)
def test_what_is_no_dumped_page_keeps_its_lines(text: str) -> None:
    left = [line for line in text.split("\n") if line not in ("Log in", "Share")]
    assert without_menus(text).split("\n")[: len(left) - 1] == left[: len(left) - 1]


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
def test_safe_clean_may_leave_out_menus_of_real_pages_and_no_article() -> None:
    pages()
    noise, left, lost, asked, count = gold()
    assert lost <= 1  # the number of comments of one page, which stands in its article too
    assert left < 0.78 * noise
    assert asked < 4.1 * count
