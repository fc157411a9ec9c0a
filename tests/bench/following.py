"""How often numbered texts are taken for a page, by the least share of places where one goes on.

python -m tests.bench following (../shared/data; a few seconds): pages are real texts cut in pieces,
no pages are pieces drawn from different ones. No clock: shares.
"""

import json
import random
import re
from collections.abc import Iterable
from itertools import pairwise

from corpus.marcus import following
from tests.corpus.real_texts import need, noisy_texts, web_pages

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
Texts = list[str]
# Pieces of about so many characters or words, as corpora have them.
_CHARACTERS, _WORDS, _PARAGRAPH, _DRAWS = 1_000, 120, 600, 2_000


def main() -> None:
    """Print the table of docs/measurements.md."""
    sources = {"articles": _articles(), "text dumps": _dumps(), "BRIGHT": _long(noisy_texts())}
    cuts = {"characters": _by_characters, "words": _by_words, "paragraphs": _by_paragraphs}
    print("pages", *SHARES)
    for source, texts in sources.items():
        for how, cut in cuts.items():
            _report(f"{source}, by {how}", map(cut, texts))
    chance = random.Random(3)
    print("no pages", *SHARES)
    for source, texts in sources.items():
        pieces = [piece for text in texts for piece in _by_paragraphs(text)]
        for count in (2, 4, 8):
            drawn = (chance.sample(pieces, count) for _ in range(_DRAWS))
            _report(f"{count} paragraphs of different {source}", drawn)


def _report(name: str, groups: Iterable[Texts]) -> None:
    counted = [places for group in groups if (places := _places(group))[2]]
    if not counted:
        return
    going_on, _, whole = map(sum, zip(*counted, strict=True))
    taken = [sum(following.is_shown(*places, least) for places in counted) for least in SHARES]
    shares = [f"{each / len(counted):.2f}" for each in taken]
    print(f"{name} ({len(counted)}): goes on in {going_on / whole:.2f};", *shares)


def _places(pieces: Texts) -> tuple[int, int, int]:
    found = [following.goes_on(one, other) for one, other in pairwise(pieces)]
    return found.count(True), found.count(False), len(found)


def _articles() -> Texts:
    folder = need("web-cleaning-dev") / "article-extraction"
    truth = json.loads((folder / "ground-truth.json").read_text())
    return _long(each.get("articleBody", "") for each in truth.values())


def _dumps() -> Texts:
    bare = (
        re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", "", page, flags=re.DOTALL)
        for page in web_pages()
    )
    return _long(re.sub(r"\n\s*\n+", "\n\n", text)[:60_000] for text in bare)


def _long(texts: Iterable[str]) -> Texts:
    return [text for text in texts if len(text) > 3 * _CHARACTERS]


def _by_characters(text: str) -> Texts:
    return [text[at : at + _CHARACTERS] for at in range(0, len(text), _CHARACTERS)]


def _by_words(text: str) -> Texts:
    words = text.split()
    return [" ".join(words[at : at + _WORDS]) for at in range(0, len(words), _WORDS)]


def _by_paragraphs(text: str) -> Texts:
    pieces = [""]
    for line in filter(str.strip, text.split("\n")):
        if pieces[-1] and len(pieces[-1]) + len(line) > _PARAGRAPH:
            pieces.append("")
        pieces[-1] += f"\n{line}" if pieces[-1] else line
    return pieces


if __name__ == "__main__":
    main()
