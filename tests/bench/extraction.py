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

from corpus.extraction import extract_html

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
    for name, read in readers.items():
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


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _squeezed(text: str) -> str:
    return " ".join(text.split())
