"""Vectors of documents and queries: exact search by cosine, and those of LSA."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from corpus.retrieval.analysis import Counts, Terms, count
from corpus.retrieval.protocol import Default, Order, Scored
from corpus.retrieval.toplist import best

# Numbers that are held at once while documents are compared with queries.
_AT_ONCE: Final = 16_000_000
# Queries that are compared at once: the more, the nearer to the bare product.
QUERIES: Final = 1024
# Documents that are kept of a query before the best are looked for, in multiples of k.
_POOL: Final = 2
# Blocks of scores for each of the best, where the first bar is looked for.
_BLOCKS: Final = 3
# Below every score, and above that of a document that is left out.
_NOTHING: Final = np.finfo(np.float32).min
# LSA: dimensions, and the terms that are looked at: those that most documents hold.
MAX_TERMS: Final = 100_000
_FILE: Final = "vectors.npy"
Vectors = npt.NDArray[np.float32]


class VectorWriter:
    """Takes the vectors of `size` documents group by group into one file, each of length 1."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._size, self._at = folder, size, 0
        self._kept: Any = None

    def add(self, vectors: Vectors) -> None:
        """The next documents' vectors; raises ValueError where their width changes."""
        if self._kept is None:
            shape = (self._size, vectors.shape[1])
            path = self._folder / _FILE
            self._kept = np.lib.format.open_memmap(path, "w+", np.float32, shape)
        if vectors.shape[1] != self._kept.shape[1]:
            raise ValueError(f"{vectors.shape[1]} dimensions after {self._kept.shape[1]}.")
        self._kept[self._at : self._at + len(vectors)] = unit(vectors)
        self._at += len(vectors)

    def close(self) -> None:
        """Everything was given: put it on the disk."""
        if self._kept is None:
            np.save(self._folder / _FILE, np.zeros((self._size, 1), np.float32))
        else:
            self._kept.flush()


def load_vectors(folder: Path) -> Vectors:
    """The documents' vectors, read where they are needed."""
    found: Vectors = np.load(folder / _FILE, mmap_mode="r")
    return found


