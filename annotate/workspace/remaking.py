"""Making gold passages anew from those that are here: merging, trimming, cutting again.

(docs/protocol.md 3.1 step 3.) An old passage is never edited: a new one takes its place, keeps the
old ids as its provenance, and the label of the old one is superseded by one that says what became
of it. Undoing the new one restores the old ones.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence

from django.contrib.auth.models import User

from annotate.models import Aspect, GoldPassage
from annotate.rights import lock_for_writing, require_expert
from annotate.voting.majority import REMADE
from annotate.workspace.collecting import cut_passage
from annotate.workspace.gold import assign_passage, replace_passage, standing_verdict, undo_verdict
from annotate.workspace.neighbours import Piece, groups, joined
from corpus.marcus.parts import page_of
from corpus.models import CorpusVersion, Document, Judgment, Passage, Query, Source
from corpus.pages.services import url_key
from kit.errors import Refused


def as_piece(
    passage: Passage, aspect: int | None = None, apart: Collection[str] = frozenset()
) -> Piece:
    """The passage with its place on its page, searched for where only the page is known.

    `apart` are pages that only ids name.
    """
    start, end = passage.start, passage.end
    if start is None and passage.document and passage.text and passage.document.text:
        start = passage.document.text.find(passage.text)
        start, end = (start, start + len(passage.text)) if start >= 0 else (None, None)
    page = _page_of(passage)
    is_numbered = passage.version.numbers_pages and page_of(passage.pid)[0] not in apart
    return Piece(passage.pk, passage.pid, passage.text or "", page, start, end, aspect, is_numbered)


def touching(passages: Sequence[Passage], aspects: Mapping[int, int]) -> list[list[Piece]]:
    """Runs of passages that touch or overlap on one page, to be offered for merging.

    `aspects` are the keys of those that passages support: two are never put into one passage.
    """
    texts = {_page_of(each): each.document.text for each in passages if each.document}
    apart = _apart(passages)
    pieces = (as_piece(each, aspects.get(each.pk), apart) for each in passages if each.text)
    return groups(pieces, texts)


def proposal(passages: Sequence[Passage]) -> tuple[Document | None, int | None, int | None, str]:
    """What merging these would give: (page, start, end, text); no page, where none is known.

    Raises Refused where they do not come from one page.
    """
    if any(each.text is None for each in passages):
        raise Refused("The text of a passage is not loaded. It cannot be cut.")
    apart = _apart(passages)
    keys = {as_piece(each, apart=apart).key for each in passages}
    if len(passages) > 1 and (len(keys) > 1 or None in keys):
        raise Refused("Only passages of one page can be merged.", field="passages")
    pieces = [as_piece(each) for each in passages]
    document = passages[0].document
    starts = [each.start for each in pieces if each.start is not None]
    ends = [each.end for each in pieces if each.end is not None]
    if document is not None and document.text and len(starts) == len(pieces):
        start, end = min(starts), max(ends)
        return document, start, end, document.text[start:end].strip()
    return document, None, None, joined(pieces)


def remake(
    *,
    query: Query,
    passages: Sequence[Passage],
    aspect: Aspect,
    actor: User,
    start: int | None = None,
    end: int | None = None,
    text: str | None = None,
) -> GoldPassage:
    """Let one new gold passage take the place of gold passages of one page.

    Its text is [start, end) of the page where given, else what the old ones cover together; `text`
    is that as the expert trimmed it, and the difference is kept. One passage that comes out as it
    was is only assigned. Raises Refused for passages of several pages or of two aspects, those that
    are no gold of the query, a slice outside the page and an empty text.
    """
    require_expert(query, actor)
    if not passages:
        raise Refused("Choose the passages first.", field="passages")
    document, first, last, piece = proposal(passages)
    if start is not None and end is not None:
        if document is None or not 0 <= start < end <= len(document.text):
            raise Refused("Choose a piece of the page first.", field="start")
        first, last, piece = start, end, document.text[start:end].strip()
    refined = piece if text is None else text.replace("\r\n", "\n").strip()
    if not refined:
        raise Refused("The piece holds no text.", field="text")
    if len(passages) == 1 and refined == (passages[0].text or "").strip():
        return assign_passage(query=query, passage=passages[0], aspect=aspect, actor=actor)
    with lock_for_writing(query, actor):
        _check_gold(query, passages)
        verbatim = document.text[first:last] if document and first is not None else piece
        new = cut_passage(
            query,
            verbatim,
            refined,
            extra={"sources": [_source(each) for each in passages]},
            title=passages[0].title or (document.title if document else ""),
            source_url=passages[0].address,
            fetched_on=passages[0].fetched,
            document=document,
            start=first,
            end=last,
        )
        gold = assign_passage(query=query, passage=new, aspect=aspect, actor=actor)
        for each in passages:
            replace_passage(query=query, passage=each, into=new, actor=actor)
    return gold


def undo_with_sources(*, query: Query, passage: Passage, actor: User) -> None:
    """Undo the last verdict on a passage; of one made from others, theirs are restored too.

    Raises Refused where there is no verdict, and for one that is part of another passage now.
    """
    with lock_for_writing(query, actor):
        verdict = standing_verdict(query, passage)
        if verdict is not None and verdict.provenance.get("rule") == REMADE:
            into = verdict.provenance.get("into", "another passage")
            raise Refused(f"This is part of {into} now. Take that one back.")
        undo_verdict(query=query, passage=passage, actor=actor)
        if standing_verdict(query, passage) is None:
            for old in _made_into(query, passage):
                undo_verdict(query=query, passage=old.passage, actor=actor)


def _made_into(query: Query, passage: Passage) -> list[Judgment]:
    """Standing verdicts that say: part of this passage now."""
    sources = [each["passage"] for each in (passage.extra or {}).get("sources", ())]
    rows = Judgment.objects.standing().filter(query=query, passage__in=sources, label=0)
    found = rows.filter(source=Source.EXPERT).select_related("passage").order_by("pk")
    return [each for each in found if each.provenance.get("into_key") == passage.pk]


def _apart(passages: Sequence[Passage]) -> frozenset[str]:
    """Pages that only ids name, as the newest load of the passages' benchmark found them."""
    if not any(page_of(each.pid)[1] for each in passages):
        return frozenset()
    version = passages[0].version
    newest = None if version.is_derived else CorpusVersion.objects.loaded(version.benchmark)
    return (newest or version).apart


def _page_of(passage: Passage) -> Hashable | None:
    if passage.document_id is not None:
        return ("document", passage.document_id)
    key = url_key(passage.source_url) if passage.source_url else ""
    return ("url", key) if key else None


def _check_gold(query: Query, passages: Sequence[Passage]) -> None:
    pks = {each.pk for each in passages}
    original = Judgment.objects.original().filter(query=query, label__gt=0, passage__in=pks)
    standing = GoldPassage.objects.standing().filter(query=query, passage__in=pks)
    if standing.order_by().values("aspect").distinct().count() > 1:
        raise Refused(
            "These passages support two aspects, and a passage supports one. "
            "Give them to one aspect first.",
            field="passages",
        )
    known = {row for rows in (original, standing) for row in rows.values_list("passage", flat=True)}
    replaced = Judgment.objects.standing().filter(query=query, passage__in=pks, label=0)
    gone = [each for each in replaced if each.provenance.get("rule") == REMADE]
    if pks - known or gone:
        raise Refused("These are not gold passages of this query any more.", field="passages")


def _source(passage: Passage) -> dict[str, object]:
    place = {"start": passage.start, "end": passage.end}
    return {"passage": passage.pk, "pid": passage.pid, **place}
