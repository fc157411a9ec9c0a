"""Main text of pages: how well it is found, beside the bare trafilatura, in one run.

Shingles of four words, counted per page and normalised so that long pages weigh no more than short
ones; precision and recall are means over pages, F1 is theirs (article-extraction-benchmark's
measure). The other pages have other kinds of truth and are told apart.
"""

import gzip
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import trafilatura
from lxml import etree, html

from corpus.chunking.rules import clean
from corpus.extraction import extract_html
from corpus.marcus.checking import Notes, check_gold
from corpus.marcus.regions import Spans
from corpus.marcus.verify import MIN_RECALL, verify
from kit.boilerplate import edge_menus
from llm.practice.rules import fast_clean, safe_clean

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "web-cleaning-dev"
_WORD = re.compile(r"\w+")


def main() -> None:
    """Print one line per reader and set of pages."""
    if not DATA.is_dir():
        print("no pages here: ../shared/data/web-cleaning-dev is absent")
        return
    readers: dict[str, Callable[[bytes], str]] = {
        "assay": lambda body: extract_html(body).main,
        "trafilatura": lambda body: trafilatura.extract(body, include_comments=False) or "",
    }
    print(f"{'':12} {'precision':>9} {'recall':>7} {'F1':>7}   seconds")
    for name, read in readers.items():
        begun = time.perf_counter()
        precision, recall, f1 = articles(read)
        seconds = time.perf_counter() - begun
        print(f"{name:12} {precision:9.4f} {recall:7.4f} {f1:7.4f}   {seconds:.1f}")
    cleaned: dict[str, Callable[[bytes], str]] = {
        "text dump": dumped,
        "its rules": lambda body: clean(dumped(body)),
        "its gold": lambda body: clean(dumped(body), is_gold=True),
        "practice": lambda body: fast_clean(dumped(body)),
        "p. gold": lambda body: safe_clean(dumped(body)),
        "source": lambda body: clean(body.decode(errors="replace")),
    }
    for name, read in cleaned.items():
        precision, recall, f1 = articles(read)
        print(f"{name:12} {precision:9.4f} {recall:7.4f} {f1:7.4f}")
    noise, left, lost, asked, pages = gold()
    print(
        f"safe clean   answers with the articles of {pages} dumped pages: {left:,} of {noise:,} "
        f"other words stay, {asked} questions; {lost} article words could go without one"
    )
    for name, read in (readers | cleaned).items():
        kept, dropped = segments(read)
        print(
            f"{name:12} of 40 pages: {kept:.1%} of wanted snippets kept, {dropped:.1%} of junk out"
        )
    for name, read in readers.items():
        print(f"{name:12} of 6 pages by their expected text: F1 {readability(read):.4f}")


def articles(read: Callable[[bytes], str]) -> tuple[float, float, float]:
    """Precision, recall and F1 on the 61 article pages."""
    folder = DATA / "article-extraction"
    truth = json.loads((folder / "ground-truth.json").read_text())
    return score(
        (row["articleBody"], read(_unpacked(folder / "html" / f"{key}.html.gz")))
        for key, row in truth.items()
    )


def gold() -> tuple[int, int, int, int, int]:
    """What becomes of SafeClean's answers where they are the article of a dumped page and no more.

    Words outside of articles, those of them that are put back, article words that any answer could
    leave out unseen, questions where people are asked, and pages.
    """
    folder = DATA / "article-extraction"
    truth = json.loads((folder / "ground-truth.json").read_text())
    noise = left = lost = asked = 0
    for key, row in truth.items():
        page = dumped(_unpacked(folder / "html" / f"{key}.html.gz"))
        lines = _lines_of_article(row["articleBody"], page)
        source = "\n".join(line for line, _ in lines)
        answer = "\n".join(line for line, is_article in lines if is_article)
        menus = edge_menus(source)
        notes, verdict = Notes(), verify(source, answer, menus=menus)
        cut = check_gold(
            source, answer, verdict, where=("", 0, 0), policy="repair", decided={}, notes=notes,
            menus=menus, least=MIN_RECALL,
        )  # fmt: skip
        assert cut is not None
        noise += _size(source) - _size(answer)
        left += _size(" ".join(cut.texts)) - _size(answer)
        asked += sum(each["is_violation"] for each in notes.findings.values())
        spans, at = Spans(menus), 0
        for line, is_article in lines:
            lost += _size(line) if is_article and spans.holds(at) else 0
            at += len(line) + 1
    return noise, left, lost, asked, len(truth)