def unit(vectors: Vectors) -> Vectors:
    """Each row divided by its length; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def search(
    documents: Vectors,
    queries: Vectors,
    k: int,
    order: Order,
) -> list[Scored]:
    """For each query the k documents of the highest cosine, by comparing with every one.

    The documents are read in parts, once for every QUERIES queries; of each part is kept what
    reaches the k best so far, so that memory is the same however many documents there are.
    """
    queries = unit(queries)
    found: list[Scored] = []
    for start in range(0, len(queries), QUERIES):
        found += _nearest(documents, queries[start : start + QUERIES], k, order)
    return found


def _nearest(
    documents: Vectors,
    queries: Vectors,
    k: int,
    order: Order,
) -> list[Scored]:
    bars = np.full((len(queries), 1), _NOTHING, np.float32)
    kept: list[list[Scored]] = [[] for _ in queries]
    sizes = np.zeros(len(queries), np.int64)
    step = max(1, _AT_ONCE // max(len(queries), documents.shape[1]))
    # Written over again and again: new memory for every part takes as long as looking through it.
    room = np.empty(len(queries) * min(step, len(documents)), np.float32)
    marks = np.empty(len(room), np.bool_)
    for start in range(0, len(documents), step):
        part = documents[start : start + step]
        width = len(part)
        scores = room[: len(queries) * width].reshape(len(queries), width)
        np.matmul(queries, part.T, out=scores)
        if start == 0:
            bars = np.fmax(bars, _first_bars(scores, k))
        reached = marks[: scores.size].reshape(scores.shape)
        flat = np.flatnonzero(np.greater_equal(scores, bars, out=reached))
        values = scores.ravel()[flat]
        ends = np.searchsorted(flat, np.arange(len(queries) + 1) * width)
        sizes += np.diff(ends)
        for row in np.flatnonzero(np.diff(ends)).tolist():
            own = slice(ends[row], ends[row + 1])
            kept[row].append((flat[own] - row * width + start, values[own]))
            if sizes[row] > _POOL * k:
                bars[row], kept[row] = _raised(kept[row], k, order)
                sizes[row] = len(kept[row][0][0])
    return [_pruned(each, k, order) for each in kept]


def _first_bars(scores: Vectors, k: int) -> Vectors:
    """What k scores of each row reach, for little more than one look: so many blocks have a
    highest that does."""
    size = scores.shape[1] // (_BLOCKS * k)
    if size > 1:
        blocks = scores[:, : scores.shape[1] // size * size]
        scores = blocks.reshape(len(scores), size, -1).max(axis=1)
    width = scores.shape[1]
    if width <= k:
        return np.full((len(scores), 1), _NOTHING, np.float32)
    return np.partition(scores, width - k, axis=1)[:, [width - k]]


def _raised(kept: Sequence[Scored], k: int, order: Order) -> tuple[np.float32, list[Scored]]:
    """The bar that the k best so far set, and what reaches it; the k best where many tie."""
    numbers, values = (np.concatenate(each) for each in zip(*kept, strict=True))
    bar = np.partition(values, len(values) - k)[len(values) - k]
    places = np.flatnonzero(values >= bar)
    if len(places) > _POOL * k:
        return bar, [_pruned(kept, k, order)]
    return bar, [(numbers[places], values[places])]


def _pruned(kept: Sequence[Scored], k: int, order: Order) -> Scored:
    """The k best of what was kept, equal ones by their ids."""
    if not kept:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    numbers, values = (np.concatenate(each) for each in zip(*kept, strict=True))
    places, scores = best(values, k, order[numbers])
    return numbers[places], scores


def build_lsa(counts: Counts, folder: Path, *, dimensions: int) -> None:
    """Write the vectors of latent semantic analysis (Deerwester et al. 1990) over TF-IDF.

    A truncated singular value decomposition from a fixed seed; the terms are cut to the most
    common, so that memory stays bounded.
    """
    # Every process that looks at the forms would take seconds to import them.
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    holding = np.bincount(counts.matrix.indices, minlength=counts.matrix.shape[1])
    kept = np.argsort(-holding, kind="stable")[:MAX_TERMS]
    kept.sort()
    transformer = TfidfTransformer(sublinear_tf=True)
    matrix = transformer.fit_transform(counts.matrix[:, kept])
    writer = VectorWriter(folder, matrix.shape[0])
    most = min(dimensions, min(matrix.shape) - 1)
    if most >= 1:
        svd = TruncatedSVD(most, random_state=0)
        # Equal documents have no variance to explain; the ratio is not used.
        with np.errstate(invalid="ignore", divide="ignore"):
            writer.add(svd.fit_transform(matrix).astype(np.float32))
        components = svd.components_.astype(np.float32)
    else:  # one document or one term: nothing to decompose
        writer.add(matrix.toarray().astype(np.float32))
        components = np.eye(matrix.shape[1], dtype=np.float32)
    writer.close()
    np.save(folder / "components.npy", components)
    np.save(folder / "idf.npy", transformer.idf_.astype(np.float32))
    (folder / "terms.txt").write_text(
        "\n".join(counts.terms[i] for i in kept.tolist()), encoding="utf-8"
    )


def lsa_queries(folder: Path, texts: Iterable[str]) -> Vectors:
    """The vectors of queries in the space of a folder that `build_lsa` wrote."""
    lines = (folder / "terms.txt").read_text(encoding="utf-8")
    terms = Terms(lines.split("\n") if lines else (), frozen=True)
    idf = np.load(folder / "idf.npy")
    components = np.load(folder / "components.npy", mmap_mode="r")
    rows = [_projected(terms.of(text), idf, components) for text in texts]
    return np.array(rows, np.float32).reshape(len(rows), components.shape[0])


class LSA:
    """TF-IDF folded into a few dimensions, so that words of one context come close."""

    title: Final = "LSA"
    version: Final = "english-porter-1 1"
    settings: Final[Mapping[str, Default]] = {"dimensions": (128, 1, 1024)}

    def __init__(self, folder: Path, *, dimensions: int = 128) -> None:
        self._folder, self._dimensions = folder, dimensions

    def index(self, texts: Iterable[str]) -> None:
        """Write the vectors; raises NoWords."""
        build_lsa(count(texts), self._folder, dimensions=self._dimensions)

    def search(self, queries: Sequence[str], k: int, order: Order) -> Iterator[Scored]:
        """The k nearest documents of each query."""
        found = lsa_queries(self._folder, queries)
        yield from search(load_vectors(self._folder), found, k, order)


def _projected(numbers: npt.NDArray[np.int32], idf: Vectors, components: Vectors) -> Vectors:
    terms, times = np.unique(numbers, return_counts=True)
    weights = ((1.0 + np.log(times)) * idf[terms]).astype(np.float32)
    length = float(np.linalg.norm(weights)) or 1.0
    return np.asarray(components[:, terms] @ (weights / length), np.float32)
