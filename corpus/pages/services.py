"""Pages that experts collect: kept as they came, read as text, found again (docs/protocol.md 3.1).

The verbs here ask for no right; annotate/workspace/collecting.py does, and calls them.
"""

import gzip
import hashlib
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from yarl import URL

from corpus.extraction import Page, extract_html, extract_pdf, extract_text
from corpus.models import Benchmark, CollectedPage, CorpusVersion, Document, Query, VersionState
from kit import audit
from kit.errors import Refused

HTML, TEXT, PDF = "text/html", "text/plain", "application/pdf"
# Share of MinHash values that two texts have in common, about the Jaccard index of their
# five-word shingles, from which on one is shown as perhaps the other.
ALIKE: Final = 0.7
_PERMUTATIONS: Final = 64
_SHINGLE: Final = 5
_FETCHED: Final = CollectedPage.Origin.FETCHED
_WORD: Final = re.compile(r"\w+")
# What a shared link carries beside the page's address.
_TRACKING: Final = re.compile(r"(utm_\w+|fbclid|gclid|mc_[ce]id)", re.ASCII)


def keep_page(
    *,
    query: Query,
    body: bytes,
    content_type: str,
    origin: CollectedPage.Origin,
    actor: User | None,
    url: str = "",
    title: str = "",
    charset: str | None = None,
) -> CollectedPage:
    """Store a page with its text; bytes that are here already are the page that is here.

    Raises Refused for a page without text, and `corpus.extraction.Unreadable` for a broken PDF.
    """
    page = _read(body, content_type, charset, url)
    if not page.text.strip():
        raise Refused("No text was found on this page. Paste the text instead.")
    digest = hashlib.sha256(body).hexdigest()
    signature = _signature(page.main or page.text)
    _write_raw(digest, body)
    benchmark = query.domain.benchmark
    known = CollectedPage.objects.filter(benchmark=benchmark, sha256=digest)
    try:
        with transaction.atomic():
            return known.first() or _add_page(
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
        return known.get()


def _add_page(
    *, query: Query, page: Page, url: str, title: str, actor: User | None, **fields: Any
) -> CollectedPage:
    benchmark = query.domain.benchmark
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
        spans=[[s.start, s.end, str(s.kind), s.level, s.is_main] for s in page.spans],
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


def _read(body: bytes, content_type: str, charset: str | None, url: str) -> Page:
    if content_type == PDF:
        return extract_pdf(body)
    if content_type == TEXT:
        return extract_text(body, charset=charset)
    return extract_html(body, charset=charset, url=url or None)


def _signature(text: str) -> list[int]:
    from datasketch import MinHash  # slow to import

    words = [word.lower() for word in _WORD.findall(text)]
    runs = range(max(1, len(words) - _SHINGLE + 1))
    sketch = MinHash(num_perm=_PERMUTATIONS, seed=1)
    sketch.update_batch([" ".join(words[at : at + _SHINGLE]).encode() for at in runs])
    return [int(value) for value in sketch.hashvalues]


def _raw_path(digest: str) -> Path:
    return Path(settings.PAGES) / digest[:2] / f"{digest}.gz"


def _write_raw(digest: str, body: bytes) -> None:
    """Under its own hash, so that writing it twice is writing it once; whole or not at all."""
    path = _raw_path(digest)
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_suffix(f".{id(body):x}.part")
    part.write_bytes(gzip.compress(body, mtime=0))
    part.replace(path)
