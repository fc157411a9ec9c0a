"""Pages that experts collect: kept as they came, read as text, found again (docs/protocol.md 3.1).

The verbs here ask for no right; annotate/workspace/collecting.py does, and calls them.
"""

import gzip
import hashlib
import itertools
import re
import uuid
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from yarl import URL

from corpus.extraction import Page
from corpus.models import (
    Benchmark,
    CollectedPage,
    CorpusVersion,
    Document,
    PageFetch,
    Query,
    VersionState,
)
from corpus.pages.reading import spans_of
from corpus.quotas.services import check_room
from kit import audit, storage
from kit.errors import Refused
from kit.runs.models import OVER

# Share of MinHash values that two texts have in common, about the Jaccard index of their
# five-word shingles, from which on one is shown as perhaps the other.
ALIKE: Final = 0.7
_PERMUTATIONS: Final = 64
_SHINGLE: Final = 5
# Words of a page that its signature is made of: the first so many tell it from others.
_SIGNED_WORDS: Final = 100_000
_FETCHED: Final = CollectedPage.Origin.FETCHED
_WORD: Final = re.compile(r"\w+")
# What a shared link carries beside the page's address.
_TRACKING: Final = re.compile(r"(utm_\w+|fbclid|gclid|mc_[ce]id)", re.ASCII)


def keep_page(
    *,
    query: Query,
    body: bytes,
    page: Page,
    content_type: str,
    origin: CollectedPage.Origin,
    actor: User | None,
    url: str = "",
    title: str = "",
) -> CollectedPage:
    """Store a page with its text; bytes that are here already are the page that is here.

    `page` is what was read of `body`. Raises Refused for a page without text, and beyond the
    benchmark's quota.
    """
    if not page.text.strip():
        raise Refused("No text was found on this page. Paste the text instead.")
    digest = write_raw(body)
    signature = _signature(page.main or page.text)
    benchmark = query.domain.benchmark
    try:
        with transaction.atomic():
            return page_of_bytes(benchmark, digest) or _add_page(
                query=query,
                page=page,
                url=url,
                title=title,
                actor=actor,
                origin=origin,
                content_type=content_type,
                sha256=digest,
                size=len(body),
                signature=signature,
            )
    except IntegrityError:  # somebody else brought the same bytes at the same moment
        return CollectedPage.objects.get(benchmark=benchmark, sha256=digest)


def _add_page(
    *, query: Query, page: Page, url: str, title: str, actor: User | None, **fields: Any
) -> CollectedPage:
    benchmark = query.domain.benchmark
    check_room(benchmark, fields["size"], is_taking=True)
    document = Document.objects.create(
        version=None,
        domain=query.domain,
        doc_id=f"collected/{fields['sha256'][:16]}",
        title=(title or page.title)[:1000],
        source_url=url[:2000],
        # What was pasted or uploaded was fetched on a day that nobody told.
        fetched_on=timezone.now().date() if fields["origin"] == _FETCHED else None,
        text=page.text,
    )
    kept = CollectedPage.objects.create(
        benchmark=benchmark,
        document=document,
        url_key=url_key(url),
        spans=spans_of(page),
        created_by=actor,
        **fields,
    )
    data = {"query": query.pk, "url": url, "sha256": kept.sha256}
    audit.record(actor=actor, verb="collect page", target=kept, scope=benchmark.slug, data=data)
    return kept


def url_key(url: str) -> str:
    """The address without what does not choose the page: fragment, tracking, case of the host.

    "" for what is no address.
    """
    try:
        parsed = URL(url.strip())
    except ValueError:
        return ""
    if not parsed.host:
        return ""
    kept = [(key, value) for key, value in parsed.query.items() if not _TRACKING.fullmatch(key)]
    host = parsed.host.lower().removeprefix("www.")
    port = "" if parsed.is_default_port() else f":{parsed.port}"
    path = parsed.raw_path.rstrip("/")
    words = str(URL.build(query=kept)) if kept else ""
    return f"{host}{port}{path}{words}"[:2000]


