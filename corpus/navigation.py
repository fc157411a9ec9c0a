"""The sections of a benchmark with their pages: who sees which, and which one is open.

Pages are named by their URLs, as templates name them: no room is imported for its screens.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from django.http import HttpRequest
from django.urls import reverse

from corpus.access import Access

_Who: TypeAlias = Callable[[Access], bool]


def _everybody(access: Access) -> bool:
    return True


def _annotators(access: Access) -> bool:
    return access.is_annotator


def _seniors(access: Access) -> bool:
    return access.is_reviewer or access.is_admin


def _readers_of_debates(access: Access) -> bool:
    return access.is_admin or (access.is_reviewer and not access.is_voter)


def _voting_reviewers(access: Access) -> bool:
    return access.is_reviewer and access.is_voter


def _admins(access: Access) -> bool:
    return access.is_admin


@dataclass(frozen=True)
class Page:
    """A page of a benchmark: its label, the name of its URL, and who sees it.

    `beside` are beginnings of other addresses, behind the benchmark's own, that belong to it.
    """

    label: str
    name: str
    who: _Who = _everybody
    beside: tuple[str, ...] = ()
    url: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class Section:
    """A section as a person sees it; `url` is that of its first page."""

    label: str
    pages: tuple[Page, ...]

    @property
    def url(self) -> str:
        """Where its link leads."""
        return self.pages[0].url

    @property
    def is_open(self) -> bool:
        """Whether one of its pages is on the screen."""
        return any(page.is_open for page in self.pages)


_PAGES: Final[dict[str, tuple[Page, ...]]] = {
    "Overview": (Page("Status", "benchmark"), Page("Progress", "progress", _admins)),
    "Data": (
        Page("Queries", "queries", beside=("aspects/", "audit/")),
        Page("Query sources", "query-sources", _readers_of_debates, beside=("expansions/",)),
        Page("Passages", "passages", beside=("documents/",)),
        Page("Judgments", "judgments", beside=("gold/",)),
        Page("Corpus versions", "versions", _seniors, beside=("cleaning/",)),
        Page("Pools", "pools", _voting_reviewers),
        Page("Licences", "licences"),
        Page("Imports", "imports", _admins),
    ),
    "Annotate": (
        Page("My queue", "queue", _annotators),
        Page("Vote", "vote", _annotators),
        Page("Disputes", "disputes", _seniors),
        Page("Adjudication", "adjudication", _seniors),
        Page("Candidates", "candidates"),
        Page("Reviews", "reviews", beside=("rescoring/",)),
        Page("Panels", "panels", beside=("hint-runs/",)),
        Page("Answers", "answers"),
    ),
    "Agents": (
        Page("Debate runs", "debate-runs", _readers_of_debates),
        Page("Pools", "pools", _readers_of_debates),
        Page("Search agents", "agent-runs", _readers_of_debates, beside=("judge-runs/",)),
        Page("RAG", "rag-runs", _readers_of_debates, beside=("grade-runs/",)),
        Page("Chains", "chains", _admins),
        Page("Training data", "training-runs", _readers_of_debates),
        Page("Support", "support-sets", _readers_of_debates, beside=("support-runs/",)),
        Page("Experiments", "experiments", _readers_of_debates),
        Page("Prompts", "prompts", _admins, beside=("trials/",)),
        Page("Spending", "spending", _admins),
    ),
    "Results": (
        Page("Leaderboard", "leaderboard"),
        Page("Retrieval runs", "retrieval-runs"),
        Page("Rerankings", "rerank-runs", _readers_of_debates),
        Page("Pipelines", "pipelines", _readers_of_debates),
        Page("Missing labels", "holes"),
        Page("Agreement", "agreement", _seniors),
        Page("Agent board", "agent-board", _readers_of_debates, beside=("judge-samples/",)),
        Page("RAG board", "rag-board", _readers_of_debates),
        Page("Judges", "judges", _readers_of_debates),
        Page("Published results", "published-tables"),
        Page("Releases", "releases", _admins, beside=("pushes/",)),
    ),
    "My record": (
        Page("Feedback", "feedback", _annotators),
        Page("Qualification", "qualification", _annotators),
    ),
    "Manage": (
        Page("People", "people", _admins),
        Page("Assignments", "assignments", _admins),
        Page("Voting plan", "voting", _admins),
        Page("Checks of labels", "label-checks", _admins),
        Page("Qualification", "qualification-rules", _admins, beside=("qualification/",)),
        Page("Guidelines", "guidelines"),
        Page("Endpoints", "endpoints", _admins),
        Page("Quotas", "quotas", _admins),
        Page("Webhooks", "webhooks", _admins),
        Page("Record", "record", _admins),
        Page("Files and merging", "transfers", _admins),
        Page("Archive", "archive", _admins),
    ),
}

# The sections in the bar, each with the groups of pages in it. Who is no admin has fewer: their own
# work first, and one section for all there is to read.
_OF_ADMINS: Final[dict[str, tuple[str, ...]]] = {
    "Overview": ("Overview",),
    "Data": ("Data",),
    "Annotate": ("Annotate", "My record"),
    "Agents": ("Agents",),
    "Results": ("Results",),
    "Manage": ("Manage",),
}
_OF_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "My work": ("Annotate",),
    "Browse": ("Data", "Overview", "Manage"),
    "Agents": ("Agents",),
    "Results": ("Results",),
    "My record": ("My record",),
}

# Pages that the palette finds and the bar does not name: other pages lead there.
_BEHIND: Final[dict[str, tuple[Page, ...]]] = {
    "Data": (
        Page("Audit of original gold", "audit"),
        Page("Versions of the gold", "gold-versions"),
        Page("Expansions", "expansions", _readers_of_debates),
        Page("New expansion", "expansion-new", _admins),
        Page("Clean a corpus version", "cleaning-new", _admins),
    ),
    "Annotate": (
        Page("Blind comparisons of answers", "comparisons", _seniors),
        Page("Blind scores of weights", "rescore-samples", _admins),
        Page("Draw a panel", "panel-new", _admins),
    ),
    "Agents": (
        Page("New debate run", "debate-run-new", _admins),
        Page("Build a pool", "pool-new", _admins),
        Page("New run of a search agent", "agent-run-new", _admins),
        Page("New RAG run", "rag-run-new", _admins),
        Page("New chain", "chain-new", _admins),
        Page("New training data", "training-run-new", _admins),
        Page("Answer runs", "answer-runs", _seniors),
        Page("Let a model write answers", "answer-run-new", _admins),
    ),
    "Results": (
        Page("Compare two systems", "leaderboard-compare"),
        Page("Before and after", "leaderboard-versions"),
        Page("Label noise", "noise-checks", _readers_of_debates),
        Page("Known systems", "known-systems"),
        Page("Compute a retrieval run", "run-computations", _admins),
        Page("New reranking", "rerank-run-new", _admins),
        Page("New pipeline", "pipeline-new", _admins),
        Page("Labels that would help most", "holes-next", _admins),
        Page("Stated confidence", "agent-calibration", _readers_of_debates),
        Page("People beside the judge", "judge-samples", _readers_of_debates),
    ),
    "Manage": (Page("Voting: conditions compared", "voting-arms", _admins),),
}


def sections_for(access: Access, path: str) -> list[Section]:
    """The sections that the person sees, with the page open that `path` belongs to."""
    slug = access.benchmark.slug
    start = reverse("benchmark", args=[slug])
    behind = path.removeprefix(start)
    found: list[tuple[str, list[Page]]] = []
    fits: list[tuple[int, Page]] = []
    for label, groups in _bar_of(access).items():
        pages = [page for group in groups for page in _PAGES[group] if page.who(access)]
        seen = [replace(page, url=reverse(page.name, args=[slug])) for page in pages]
        if seen:
            found.append((label, seen))
        for page in seen:
            own = (page.url.removeprefix(start), *page.beside)
            fits += [(len(each), page) for each in own if behind.startswith(each)]
    # The longest address that fits: that of the overview is the beginning of all. None at home.
    fits = fits if path.startswith(start) else []
    _, is_open = max(fits, key=lambda fit: fit[0], default=(0, None))
    return [
        Section(label, tuple(replace(page, is_open=page is is_open) for page in pages))
        for label, pages in found
    ]


def pages_called(access: Access, words: str) -> Iterator[tuple[str, Page]]:
    """The pages whose label, or whose section's, holds every word; each with its section. Those
    behind others are found by words alone."""
    found = [(each.label, page) for each in sections_for(access, "") for page in each.pages]
    slug = access.benchmark.slug
    sections = {group: label for label, groups in _bar_of(access).items() for group in groups}
    for group, pages in _BEHIND.items() if words else ():
        seen = (page for page in pages if page.who(access))
        label = sections[group]
        found += [(label, replace(page, url=reverse(page.name, args=[slug]))) for page in seen]
    for label, page in found:
        name = f"{label} {page.label}".lower()
        if all(word in name for word in words.lower().split()):
            yield label, page


def sees(access: Access, name: str) -> bool:
    """Whether the person sees the page of this name, as the bar and the palette say it."""
    every = (page for pages in (*_PAGES.values(), *_BEHIND.values()) for page in pages)
    return any(page.name == name and page.who(access) for page in every)


def _bar_of(access: Access) -> dict[str, tuple[str, ...]]:
    return _OF_ADMINS if access.is_admin else _OF_OTHERS


def named_benchmark(request: HttpRequest) -> dict[str, str]:
    """For templates: `slug`, that of the benchmark which the address names, "" where none is."""
    return {"slug": request.resolver_match.kwargs.get("slug", "") if request.resolver_match else ""}
