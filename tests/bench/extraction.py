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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import trafilatura
from lxml import etree, html
from rapidfuzz.distance import LCSseq

from corpus.chunking.markup import blanked, markup
from corpus.chunking.rules import clean, without_source
from corpus.extraction import extract_html
from corpus.marcus.checking import leads_of, too_small
from corpus.marcus.regions import (
    Spans,
    boilerplate_spans,
    menu_spans,
    page_lines,
    recurring_lines,
)
from corpus.marcus.settings import ASK_FROM
from corpus.marcus.verify import verify
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
        "p. source": lambda body: fast_clean(without_source(body.decode(errors="replace"))),
    }
    for name, read in cleaned.items():
        precision, recall, f1 = articles(read)
        print(f"{name:12} {precision:9.4f} {recall:7.4f} {f1:7.4f}")
    shown: dict[str, Callable[[bytes], str]] = {
        "text dump": dumped,
        "source": lambda body: body.decode(errors="replace"),
    }
    for name, show in shown.items():
        noise, left, lost, asked, pages = gold(show)
        print(
            f"safe clean   answers with the articles of {pages} pages as {name}: {left:,} of "
            f"{noise:,} other words stay, {asked} questions; {lost} article words could go unseen"
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


class Gold(NamedTuple):
    """What becomes of SafeClean's answers where they are the article of a page and nothing else.

    Words outside of articles, those of them that are put back or put to people, article words that
    any answer could leave out unseen, questions where people are asked (the same words once), and
    pages.
    """

    noise: int
    left: int
    lost: int
    asked: int
    pages: int


def gold(shown: Callable[[bytes], str]) -> Gold:
    """The same for the 61 article pages, each as it is `shown` to the agent; of 11 sites there are
    two."""
    folder = DATA / "article-extraction"
    truth = json.loads((folder / "ground-truth.json").read_text())
    noise = left = lost = 0
    asked: list[str] = []
    pages = {key: shown(_unpacked(folder / "html" / f"{key}.html.gz")) for key in truth}
    sites: dict[str, list[str]] = {}
    for key, row in truth.items():
        sites.setdefault(urlsplit(row["url"]).netloc, []).append(pages[key])
    for key, row in truth.items():
        source = pages[key]
        recurring = recurring_lines(sites[urlsplit(row["url"]).netloc])
        lines = page_lines(source)
        marks = _in_article(row["articleBody"], [line for line, *_ in lines])
        own = [line for (line, *_), is_article in zip(lines, marks, strict=True) if is_article]
        answer, menus = "\n".join(own), menu_spans(source, recurring=recurring)
        verdict = verify(source, answer, menus=menus)
        noise += _size("\n".join(line for line, *_ in lines)) - _size(answer)
        bare = blanked(source, markup(source))
        left += sum(_size(bare[piece.start : piece.end]) for piece in verdict.violations)
        leads = leads_of(verdict)
        ends = {lead: verdict.pieces[number].end for number, lead in sorted(leads.items())}
        small = too_small(source, verdict, leads, ASK_FROM)
        asked += [
            source[verdict.pieces[n].start : end] for n, end in ends.items() if n not in small
        ]
        may_go = Spans([*menus, *boilerplate_spans(source).spans])
        for (line, _, (start, _)), is_article in zip(lines, marks, strict=True):
            lost += _size(line) if is_article and may_go.holds(start) else 0
    return Gold(noise, left, lost, len(set(asked)), len(truth))


def _in_article(article: str, lines: Sequence[str]) -> list[bool]:
    """For each line of a page whether it is the article's: most of its words stand there, in order.

    A short one only where the article is: `Share` stands in many a text.
    """
    own = [_WORD.findall(line) for line in lines]
    words = [word for each in own for word in each]
    is_there = [False] * len(words)
    for step in LCSseq.opcodes(words, _WORD.findall(article)):
        if step.tag == "equal":
            is_there[step.src_start : step.src_end] = [True] * (step.src_end - step.src_start)
    found, at = [], 0
    for each in own:
        found.append(sum(is_there[at : at + len(each)]) > 0.5 * len(each))
        at += len(each)
    sizes = [len(each) for each in own]
    long = [place for place, is_own in enumerate(found) if is_own and sizes[place] >= 8]
    low, high = (long[0] - 3, long[-1] + 3) if long else (0, -1)
    return [
        is_own and (sizes[place] >= 8 or low <= place <= high) for place, is_own in enumerate(found)
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
