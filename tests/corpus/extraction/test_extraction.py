"""Pages as text: everything visible stands there once, in order, and the main part is marked."""

import gzip
import io
import itertools
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from corpus.extraction import (
    Kind,
    Page,
    Unreadable,
    extract_html,
    extract_pdf,
    extract_text,
    page_blocks,
)

ARTICLE = [
    "Moths do not fly into lamps because they like them. They roll their backs toward the light.",
    "In the dark the brightest half of the world is the sky, and a back turned to it keeps an "
    "insect level. A lamp beside the path takes the place of the sky.",
    "So a moth that passes a lamp tilts, turns, and circles it until it tires or strikes it.",
]
PAGE = f"""<html><head><title> Why moths
 circle </title><style>p {{ color: red }}</style></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop all lamps</a></li></ul></nav>
<article><h1>Why moths circle lamps</h1>
<p>{ARTICLE[0]}</p><p>{ARTICLE[1]}</p><script>var hidden = "never seen";</script>
<p>{ARTICLE[2]}</p>
<table><tr><th>Lamp</th><th>Moths</th></tr><tr><td>warm</td><td>12</td></tr></table>
</article>
<footer><p>Copyright, imprint and all rights reserved.</p></footer></body></html>"""


def texts(page: Page, *, main: bool | None = None) -> list[str]:
    return [page.text[s.start : s.end] for s in page.spans if main in (None, s.is_main)]


def test_the_article_is_main_and_the_rest_is_still_there() -> None:
    page = extract_html(PAGE)
    assert [text for text in texts(page, main=True) if len(text) > 40] == ARTICLE
    assert {"Home", "Shop all lamps"} <= set(texts(page, main=False))
    assert "Copyright, imprint and all rights reserved." in texts(page, main=False)
    assert page.title == "Why moths circle"
    assert "never seen" not in page.text
    assert "color: red" not in page.text


def test_offsets_are_code_points_into_the_whole_text() -> None:
    page = extract_html(PAGE.replace("Moths do", "𝕄oths 🦋 do"))
    assert page.text == "\n\n".join(texts(page))
    assert "𝕄oths 🦋 do not fly" in page.text
    assert all(0 <= a.start < a.end <= b.start for a, b in itertools.pairwise(page.spans))


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h3>Lamps</h3><p>Text</p>", [("Lamps", Kind.HEADING, 3), ("Text", Kind.PARAGRAPH, 0)]),
        ("<p>one <b>bold</b>\n word</p>", [("one bold word", Kind.PARAGRAPH, 0)]),
        ("<p>a<br>b<br/><br>c</p>", [("a\nb\nc", Kind.PARAGRAPH, 0)]),
        ("<ul><li>one<li>two</ul>", [("one", Kind.ITEM, 0), ("two", Kind.ITEM, 0)]),
        ("<pre>\nif x:\n    y\n</pre>", [("if x:\n    y", Kind.CODE, 0)]),
        ("<table><tr><td>a<td>b<tr><td>c", [("a | b", Kind.ROW, 0), ("c", Kind.ROW, 0)]),
        ("<div>loose <p>in</p></div>", [("loose", Kind.PARAGRAPH, 0), ("in", Kind.PARAGRAPH, 0)]),
        ("<blockquote>said</blockquote>", [("said", Kind.QUOTE, 0)]),
        ("<p>&lt;b&gt; &amp; &#x1F98B;</p>", [("<b> & 🦋", Kind.PARAGRAPH, 0)]),
        ("just text", [("just text", Kind.PARAGRAPH, 0)]),
        ("<!-- nothing --><script>x</script>", []),
        ("", []),
    ],
)  # fmt: skip
def test_blocks_are_what_the_markup_sets_apart(html: str, expected: list) -> None:
    _, blocks = page_blocks(html)
    assert [(b.text, b.kind, b.level) for b in blocks] == expected


@given(st.lists(st.text(alphabet="abcdefgh ", min_size=1, max_size=40), max_size=12))
def test_no_visible_word_is_lost_or_doubled(paragraphs: list[str]) -> None:
    page = extract_html("".join(f"<p>{text}</p>" for text in paragraphs))
    assert page.text.split() == " ".join(paragraphs).split()


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("<p>Größe</p>".encode(), None),
        ("<p>Größe</p>".encode(), "no-such-charset"),
        ("<p>Größe</p>".encode("latin-1"), "iso-8859-1"),
        ('<meta charset="iso-8859-1"><p>Größe</p>'.encode("latin-1"), None),
        ('<meta charset="iso-8859-1"><p>Größe</p>'.encode(), "utf-8"),
    ],
)
def test_letters_survive_what_pages_say_of_themselves(body: bytes, charset: str | None) -> None:
    assert extract_html(body, charset=charset).text == "Größe"