def _lines_of_article(article: str, text: str) -> list[tuple[str, bool]]:
    """The lines of a page with whether they are the article's: they stand in it, or most of them.

    A short one only where the article is: `Share` stands in many a text.
    """
    words = _WORD.findall(article)
    joined, runs = f" {' '.join(words)} ", set(shingles(article))
    rows = []
    for line in text.split("\n"):
        own = _WORD.findall(line)
        shared = [run in runs for run in shingles(line)] if len(own) >= 4 else []
        is_there = f" {' '.join(own)} " in joined or (shared and statistics.mean(shared) > 0.5)
        if own:
            rows.append((line, len(own), bool(is_there)))
    long = [place for place, (_, size, is_there) in enumerate(rows) if is_there and size >= 8]
    low, high = (long[0] - 3, long[-1] + 3) if long else (0, -1)
    return [
        (line, is_there and (size >= 8 or low <= place <= high))
        for place, (line, size, is_there) in enumerate(rows)
    ]


def _size(text: str) -> int:
    return len(_WORD.findall(text))


def segments(read: Callable[[bytes], str]) -> tuple[float, float]:
    """Share of snippets that belong to the text and are in it, and of others that are not."""
    folder = DATA / "trafilatura-eval"
    kept: list[bool] = []
    dropped: list[bool] = []
    for name, row in json.loads((folder / "segments.json").read_text()).items():
        text = _squeezed(read(_unpacked(folder / "html" / name)))
        kept += [_squeezed(snippet) in text for snippet in row["with"]]
        dropped += [_squeezed(snippet) not in text for snippet in row["without"]]
    return statistics.mean(kept), statistics.mean(dropped)


def readability(read: Callable[[bytes], str]) -> float:
    """F1 against the text of the expected pages, all their visible blocks."""
    pairs = []
    for folder in sorted(path for path in (DATA / "readability").iterdir() if path.is_dir()):
        expected = extract_html(_unpacked(folder / "expected.html.gz")).text
        pairs.append((expected, read(_unpacked(folder / "source.html.gz"))))
    return score(pairs)[2]


def score(pairs: Iterable[tuple[str, str]]) -> tuple[float, float, float]:
    """Mean precision, mean recall and their F1 over (true text, found text)."""
    precisions, recalls = [], []
    for true, found in pairs:
        wanted, got = shingles(true), shingles(found)
        both = (wanted & got).total()
        precisions.append(both / got.total() if got else float(not wanted))
        recalls.append(both / wanted.total() if wanted else 1.0)
    precision, recall = statistics.mean(precisions), statistics.mean(recalls)
    return precision, recall, 2 * precision * recall / ((precision + recall) or 1)


def shingles(text: str, size: int = 4) -> Counter[tuple[str, ...]]:
    """Runs of so many words, with how often each stands there; a shorter text is one run."""
    words = _WORD.findall(text)
    if not words:
        return Counter()
    count = max(1, len(words) - size + 1)
    return Counter(tuple(words[at : at + size]) for at in range(count))


_HIDDEN = {"script", "style", "noscript", "template", "head", "svg", "iframe"}
_BLOCKS = {
    *("p", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "br", "hr"),
    *("section", "article", "main", "body", "header", "footer", "nav", "aside", "form", "dl", "dt"),
    *("dd", "blockquote", "pre", "figure", "figcaption", "td", "th", "address", "fieldset"),
    *("select", "option", "button", "label", "details", "summary"),
}


def dumped(body: bytes) -> str:
    """A page as crawlers store it: all visible text, a line for each block."""
    parts: list[str] = []
    page = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))
    walk = etree.iterwalk(page, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        parts.append("\n" if element.tag in _BLOCKS else "")
        words = element.tail
        if event == "start":
            words = "" if element.tag in _HIDDEN else element.text
            if element.tag in _HIDDEN:
                walk.skip_subtree()
        parts.append(re.sub(r"\s+", " ", words or ""))
    lines = (line.strip() for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _squeezed(text: str) -> str:
    return " ".join(text.split())
