"""What a cleaning will send, before it is started: its pages are worked on without a model.

A run does with every page what `corpus.marcus` says, and asks as it says. So does the forecast, on
pages drawn from the version, or on all of a small one: answers that were paid for come from the
ledger, the others are those of the practice model, which are about as long as a model's. What
earlier calls of the model came to, against the same estimate, corrects it.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from django.core.cache import cache
from django.db.models.functions import Length

from corpus.cleaning.chunks import PAGES, Chunker, drive, pages_of, requests_for, without_page
from corpus.cleaning.reading import PageRead, Sites, page_names, read_pages, settings_of
from corpus.cleaning.rules import Tally
from corpus.cleaning.services import draft
from corpus.marcus.agents import work_on
from corpus.marcus.settings import Settings
from corpus.models import CleanedPage, CleaningRun, CorpusVersion, Passage
from corpus.versions.effective import aspects_of, gold_of
from llm import endpoints
from llm.endpoints import Endpoint, fence_key
from llm.ledger.writing import look_up
from llm.models import Call
from llm.practice.completion import predicted
from llm.prices import table
from llm.profiles import CHARACTERS_PER_TOKEN, likely_input, likely_tokens
from llm.requests import Request, Usage
from llm.wire import EmbeddingRequest

# What is worked on at most: so many letters, and so many pages of a kind.
_LETTERS: Final = 200_000
_PAGES: Final = 400
# Earlier calls of a model, by which the estimate of its tokens is corrected.
_FEW, _MANY = 5, 40
_SHORT, _DAY = 300, 24 * 3600
# A word has at least this many letters, with the blank behind it.
_LETTERS_OF_WORD: Final = 2

# Keys in one statement.
_AT_ONCE: Final = 500

PageName: TypeAlias = tuple[int, str]


class Asked(NamedTuple):
    """A request that would be sent: whom it asks, and about how many tokens it takes."""

    endpoint: str
    model: str
    role: str
    input: float
    output: float
    is_answered: bool
    # Whether it is a second try at the same.
    is_again: bool = False


@dataclass
class Stratum:
    """Pages of one kind: how many there are, their letters, and those that are drawn."""

    names: set[PageName] = field(default_factory=set)
    letters: int = 0
    drawn: dict[PageName, list[int]] = field(default_factory=dict)
    sizes: dict[PageName, int] = field(default_factory=dict)

    def add(self, name: PageName, letters: int, passage: int | None) -> None:
        """A passage of a page, or the page's own text."""
        self.letters += letters
        if name not in self.drawn:
            if name in self.names:  # drawn once, and thrown out again
                return
            self.names.add(name)
            self.drawn[name] = []
            if len(self.drawn) > 2 * _PAGES:
                for last in sorted(self.drawn, key=_order)[_PAGES:]:
                    del self.drawn[last]
                    self.sizes.pop(last, None)
                if name not in self.drawn:
                    return
        self.sizes[name] = self.sizes.get(name, 0) + letters
        if passage is not None:
            self.drawn[name].append(passage)

    def chosen(self, most: int) -> tuple[list[PageName], float]:
        """Pages in a random order that is always the same, of about so many letters; and what
        they have to be multiplied by to stand for all."""
        names: list[PageName] = []
        letters = 0
        for name in sorted(self.drawn, key=_order)[:_PAGES]:
            if names and letters + self.sizes[name] > most:
                break
            names.append(name)
            letters += self.sizes[name]
        return names, (self.letters / letters if letters else 1.0)


Strata: TypeAlias = dict[bool, Stratum]


