"""Bringing pages to a query: by address, by pasting, by file (docs/protocol.md 3.1 step 4)."""

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from annotate.services.rights import require_expert
from corpus.extraction import Unreadable
from corpus.models import CollectedPage, PageFetch, Query
from corpus.services import fetching, pages
from kit import audit
from kit.errors import Refused
from kit.runs import RunStatus

MOST_BYTES = 20 * 1024 * 1024
_TYPES = {".pdf": pages.PDF, ".txt": pages.TEXT, ".md": pages.TEXT}


def collect_url(*, query: Query, url: str, actor: User, again: bool = False) -> PageFetch:
    """Have the page at an address fetched; Refused for what is no address."""
    require_expert(query, actor)
    return fetching.request_fetch(query=query, url=url, actor=actor, again=again)


def stop_fetch(*, fetch: PageFetch, actor: User) -> None:
    """Give up a fetch that is not over yet."""
    require_expert(fetch.query, actor)
    with transaction.atomic():
        if fetch.move(RunStatus.CANCELLED):
            slug = fetch.query.domain.benchmark.slug
            audit.record(actor=actor, verb="stop fetch", target=fetch, scope=slug)


def collect_text(
    *, query: Query, text: str, actor: User, url: str = "", title: str = ""
) -> CollectedPage:
    """Keep a page's text as the expert pasted it; Refused for none."""
    require_expert(query, actor)
    if not text.strip():
        raise Refused("Paste the text of the page.", field="text")
    page = pages.keep_page(
        query=query,
        body=text.encode(),
        content_type=pages.TEXT,
        charset="utf-8",
        origin=CollectedPage.Origin.PASTED,
        actor=actor,
        url=url.strip(),
        title=title.strip(),
    )
    fetching.note_brought(query=query, page=page, actor=actor, url=url.strip())
    return page


def collect_file(
    *, query: Query, upload: UploadedFile, actor: User, url: str = ""
) -> CollectedPage:
    """Keep an uploaded HTML, PDF or text file as a page; Refused for what cannot be read."""
    require_expert(query, actor)
    name = (upload.name or "").lower()
    if (upload.size or 0) > MOST_BYTES:
        raise Refused(f"The file is larger than {MOST_BYTES // 1024**2} MB.", field="upload")
    body = upload.read()
    ending = name[name.rfind(".") :] if "." in name else ""
    kind = pages.PDF if body.startswith(b"%PDF-") else _TYPES.get(ending, pages.HTML)
    try:
        page = pages.keep_page(
            query=query,
            body=body,
            content_type=kind,
            origin=CollectedPage.Origin.UPLOADED,
            actor=actor,
            url=url.strip(),
            title=(upload.name or "")[:200] if kind != pages.HTML else "",
        )
    except Unreadable as error:
        raise Refused(str(error), field="upload") from None
    fetching.note_brought(query=query, page=page, actor=actor, url=url.strip())
    return page
