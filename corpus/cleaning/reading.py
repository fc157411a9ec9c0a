"""What agents are given of a page, in a run and in its forecast."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corpus.marcus.asking import prompt
from corpus.marcus.parts import Aspects, Page, Source, page_of, take_apart
from corpus.marcus.settings import AGENTS, Settings
from corpus.models import CleanedPage, CleaningRun, CorpusVersion, Passage, Query
from kit.errors import Refused

# Shorter words than these stand in every menu.
_LEAST_LETTERS: Final = 5


class PageRead(NamedTuple):
    """A page as its agents read it, and what that was made of."""

    row: CleanedPage
    page: Page
    text: str
    sources: Sequence[Source]
    gold: Mapping[int, Sequence[int]]
    # Words of its queries and their answers: no line of gold that has one counts as a menu.
    protected: frozenset[str]


def page_names(version: CorpusVersion) -> Callable[[int, str, str | None], str]:
    """Gives the page of a passage by its layer of the version, its id, and its loaded page's id."""
    layers = CorpusVersion.objects.filter(pk__in=version.layers)
    numbered = {each.pk for each in layers if each.numbers_pages}
    return lambda layer, pid, doc_id: doc_id or (page_of(pid)[0] if layer in numbered else pid)


def settings_of(run: CleaningRun) -> Settings:
    """The agents as they were frozen. Raises Refused where a prompt changed since."""
    prompts = {role: prompt(role) for role in AGENTS[run.preset]}
    if {role: each.sha256 for role, each in prompts.items()} != run.config["prompts"]:
        raise Refused("A prompt changed since this run was made; start a new run.")
    config = run.config
    return Settings(
        preset=run.preset,
        policy=run.policy,
        endpoint=run.endpoint,
        model=run.model,
        temperature=config["temperature"],
        reasoning_effort=config.get("reasoning_effort", ""),
        site=config["site"],
        window=int(config["window"]),
        fixed=int(config["fixed"]),
        single_span=bool(config["single_span"]),
        prompts=prompts,
        splitter=run.asked[-1],
    )


def read_pages(
    rows: Sequence[CleanedPage],
    settings: Settings,
    gold: Mapping[int, Sequence[int]],
    aspects: Aspects,
) -> Iterator[PageRead]:
    """These pages with their texts."""
    requested = [pk for row in rows for pk in row.passages]
    texts = Passage.objects.in_bulk(requested)
    queries = Query.objects.in_bulk({query for pk in requested for query in gold.get(pk, ())})
    for row in rows:
        members = [texts[pk] for pk in row.passages if pk in texts]
        sources = [Source(p.pk, p.pid, p.text or "", p.start, p.end) for p in members]
        own = {p.pk: gold[p.pk] for p in members if p.pk in gold}
        text = row.document.text if row.document else ""
        page = take_apart(sources, own, aspects, page_text=text, single_span=settings.single_span)
        own_queries = [queries[pk] for pk in {each for keys in own.values() for each in keys}]
        yield PageRead(row, page, text, sources, own, _words_of(own_queries))


def _words_of(queries: Sequence[Query]) -> frozenset[str]:
    """The words of queries and of their short answers, in small letters."""
    texts = (text for query in queries for text in (query.text, *map(str, query.answers)))
    words = (word.lower() for text in texts for word in re.findall(r"\w+", text))
    return frozenset(word for word in words if len(word) >= _LEAST_LETTERS)
