"""Collecting pages for a query, and cutting passages from them (docs/protocol.md 3.1 step 4)."""

import re
from collections.abc import Iterable
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from rapidfuzz.distance import Indel, Postfix, Prefix

from annotate.models import Aspect, GoldPassage
from annotate.rights import lock_for_writing, record, require_expert
from annotate.workspace.gold import assign_passage
from corpus.extraction import Unreadable, extract_text
from corpus.models import CollectedPage, PageFetch, Passage, Query
from corpus.pages import fetching
from corpus.pages.reading import HTML, PDF, TEXT, check_size
from corpus.pages.services import growing_version, keep_page
from kit.errors import Refused

MOST_BYTES = 20 * 1024 * 1024
_TYPES = {".pdf": PDF, ".txt": TEXT, ".md": TEXT}


def collect_url(*, query: Query, url: str, actor: User, again: bool = False) -> PageFetch:
    """Have the page at an address fetched; Refused for what is no address."""
    require_expert(query, actor)
    return fetching.request_fetch(query=query, url=url, actor=actor, again=again)


def stop_fetch(*, fetch: PageFetch, actor: User) -> None:
    """Give up a fetch that is not over yet."""
    require_expert(fetch.query, actor)
    with transaction.atomic():
        if fetching.stop_fetch(fetch):
            record(fetch.query, actor, "stop fetch", fetch)


def collect_text(
    *, query: Query, text: str, actor: User, url: str = "", title: str = ""
) -> CollectedPage:
    """Keep a page's text as the expert pasted it; Refused for none."""
    require_expert(query, actor)
    if not text.strip():
        raise Refused("Paste the text of the page.", field="text")
    try:
        # Text that is known to be one is cut at its blank lines, which takes a moment at most.
        page = check_size(extract_text(text))
    except Unreadable as error:
        raise Refused(str(error), field="text") from None
    kept = keep_page(
        query=query,
        body=text.encode(),
        page=page,
        content_type=TEXT,
        origin=CollectedPage.Origin.PASTED,
        actor=actor,
        url=url.strip(),
        title=title.strip(),
    )
    fetching.note_brought(query=query, page=kept, actor=actor, url=url.strip())
    return kept


def collect_file(*, query: Query, upload: UploadedFile, actor: User, url: str = "") -> PageFetch:
    """Have an uploaded HTML, PDF or text file read as a page; Refused for one that is too large."""
    require_expert(query, actor)
    name = (upload.name or "").lower()
    if (upload.size or 0) > MOST_BYTES:
        raise Refused(f"The file is larger than {MOST_BYTES // 1024**2} MB.", field="upload")
    body = upload.read()
    ending = name[name.rfind(".") :] if "." in name else ""
    kind = PDF if body.startswith(b"%PDF-") else _TYPES.get(ending, HTML)
    return fetching.request_reading(
        query=query,
        body=body,
        content_type=kind,
        title=(upload.name or "")[:200],
        actor=actor,
        url=url.strip(),
    )


# One edit of a slice: from this code point on, so many are gone, and this stands instead.
Edit = tuple[int, int, str]
# The comparison holds a bit for every pair of code points that may differ.
_MOST_PAIRS: Final = 500_000_000
_NUMBER = re.compile(r"/extraction_(\d+)\.txt$", re.ASCII)


def add_segment(
    *,
    query: Query,
    page: CollectedPage,
    start: int,
    end: int,
    aspect: Aspect,
    actor: User,
    text: str | None = None,
) -> tuple[GoldPassage, list[GoldPassage]]:
    """Make [start, end) of the page's text, in code points, a gold passage of one aspect.

    Returns it with the standing gold passages of the same page and query that it overlaps. `text`
    is the slice as the expert refined it; what differs is kept as edits. Raises Refused for a slice
    outside the page, an empty text, an aspect that is gone, and for the same slice twice.
    """
    require_expert(query, actor)
    document = page.document
    if page.benchmark_id != query.domain.benchmark_id:
        raise Refused("This page belongs to another benchmark.")
    if not 0 <= start < end <= len(document.text):
        raise Refused("Choose a piece of the page first.", field="start")
    piece = document.text[start:end]
    refined = piece.strip() if text is None else text.replace("\r\n", "\n").strip()
    if not refined:
        raise Refused("The piece holds no text.", field="text")
    with lock_for_writing(query, actor):
        rows = GoldPassage.objects.standing().filter(query=query, passage__document=document)
        standing = list(rows.select_related("passage", "aspect"))
        cut = [(each.passage.start, each.passage.end, each.passage.text) for each in standing]
        if (start, end, refined) in cut:
            raise Refused("This piece of the page is a gold passage of this query already.")
        place: dict[str, Any] = {"document": document, "start": start, "end": end}
        place |= {"title": document.title, "source_url": document.source_url}
        place["fetched_on"] = document.fetched_on
        passage = cut_passage(query, piece, refined, **place)
        gold = assign_passage(query=query, passage=passage, aspect=aspect, actor=actor)
    return gold, [each for each in standing if _overlaps(each.passage, start, end)]


def cut_passage(
    query: Query, piece: str, refined: str, extra: dict[str, Any] | None = None, **fields: Any
) -> Passage:
    """A new passage of the query's domain: the slice `piece` as `refined`, with what differs."""
    changes = {"edits": edits(piece, refined)} if refined != piece else {}
    return Passage.objects.create(
        version=growing_version(query.domain.benchmark),
        domain=query.domain,
        pid=next_pid(query),
        text=refined,
        extra={**(extra or {}), **changes} or None,
        **fields,
    )


def main_text_of(page: CollectedPage, start: int, end: int) -> str:
    """The slice without the lines that the extractor dropped."""
    pieces = [
        page.document.text[max(start, at) : min(end, to)]
        for at, to, _, _, is_main in page.spans
        if is_main and at < end and start < to
    ]
    return "\n\n".join(piece.strip() for piece in pieces if piece.strip())


def edits(piece: str, refined: str) -> list[Edit]:
    """What turns the verbatim slice into the text: removed and inserted runs, from the left.

    Where too much differs to be compared, it is one run.
    """
    start = Prefix.similarity(piece, refined)
    end = Postfix.similarity(piece[start:], refined[start:])
    before, after = len(piece) - start - end, len(refined) - start - end
    if before * after > _MOST_PAIRS:
        return [(start, before, refined[start : start + after])]
    found: list[Edit] = []
    at = there = 0
    for same in Indel.opcodes(piece, refined).as_matching_blocks():
        if same.a > at or same.b > there:
            found.append((at, same.a - at, refined[there : same.b]))
        at, there = same.a + same.size, same.b + same.size
    return found


def overlapping(passage: Passage, others: Iterable[Passage]) -> list[str]:
    """Ids of those of the same page that overlap the passage."""
    if passage.start is None or passage.end is None:
        return []
    span = passage.start, passage.end
    return [each.pid for each in others if each.pk != passage.pk and _overlaps(each, *span)]


def _overlaps(passage: Passage, start: int, end: int) -> bool:
    if passage.start is None or passage.end is None:
        return False
    return passage.start < end and start < passage.end


def next_pid(query: Query) -> str:
    """`{task}-{qid}/extraction_{k}.txt`, k one above all before it (docs/protocol.md 1.1)."""
    stem = f"{query.domain.name}-{query.qid}"
    taken = Passage.objects.filter(domain=query.domain, pid__startswith=f"{stem}/extraction_")
    numbers = (_NUMBER.search(pid) for pid in taken.values_list("pid", flat=True))
    highest = max((int(found[1]) for found in numbers if found), default=0)
    return f"{stem}/extraction_{highest + 1}.txt"