def page_at(benchmark: Benchmark, url: str) -> CollectedPage | None:
    """The newest page that somebody collected from this address."""
    key = url_key(url)
    found = CollectedPage.objects.filter(benchmark=benchmark, url_key=key) if key else None
    return found.select_related("document").first() if found is not None else None


def page_of_bytes(benchmark: Benchmark, digest: str) -> CollectedPage | None:
    """The page that was kept of these bytes, by their hash."""
    return CollectedPage.objects.filter(benchmark=benchmark, sha256=digest).first()


def pages_like(page: CollectedPage) -> list[tuple[CollectedPage, float]]:
    """Other pages of the benchmark with nearly the same text and how much of it, most first."""
    others = CollectedPage.objects.filter(benchmark=page.benchmark_id).exclude(pk=page.pk)
    rows = list(others.values_list("pk", "signature"))
    if not rows or not page.signature:
        return []
    table = np.array([signature for _, signature in rows], dtype=np.uint64)
    shares = (table == np.array(page.signature, dtype=np.uint64)).mean(axis=1)
    alike = {
        pk: float(share) for (pk, _), share in zip(rows, shares, strict=True) if share >= ALIKE
    }
    found = others.filter(pk__in=alike).select_related("document")
    return sorted(((each, alike[each.pk]) for each in found), key=lambda pair: -pair[1])


def growing_version(benchmark: Benchmark) -> CorpusVersion:
    """The version of what experts cut from collected pages; in the caller's transaction."""
    version, created = CorpusVersion.objects.get_or_create(
        benchmark=benchmark,
        state=VersionState.GROWING,
        defaults={"name": "collected", "recipe": {"kind": "collected"}},
    )
    if created:
        version.layers = [version.pk]
        version.save(update_fields=["layers"])
    return version


def _signature(text: str) -> list[int]:
    from datasketch import MinHash  # slow to import

    found = itertools.islice(_WORD.finditer(text), _SIGNED_WORDS)
    words = [word[0].lower() for word in found]
    runs = range(max(1, len(words) - _SHINGLE + 1))
    sketch = MinHash(num_perm=_PERMUTATIONS, seed=1)
    sketch.update_batch([" ".join(words[at : at + _SHINGLE]).encode() for at in runs])
    return [int(value) for value in sketch.hashvalues]


def write_raw(body: bytes) -> str:
    """Keep the bytes under their hash, which is returned.

    Writing them twice is writing them once; whole or not at all.
    """
    digest = hashlib.sha256(body).hexdigest()
    path = _raw_path(digest)
    if storage.size(path) is None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Among the uploads, where that of a killed process is swept up.
        part = Path(settings.UPLOADS) / f"{uuid.uuid4().hex}.part"
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_bytes(gzip.compress(body, mtime=0))
        storage.put(part, path)
    return digest


def read_raw(digest: str) -> bytes:
    """The bytes of this hash; raises Refused where they are gone."""
    try:
        with storage.opened(_raw_path(digest)) as file:
            return gzip.decompress(file.read())
    except (OSError, EOFError):
        raise Refused("The collected page is no longer on the disk. Collect it again.") from None


def forget_raw(digest: str) -> None:
    """Delete bytes of which no page was made and that nothing waits for."""
    waiting = PageFetch.objects.exclude(status__in=OVER).filter(given__sha256=digest)
    if not waiting.exists() and not CollectedPage.objects.filter(sha256=digest).exists():
        storage.drop(_raw_path(digest))


def forget_pages(benchmark: Benchmark) -> None:
    """Once a benchmark is deleted, delete the bytes of its pages that no other has."""
    pages = CollectedPage.objects.filter(benchmark=benchmark).values_list("sha256", flat=True)
    given = PageFetch.objects.filter(query__domain__benchmark=benchmark).exclude(given=None)
    digests = {*pages, *given.values_list("given__sha256", flat=True)} - {None}
    for digest in digests:
        transaction.on_commit(partial(forget_raw, digest))


def _raw_path(digest: str) -> Path:
    return Path(settings.PAGES) / digest[:2] / f"{digest}.gz"
