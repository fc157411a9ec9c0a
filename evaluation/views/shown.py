"""What a release page shows of faults and files: words, sizes, and where to go next."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.urls import NoReverseMatch, reverse

from evaluation.exporters.faults import BLOCKING
from evaluation.exporters.markup import place_name
from evaluation.models import Release

# Where each fault is mended: name of the list page, words of the link.
NEXT: dict[str, tuple[str, str]] = {
    "practice_labels": ("debate-runs", "Run the debates with a real model"),
    "practice_answers": ("answers", "Choose other answers"),
    "open_cases": ("disputes", "See the disputes"),
    "expert_cases": ("disputes", "See the disputes"),
    "outside_corpus": ("passages", "See the passages"),
    "uncarried_gold": ("versions", "Look at the corpus versions"),
    "uncarried_support": ("versions", "Look at the corpus versions"),
    "uncarried_labels": ("versions", "Look at the corpus versions"),
    "practice_texts": ("versions", "Clean it with a real model"),
    "outweighed_labels": ("judgments", "See the labels"),
    "given_elsewhere": ("judgments", "See the labels"),
    "carried_two_aspects": ("queries", "Look at the queries"),
    "gold_without_text": ("imports", "Import the texts"),
    "passages_without_text": ("imports", "Import the texts"),
    "gold_without_aspect": ("queries", "Assign them to aspects"),
    "support_not_relevant": ("queries", "Look at the queries"),
    "support_without_label": ("queries", "Confirm or discard them"),
    "two_aspects": ("queries", "Keep one aspect of each"),
    "foreign_citations": ("answers", "Correct the answers"),
    "uncarried_citations": ("answers", "Correct the answers"),
    "agreement_below_bar": ("disputes", "See the votes"),
    "aspects_without_passages": ("queries", "Find passages"),
    "empty_aspects": ("queries", "Write them"),
    "unweighed_aspects": ("queries", "Weigh them"),
    "mixed_scales": ("queries", "Look at the queries"),
    "queries_without_gold": ("queries", "Look at the queries"),
    "white_space_in_ids": ("queries", "Look at the queries"),
}


@dataclass(frozen=True)
class ShownPlace:
    """One place of a fault; without a link where its page does not exist."""

    name: str
    url: str


@dataclass(frozen=True)
class ShownFault:
    """A fault in words with the next step and its first places."""

    message: str
    next_url: str
    next_words: str
    places: list[ShownPlace]
    more: int
    # Whether a final release is refused for it.
    blocks: bool = False


@dataclass(frozen=True)
class ShownFile:
    """A file of the release; size is None where the file is no longer there."""

    path: str
    sha256: str
    size: int | None


def shown_faults(release: Release) -> list[ShownFault]:
    """Faults of a built release, in the order of its card."""
    return [_fault(release.benchmark.slug, each) for each in release.faults]


def shown_files(release: Release) -> list[ShownFile]:
    """Files of a built release with their sizes on disk."""
    folder = Path(release.folder)
    return [ShownFile(path, digest, _size(folder / path)) for path, digest in release.files.items()]


def _fault(slug: str, fault: dict[str, Any]) -> ShownFault:
    page, words = NEXT.get(fault["check"], ("benchmark", "Open the benchmark"))
    places = [
        ShownPlace(place_name(row).replace("`", ""), _place(slug, row)) for row in fault["rows"]
    ]
    return ShownFault(
        message=fault["message"],
        next_url=_reverse(page, slug=slug),
        next_words=words,
        places=places,
        more=fault["count"] - len(places) if places else 0,
        blocks=fault["check"] in BLOCKING,
    )


def _place(slug: str, row: dict[str, Any]) -> str:
    for key, page in (("case_pk", "dispute"), ("query_pk", "query"), ("passage_pk", "passage")):
        if key in row:
            return _reverse(page, slug=slug, pk=row[key])
    return ""


def _reverse(name: str, **kwargs: Any) -> str:
    try:
        return reverse(name, kwargs=kwargs)
    except NoReverseMatch:
        return ""


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
