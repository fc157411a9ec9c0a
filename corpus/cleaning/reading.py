"""What agents are given of a page, in a run and in its forecast."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple, TypeAlias

from corpus.marcus.asking import prompt
from corpus.marcus.parts import Aspects, Page, Source, page_of, take_apart
from corpus.marcus.regions import recurring_lines
from corpus.marcus.settings import AGENTS, Settings
from corpus.models import CleanedPage, CleaningRun, CorpusVersion, Document, Passage, Query
from corpus.versions.effective import aspect_texts
from kit.errors import Refused

# Shorter words than these stand in every menu.
_LEAST_LETTERS: Final = 5
# Pages of a site whose lines are counted, passages of such a page, sites that are kept, and rows
# that are read at a time.
_SITE_PAGES, _PIECES, _SITES, _ROWS = 30, 100, 32, 2000
_HOST: Final = re.compile(r"https?://([^/?#]+)", re.IGNORECASE)
Site: TypeAlias = tuple[int, str]


class PageRead(NamedTuple):
    """A page as its agents read it, and what that was made of."""

    row: CleanedPage
    page: Page
    text: str
    sources: Sequence[Source]
    gold: Mapping[int, Sequence[int]]
    # Words of its queries, their answers and aspects, and its names: no line of gold that has one
    # counts as a menu.
    protected: frozenset[str]
    # Those of the aspects.
    of_aspects: frozenset[str]
    # Lines of gold that stand on other pages of the site too.
    recurring: frozenset[str]


def page_names(version: CorpusVersion) -> Callable[[int, str, str | None], str]:
    """Gives the page of a passage by its layer of the version, its id, and its loaded page's id."""
    layers = CorpusVersion.objects.filter(pk__in=version.layers)
    numbered = {each.pk for each in layers if each.numbers_pages}
    apart = version.apart

    def name(layer: int, pid: str, doc_id: str | None) -> str:
        page = page_of(pid)[0] if layer in numbered and not doc_id else pid
        return doc_id or (pid if page in apart else page)

    return name


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
        # Runs of before this option asked about everything.
        ask_from=int(config.get("ask_from", 0)),
        prompts=prompts,
        splitter=run.asked[-1],
    )


def read_pages(
    rows: Sequence[CleanedPage],
    settings: Settings,
    gold: Mapping[int, Sequence[int]],
    aspects: Aspects,
    sites: "Sites",
) -> Iterator[PageRead]:
    """These pages with their texts."""
    requested = [pk for row in rows for pk in row.passages]
    texts = Passage.objects.in_bulk(requested)
    queries = Query.objects.in_bulk({query for pk in requested for query in gold.get(pk, ())})
    said = aspect_texts(queries)
    for row in rows:
        members = [texts[pk] for pk in row.passages if pk in texts]
        sources = [Source(p.pk, p.pid, p.text or "", p.start, p.end) for p in members]
        own = {p.pk: gold[p.pk] for p in members if p.pk in gold}
        text = row.document.text if row.document else ""
        page = take_apart(sources, own, aspects, page_text=text, single_span=settings.single_span)
        asked = {each for keys in own.values() for each in keys}
        of_aspects = _words_of(text for pk in asked for text in said.get(pk, ()))
        names = [row.page_id.rpartition("/")[2], *(p.title for p in members)]
        addresses = (row.document, *members)
        url = next((each.source_url for each in addresses if each and each.source_url), "")
        recurring = sites.lines(site_of(row.domain_id, row.page_id, url)) if own else ()
        of_queries = (each for pk in asked for each in (queries[pk].text, *queries[pk].answers))
        protected = _words_of((*map(str, of_queries), *names)) | of_aspects
        yield PageRead(row, page, text, sources, own, protected, of_aspects, frozenset(recurring))


def _words_of(texts: Iterable[str]) -> frozenset[str]:
    """Their words, in small letters."""
    words = (word.lower() for text in texts for word in re.findall(r"[^\W_]+", text))
    return frozenset(word for word in words if len(word) >= _LEAST_LETTERS)


def site_of(domain: int, name: str, url: str) -> Site:
    """The site of a page: its host, else the folder that its name begins with; "" for none."""
    host = _HOST.match(url or name)
    return domain, host[1].lower() if host else name.rpartition("/")[0]


class Sites:
    """Which lines stand on several pages of a site, for the sites that hold gold.

    Made of the first pages of each: the same in every worker. In memory are the keys of those
    pages, and the lines of the sites that were asked for last.
    """

    def __init__(self, version: CorpusVersion, gold: Mapping[int, Sequence[int]]) -> None:
        self._version, self._gold = version, gold
        self.lines = lru_cache(_SITES)(self._lines)

    @cached_property
    def _pages(self) -> dict[Site, dict[str, list[int]]]:
        """The passages of the first pages of each site that holds gold, by one walk over all."""
        name_of = page_names(self._version)
        columns = (
            *("pk", "domain_id", "pid", "source_url", "version_id"),
            *("document__doc_id", "document__source_url"),
        )
        passages = Passage.objects.in_version(self._version).with_text().order_by("pk")

        def named(keys: Mapping[str, object]) -> Iterator[tuple[int, Site, str]]:
            rows = passages.filter(**keys).values_list(*columns)
            for pk, domain, pid, own, layer, doc_id, url in rows.iterator(chunk_size=_ROWS):
                name = name_of(layer, pid, doc_id)
                yield pk, site_of(domain, name, url or own), name

        keys = sorted(self._gold)
        parts = (keys[at : at + _ROWS] for at in range(0, len(keys), _ROWS))
        with_gold = {site for part in parts for _, site, _ in named({"pk__in": part})}
        found: dict[Site, dict[str, list[int]]] = defaultdict(dict)
        for pk, site, name in named({}):
            if not site[1] or site not in with_gold:
                continue
            pages = found[site]
            if name in pages or len(pages) < _SITE_PAGES:
                pieces = pages.setdefault(name, [])
                pieces += [pk] if len(pieces) < _PIECES else []
        return found

    def _lines(self, site: Site) -> frozenset[str]:
        pages = self._pages.get(site, {})
        passages = Passage.objects.in_bulk([pk for pks in pages.values() for pk in pks])
        documents = Document.objects.in_bulk({p.document_id for p in passages.values()} - {None})

        def texts() -> Iterator[str]:
            for pks in pages.values():
                document = documents.get(passages[pks[0]].document_id)
                own = (passages[pk].text or "" for pk in pks)
                yield document.text if document else "\n".join(own)

        return recurring_lines(texts())
