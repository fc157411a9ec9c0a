"""The test kit of retrievers: what Assay relies on, for the author of one to run.

    @pytest.mark.parametrize("check", CHECKS)
    def test_mine(check, tmp_path):
        check(Mine, tmp_path)

`Mine` is the class, or whatever makes a retriever in a folder. A check that fails raises
AssertionError, or Misbehaved, with what was wrong.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from corpus.retrieval.protocol import Retriever, checked

Make = Callable[[Path], Retriever]
TEXTS: Final = (
    "Mulch keeps the soil moist and cool.",
    "Trees give shade: oaks, beeches, limes.",
    "Moths circle lamps at night.",
    "A gripper holds an egg softly.",
    "Wind dries washing on the line.",
)
# Text from the web: marks alone, one word for pages on end, other scripts, what breaks lines.
_ODD: Final = (
    *TEXTS,
    "?!",
    "mulch " * 5_000,
    "\u571f\u58e4 \u0633\u0645\u0627\u062f",
    "a\x00b\u2028c\r\n" * 9,
)
_QUERIES: Final = (*TEXTS, "moths mulch", "xylophone", "?!", "", "shade " * 2_000)
# A retriever with an index, and how many texts are in it.
_Made = tuple[Retriever, int]
_Lists = list[tuple[list[int], list[float]]]


def finds_a_text_by_its_own_words(make: Make, folder: Path) -> None:
    """Asked in its own words, a text stands first."""
    found = _searched(_indexed(make, folder, TEXTS), TEXTS, 3)
    first = [numbers[:1] for numbers, _ in found]
    assert first == [[n] for n in range(len(TEXTS))], f"first for each text's own words: {first}"


def keeps_its_index_in_its_folder(make: Make, folder: Path) -> None:
    """What is searched lies in the folder, which is moved into its place when it is whole."""
    before = _searched(_indexed(make, folder / "a", TEXTS), _QUERIES, 3)
    _indexed(make, folder / "b", tuple(reversed(TEXTS)))
    (folder / "a").rename(folder / "moved")
    after = _searched((make(folder / "moved"), len(TEXTS)), _QUERIES, 3)
    assert after == before, "it changed with its folder"


def keeps_two_indexes_apart(make: Make, folder: Path) -> None:
    """Two that are open at once know nothing of one another."""
    one = _indexed(make, folder / "a", TEXTS)
    other = _indexed(make, folder / "b", TEXTS[2:])
    assert [_searched(each, TEXTS[2:3], 1)[0][0] for each in (one, other)] == [[2], [0]]


def gives_the_same_again(make: Make, folder: Path) -> None:
    """Twice asked, alone or among others, in another order: the same list."""
    made = _indexed(make, folder, TEXTS)
    lists = _searched(made, _QUERIES, 4)
    assert _searched(made, _QUERIES, 4) == lists, "the same queries have other lists"
    alone = [_searched(made, [query], 4)[0] for query in _QUERIES]
    assert _alike(alone, lists), "a query has another list when it is asked alone"
    turned = _searched(made, _QUERIES[::-1], 4)[::-1]
    assert _alike(turned, lists), "lists depend on the order of the queries"


def keeps_to_k(make: Make, folder: Path) -> None:
    """At most k, and the shorter list is the beginning of the longer, as far as scores tell."""
    made = _indexed(make, folder, TEXTS)
    longest = _searched(made, _QUERIES, len(TEXTS))
    for k in (1, 2, len(TEXTS) - 1):
        best = [(numbers[:k], scores[:k]) for numbers, scores in longest]
        assert _alike(_searched(made, _QUERIES, k), best), f"the best {k} are not the first of all"


def takes_what_the_web_holds(make: Make, folder: Path) -> None:
    """Texts and queries of any script, length and control characters."""
    found = _searched(_indexed(make, folder, _ODD), [*_ODD, *_QUERIES], len(_ODD))
    assert len(found) == len(_ODD) + len(_QUERIES)


def takes_few_texts_and_no_query(make: Make, folder: Path) -> None:
    """A corpus of one text, of equal ones, and nobody who asks."""
    for name, texts in {"one": TEXTS[:1], "same": TEXTS[:1] * 3}.items():
        made = _indexed(make, folder / name, texts)
        assert _searched(made, [], 1) == []
        assert _searched(made, TEXTS[:1], len(texts))[0][0], "a text is not found"


CHECKS: Final[tuple[Callable[[Make, Path], None], ...]] = (
    finds_a_text_by_its_own_words,
    keeps_its_index_in_its_folder,
    keeps_two_indexes_apart,
    gives_the_same_again,
    keeps_to_k,
    takes_what_the_web_holds,
    takes_few_texts_and_no_query,
)


def _indexed(make: Make, folder: Path, texts: Sequence[str]) -> _Made:
    """Indexed by one and searched by another, as it may be in two processes."""
    folder.mkdir(exist_ok=True)
    make(folder).index(iter(texts))
    return make(folder), len(texts)


def _searched(made: _Made, queries: Sequence[str], k: int) -> _Lists:
    retriever, size = made
    k, order = min(k, size), np.arange(size)
    found = checked(retriever.search(queries, k, order), queries, k, order)
    return [(numbers.tolist(), scores.tolist()) for numbers, scores in found]


def _alike(one: _Lists, other: _Lists) -> bool:
    """The same scores, but for the last digits: products of matrices have them by their sizes."""
    return all(
        len(mine) == len(theirs) and np.allclose(mine, theirs, rtol=1e-4, atol=1e-6)
        for (_, mine), (_, theirs) in zip(one, other, strict=True)
    )