def forecast(
    version: CorpusVersion,
    preset: str,
    endpoint: Endpoint | None,
    model: str = "",
    *,
    also: Sequence[str] = (),
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What the preset, and those of `also` after it, would send. What they share is sent once.

    Options are those of a run, which checks them. Dollars are None where the model has no price.
    `pages_read` of the pages were worked on for it. `answered` calls are in the ledger already and
    cost nothing; they are not in `calls`. `measured_calls` earlier calls of the model corrected it.
    """
    gold = gold_of(version)
    strata = _strata(version, gold)
    runs = [
        draft(source=version, preset=each, endpoint=endpoint, model=model, options=options)[0]
        for each in dict.fromkeys([preset, *also])
    ]
    frozen = [[run.preset, run.endpoint, run.model, run.config] for run in runs]
    last = Call.objects.order_by("-pk").values_list("pk", "status").first()
    key = _key("expected", version, [sorted(gold), frozen, last, str(table())])
    known: dict[str, Any] | None = cache.get(key)
    if known is None:
        known = _forecast(runs, gold, strata)
        cache.set(key, known, timeout=_SHORT)
    return known


def _forecast(
    runs: Sequence[CleaningRun], gold: dict[int, list[int]], strata: Strata
) -> dict[str, Any]:
    parts: list[tuple[dict[str, Asked], float]] = []
    pages_read = 0
    sites = Sites(runs[0].source, gold)
    asking = [run for run in runs if run.has_agents]
    for stratum in strata.values() if asking else ():
        names, times = stratum.chosen(_LETTERS // len(strata))
        rows = _rows(asking[0].source, {name: stratum.drawn[name] for name in names})
        asked: dict[str, Asked] = {}
        for run in asking:
            asked |= _of_agents(run, rows, gold, sites)
        parts.append((asked, times))
        pages_read += len(names)
    parts += [_of_chunks(run) for run in runs if run.has_calls and not run.has_agents]
    sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0] * 4)
    answered = 0.0
    seen: set[str] = set()  # what is asked about two pages of one text is sent once
    for asked, times in parts:
        for key, each in asked.items():
            if key in seen:
                continue
            seen.add(key)
            if each.is_answered:
                answered += times
                continue
            row = sums[each.endpoint, each.model, each.role]
            for place, value in enumerate((1, not each.is_again, each.input, each.output)):
                row[place] += times * value
    usd: Decimal | None = Decimal(0)
    calls = given = taken = measured = 0
    for (name, model, role), (count, firsts, tokens_in, tokens_out) in sums.items():
        found = _measured(name, model, role)
        more = 1.0
        if found.calls and firsts:
            more = found.tries / (count / firsts)
        usage = Usage(
            input=round(tokens_in * more * found.input),
            output=round(tokens_out * more * found.output),
        )
        measured, calls = measured + found.calls, calls + round(count * more)
        given, taken = given + usage.input, taken + usage.output
        price = _price(name, model)
        usd = None if usd is None or price is None else usd + price.cost(usage)
    return {
        "preset": runs[0].preset,
        "pages": sum(len(each.names) for each in strata.values()),
        "gold_pages": len(strata[True].names),
        "calls": calls,
        "input_tokens": given,
        "output_tokens": taken,
        "usd": usd,
        "answered": round(answered),
        "pages_read": pages_read,
        "measured_calls": measured,
    }


def _price(name: str, model: str) -> Any:
    if not name:
        return None
    return table().find(endpoints.get(name), model, on=datetime.now(UTC).date())


class Measured(NamedTuple):
    """What earlier calls in a role came to: how many there are, tries for each question, and their
    tokens in and out over the estimate."""

    calls: int = 0
    tries: float = 1.0
    input: float = 1.0
    output: float = 1.0


def _measured(name: str, model: str, role: str) -> Measured:
    """By the latest calls; nothing where they are too few."""
    known = Call.objects.answered().filter(
        endpoint=name, model=model, role=role, input_tokens__gt=0, output_tokens__gt=0
    )
    columns = ("request", "input_tokens", "output_tokens")
    rows = list(known.order_by("-pk").values_list(*columns)[:_MANY])
    sums = np.zeros(5)
    for request, *counted in rows:
        messages = request.get("messages", ())
        written = sum(likely_tokens(each["content"]) + 4 for each in messages)
        answer = likely_tokens(predicted(role, messages))
        sums += (*counted, written, answer, not request.get("replicate"))
    if len(rows) < _FEW or not sums.all():
        return Measured()
    return Measured(
        len(rows), len(rows) / float(sums[4]), float(sums[0] / sums[2]), float(sums[1] / sums[3])
    )


def _of_agents(
    run: CleaningRun, rows: Sequence[CleanedPage], gold: dict[int, list[int]], sites: Sites
) -> dict[str, Asked]:
    """What would be asked about these pages, by the key of the request."""
    settings = settings_of(run)
    asked: dict[str, Asked] = {}
    for each in read_pages(rows, settings, gold, aspects_of(run.source), sites):
        replies: dict[str, str] = {}
        while True:
            sent = _work_on(each, settings, replies)
            found = _answers(sent.keys() - replies.keys())
            if not found:
                break
            replies |= found  # and what follows from them may be other questions
        for key, (request, reply) in sent.items():
            asked[key] = Asked(
                request.endpoint,
                request.model,
                request.role,
                likely_input(request),
                likely_tokens(reply),
                key in replies,
                request.replicate > 0,
            )
    return asked


def _work_on(
    read: PageRead, settings: Settings, replies: Mapping[str, str]
) -> dict[str, tuple[Request, str]]:
    """What a page's agents are asked, with these replies and else the practice model's."""
    sent: dict[str, tuple[Request, str]] = {}

    async def ask(request: Request, _: str) -> str:
        reply = replies.get(request.key) or predicted(request.role, request.messages)
        sent[request.key] = request, reply
        return reply

    working = work_on(
        read.row.page_id,
        read.page,
        settings,
        key=fence_key(),
        ask=ask,
        protected=read.protected,
        recurring=read.recurring,
    )
    asyncio.run(working)
    return sent


def _of_chunks(run: CleaningRun) -> tuple[dict[str, Asked], float]:
    """The same for the vectors of DChunk: of long passages and pages."""
    chunker, tally = Chunker(run), Tally({}, {})
    least = int(run.config["long_from"]) * _LETTERS_OF_WORD
    sent: dict[str, EmbeddingRequest] = {}
    drawn = total = 0

    def vectors(texts: list[str]) -> Any:
        sent.update((each.key, each) for each in requests_for(run, texts))
        return np.zeros((len(texts), 1), np.float32)

    for rows, behind in ((without_page(run.source), 0), (pages_of(run.source), PAGES)):
        long = rows.annotate(letters=Length("text")).filter(letters__gt=least)
        sizes = list(long.order_by("pk").values_list("pk", "letters"))
        total += sum(letters for _, letters in sizes)
        left = _LETTERS // 2
        for pk, letters in sorted(sizes, key=_order):
            if letters > left and left < _LETTERS // 2:
                break
            left, drawn = left - letters, drawn + letters
            place = {"after": behind + pk - 1, "up_to": behind + pk}
            for item in chunker.read(**place, most=1):
                drive(chunker.cut(item, tally), vectors)
    answers = _answers(sent)
    found = {
        key: Asked(
            each.endpoint,
            each.model,
            each.role,
            -(-sum(map(len, each.texts)) // CHARACTERS_PER_TOKEN),
            0,
            key in answers,
        )
        for key, each in sent.items()
    }
    return found, (total / drawn if drawn else 1.0)


def _answers(keys: Collection[str]) -> dict[str, str]:
    """What was paid for already, by key."""
    asked = sorted(keys)
    found: dict[str, str] = {}
    for at in range(0, len(asked), _AT_ONCE):
        part = asked[at : at + _AT_ONCE]
        replies = zip(part, look_up(part), strict=True)
        found |= {key: reply.text for key, reply in replies if reply is not None}
    return found


def _strata(version: CorpusVersion, gold: dict[int, list[int]]) -> Strata:
    """The pages with gold (True) and the others, as a run lists them; kept for a day, since the
    texts of a version that is ready stay."""
    key = _key("pages", version, sorted(gold))
    known: Strata | None = cache.get(key)
    if known is not None:
        return known
    strata: Strata = {True: Stratum(), False: Stratum()}
    passages = Passage.objects.in_version(version).with_text()
    name_of = page_names(version)
    names = ("domain_id", "version_id", "pid", "document__doc_id")
    golden: set[PageName] = set()
    keys = sorted(gold)
    for at in range(0, len(keys), _AT_ONCE):
        part = passages.filter(pk__in=keys[at : at + _AT_ONCE]).order_by()
        golden |= {(domain, name_of(*own)) for domain, *own in part.values_list(*names)}
    rows = passages.order_by().values_list("pk", Length("text"), *names)
    for pk, letters, domain, layer, pid, doc_id in rows.iterator(chunk_size=5000):
        name = (domain, name_of(layer, pid, doc_id))
        strata[name in golden].add(name, 0 if doc_id else letters, pk)
    pages = pages_of(version).values_list("domain_id", "doc_id", Length("text"))
    for domain, doc_id, letters in pages.iterator(chunk_size=5000):
        name = (domain, doc_id)
        strata[name in golden].add(name, letters, None)
    cache.set(key, strata, timeout=_DAY)
    return strata


def _rows(version: CorpusVersion, drawn: dict[PageName, list[int]]) -> list[CleanedPage]:
    """These pages as a run stores them; they are not stored."""
    found = pages_of(version).filter(doc_id__in={name for _, name in drawn})
    documents = {(each.domain_id, each.doc_id): each for each in found}
    return [
        CleanedPage(
            domain_id=name[0], page_id=name[1], document=documents.get(name), passages=sorted(own)
        )
        for name, own in drawn.items()
    ]


def _order(of: object) -> bytes:
    """Random, and always the same."""
    return blake2b(repr(of).encode("utf-8", "replace"), digest_size=8).digest()


def _key(what: str, version: CorpusVersion, seen: Any) -> str:
    whole = json.dumps([version.pk, version.created_at.timestamp(), seen], sort_keys=True)
    return f"cleaning-{what}:{blake2b(whole.encode(), digest_size=16).hexdigest()}"
