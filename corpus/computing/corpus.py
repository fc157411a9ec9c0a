"""What is ranked: the passages of a domain with their hash, and indexes kept under that hash."""

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q

from corpus.models import CorpusVersion, Crosswalk, Domain, Judgment, Passage
from corpus.retrieval.toplist import order_of
from corpus.texts.models import PassageQuerySet
from kit import storage
from kit.errors import Refused

_CHUNK = 2_000
# Progress is reported after so many passages; the lease has a heartbeat of its own.
_EVERY = 2_000
Step = Callable[[int], None]


@dataclass(frozen=True)
class Corpus:
    """A domain's passages with text as they were read once: ids in order, hash over all of it."""

    passages: PassageQuerySet
    pids: list[str]
    digest: str

    def texts(self) -> Iterator[str]:
        """What is searched, in the order of the ids: the title, if there is one, and the text.

        Raises Refused where the corpus has changed since.
        """
        count = -1
        for count, (pid, text) in enumerate(_rows(self.passages)):
            if count >= len(self.pids) or pid != self.pids[count]:
                raise Refused(CHANGED)
            yield text
        if count + 1 != len(self.pids):
            raise Refused(CHANGED)

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """For each passage the place of its id in ascending order: the rule for ties."""
        return order_of(self.pids)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Where each id stands."""
        return {pid: number for number, pid in enumerate(self.pids)}


@dataclass(frozen=True)
class Documents:
    """The documents that a corpus's passages are chunks of: their ids, each chunk's, and the most
    chunks that one of them has."""

    pids: list[str]
    owner: npt.NDArray[np.int64]
    most: int

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """For each document the place of its id in ascending order."""
        return order_of(self.pids)


def documents_of(version: CorpusVersion, domain: Domain, corpus: Corpus) -> Documents:
    """What the chunks of a version were cut from; a passage that was not cut is its own document.

    By the crosswalk and not by the form of the ids, which a loaded id may have by chance.
    """
    rows = Crosswalk.objects.filter(version=version, new__domain=domain).order_by()
    cut = rows.exclude(old__pid=F("new__pid")).values_list("new__pid", "old__pid")
    names = dict(cut.iterator(chunk_size=_CHUNK))
    numbers: dict[str, int] = {}
    owner = np.fromiter(
        (numbers.setdefault(names.get(pid, pid), len(numbers)) for pid in corpus.pids),
        np.int64,
        len(corpus.pids),
    )
    most = int(np.bincount(owner).max()) if len(owner) else 1
    return Documents(list(numbers), owner, most)


CHANGED = "The corpus changed while it was being ranked. Start again."


def read_corpus(version: CorpusVersion, domain: Domain, *, step: Step) -> Corpus:
    """Read a domain's passages once: those of the version, and gold that was collected.

    The same passages that a release holds as documents; blank ones are left out.
    """
    collected = CorpusVersion.objects.growing(version.benchmark)
    inside = Q(version_id__in=version.layers)
    if collected is not None:
        gold = Judgment.objects.standing().filter(passage=OuterRef("pk"), label__gt=0)
        inside |= Q(Exists(gold), version=collected)
    rows = Passage.objects.with_text().filter(inside, domain=domain).order_by("pk")
    digest, pids = hashlib.blake2b(digest_size=20), []
    for pid, text in _rows(rows):
        pids.append(pid)
        digest.update(json.dumps([pid, text]).encode())
        if len(pids) % _EVERY == 0:
            step(len(pids))
    step(len(pids))
    return Corpus(rows, pids, digest.hexdigest())


def kept_index(
    corpus: Corpus, recipe: dict[str, Any], build: Callable[[Path], None]
) -> tuple[Path, bool]:
    """The folder of an index made by this recipe from this corpus, and whether it was there.

    Built in another folder and put in place whole, so that a folder that is there is complete.
    """
    made_by = hashlib.blake2b(json.dumps(recipe, sort_keys=True).encode(), digest_size=8)
    folder = Path(settings.INDEXES) / f"{recipe['method']}-{made_by.hexdigest()}-{corpus.digest}"
    storage.fetch_copy(folder)
    if folder.is_dir():
        return folder, True
    place = folder.with_name(f".{uuid.uuid4().hex}")
    place.mkdir(parents=True)
    try:
        build(place)
        try:
            place.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another worker was quicker, with the same
                raise
        storage.keep_copy(folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return folder, False


def _rows(passages: PassageQuerySet) -> Iterator[tuple[str, str]]:
    found = passages.values_list("pid", "title", "text").iterator(chunk_size=_CHUNK)
    for pid, title, text in found:
        whole = f"{title}\n{text}" if title else text or ""
        if whole.strip():
            yield pid, whole