def test_text_that_only_a_script_holds_comes_first() -> None:
    article = " ".join(ARTICLE * 3)
    data = json.dumps({"@type": "NewsArticle", "articleBody": article})
    page = extract_html(
        f'<html><body><script type="application/ld+json">{data}</script><p>Menu</p></body></html>'
    )
    assert article in page.main
    assert texts(page, main=False) == ["Menu"]


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 50_000 + "deep" + "</div>" * 50_000,
        "<p>" + "\x00\ud800" + "</p>",
        "<table>" * 2_000 + "x",
        "<p>" + "a" * 1_000_000,
        "<![CDATA[ <p>x</p> ]]>",
        "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><p>&a;</p>",
        "\ufeff<p>mark</p>",
    ],
)
def test_hostile_markup_is_only_text(html: str) -> None:
    page = extract_html(html)
    page.text.encode()
    assert "\x00" not in page.text
    assert "root:" not in page.text


def test_a_page_too_long_to_align_is_matched_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    aligned = texts(extract_html(PAGE), main=True)
    monkeypatch.setattr("corpus.extraction.pages._MAX_PAIRS", 0)
    by_lines = texts(extract_html(PAGE), main=True)
    assert [text for text in by_lines if len(text) > 40] == ARTICLE
    assert set(by_lines) <= set(aligned)


def test_plain_text_is_all_main() -> None:
    page = extract_text(b"one\r\nstill one\r\n\r\n\r\ntwo\n")
    assert texts(page, main=True) == ["one\nstill one", "two"]


def pdf(*lines: str) -> bytes:
    """A PDF of one page, made by hand: pypdf reads, but does not set type."""
    shown = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
    stream = f"BT /F1 12 Tf 72 720 Td {shown}ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"xref\n0 6\n0000000000 65535 f \n{table}trailer << /Size 6 /Root 1 0 R >>\n"
    return (out + f"startxref\n{out.index('xref')}\n%%EOF\n").encode()


def test_a_pdf_gives_its_text() -> None:
    page = extract_pdf(pdf("Moths roll their backs", "toward the lamp."))
    assert page.main.split() == ["Moths", "roll", "their", "backs", "toward", "the", "lamp."]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not a PDF"),
        (b"%PDF-1.4 and then nothing", "not a PDF"),
        (pdf("Moths")[:200], "not a PDF"),
        (pdf(), "holds no text"),
    ],
)
def test_a_pdf_without_text_says_so(body: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        extract_pdf(body)


def run(path: Path, *options: str) -> str:
    out = io.StringIO()
    call_command("extract_text", str(path), *options, stdout=out)
    return out.getvalue()


def test_the_command_prints_text_and_offsets(tmp_path: Path) -> None:
    path = tmp_path / "page.html.gz"
    path.write_bytes(gzip.compress(PAGE.encode()))
    assert all(text in run(path) for text in ARTICLE)
    told = json.loads(run(path, "--json", "--url", "https://example.org/moths"))
    main = [told["text"][b["start"] : b["end"]] for b in told["blocks"] if b["is_main"]]
    assert told["main_text"] == "\n\n".join(main)
    assert told["title"] == "Why moths circle"


def test_the_command_names_the_file_it_cannot_read(tmp_path: Path) -> None:
    broken = tmp_path / "page.html.gz"
    broken.write_bytes(gzip.compress(PAGE.encode())[:-10])
    picture = tmp_path / "scan.pdf"
    picture.write_bytes(b"no pdf")
    for path in (tmp_path / "absent.html", broken, picture):
        with pytest.raises(CommandError, match=path.name):
            run(path)


def test_a_folder_is_a_line_for_each_page(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "page.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    (tmp_path / "a.txt").write_text("Plain words.")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.txt").write_text("Not shown.")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    rows = [json.loads(line) for line in run(tmp_path).splitlines()]
    assert [(row["file"], row["title"]) for row in rows] == [
        ("a.txt", ""),
        ("b/page.html.gz", "Why moths circle"),
    ]
    assert rows[0]["main_text"] == "Plain words."
    assert "2 pages, 0 that could not be read, 1 files that are no pages" in capsys.readouterr().err
    whole = [json.loads(line) for line in run(tmp_path, "--json").splitlines()]
    assert whole[1]["blocks"]
    with pytest.raises(CommandError, match="--url goes with one page"):
        run(tmp_path, "--url", "https://example.org/")


def test_a_page_that_cannot_be_read_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"no pdf")
    (tmp_path / "b.txt").write_text("Words.")
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("extract_text", str(tmp_path), stdout=out, stderr=io.StringIO())
    first, second = map(json.loads, out.getvalue().splitlines())
    assert list(first) == ["file", "error"]
    assert first["error"].startswith(f"{tmp_path / 'a.pdf'}: ")
    assert second["main_text"] == "Words."
    with pytest.raises(SystemExit):
        (tmp_path / "none").mkdir()
        run(tmp_path / "none")
