"""What a cleaning is likely to take, before it is started."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from django.core.cache import cache
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Length

from corpus.chunking.semantic import MOST_TOKENS
from corpus.cleaning.services import take_seats
from corpus.marcus.asking import prompt
from corpus.marcus.figures import Advice, recommend
from corpus.marcus.parts import page_of
from corpus.marcus.settings import AGENTS, SPLITTER
from corpus.models import CleaningPreset, CorpusVersion, Passage
from corpus.versions.crosswalk import gold_of
from llm.endpoints import Endpoint
from llm.prices import Price, table
from llm.profiles import CHARACTERS_PER_TOKEN, likely_tokens
from llm.requests import Usage

# Long texts by the length that the database counts; sentences of about 25 tokens, 64 a call.
_LETTERS_PER_WORD: Final = 6
_TOKENS_PER_CALL: Final = 1600
# What a first answer leaves poor is asked again; a guess for the upper end.
_AGAIN: Final = 1.2
# Passages asked for at a time.
_AT_ONCE: Final = 500
_DAY: Final = 24 * 3600


@dataclass(frozen=True)
class Forecast:
    """Calls, tokens and dollars of a preset; dollars are None where the model has no price."""

    preset: str
    pages: int
    gold_pages: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: Decimal | None


def forecast(
    version: CorpusVersion, preset: str, endpoint: Endpoint | None, model: str = ""
) -> Forecast:
    """From the sizes of the texts: every agent reads and writes about as much as there is.

    In prices of `model`, or of the endpoint's own.

    Answers that are in the ledger already, and pages that an earlier run cleaned the same way,
    cost nothing and are not taken off.
    """
    passages = Passage.objects.in_version(version).with_text()
    pages, letters = _sizes(version, passages)
    gold_pages = _gold_pages(version, passages)
    if preset == CleaningPreset.DCHUNK:
        return _of_chunks(passages, pages, gold_pages, _prices(preset, endpoint, model)[0])
    tokens = -(-letters // CHARACTERS_PER_TOKEN)
    # A page with gold has about two parts, the others one.
    parts = pages + gold_pages
    rounds = (SPLITTER in AGENTS[preset]) + (len(AGENTS[preset]) > 1)
    lead = max(
        (likely_tokens(prompt(r).system + prompt(r).user) for r in AGENTS[preset]), default=0
    )
    given = round(_AGAIN * rounds * (tokens + parts * lead))
    taken = round(_AGAIN * rounds * tokens)
    # Where another model cuts, each of the two reads and writes half of it.
    prices = _prices(preset, endpoint, model)
    costs = [price.cost(Usage(input=given, output=taken)) for price in prices if price]
    usd = sum(costs, Decimal(0)) / len(costs) if len(costs) == len(prices) and rounds else None
    return Forecast(
        preset=preset,
        pages=pages,
        gold_pages=gold_pages,
        calls=round(_AGAIN * rounds * parts),
        input_tokens=given,
        output_tokens=taken,
        usd=Decimal(0) if not rounds else usd,
    )


def _sizes(version: CorpusVersion, passages: QuerySet[Passage]) -> tuple[int, int]:
    """Pages and letters of the version; kept for a day, since a version that is ready stays."""
    key = f"cleaning-sizes:{version.pk}:{version.created_at.timestamp()}"
    known: tuple[int, int] | None = cache.get(key)
    if known is None:
        rows = passages.order_by().values_list("domain_id", "pid").iterator(chunk_size=5000)
        pages = len({(domain, page_of(pid)[0]) for domain, pid in rows})
        known = pages, passages.aggregate(letters=Sum(Length("text")))["letters"] or 0
        cache.set(key, known, timeout=_DAY)
    return known


def _gold_pages(version: CorpusVersion, passages: QuerySet[Passage]) -> int:
    gold = sorted(gold_of(version))
    pages: set[tuple[int, str]] = set()
    for start in range(0, len(gold), _AT_ONCE):
        part = passages.filter(pk__in=gold[start : start + _AT_ONCE]).order_by()
        pages |= {(domain, page_of(pid)[0]) for domain, pid in part.values_list("domain_id", "pid")}
    return len(pages)


def _of_chunks(
    passages: QuerySet[Passage], pages: int, gold_pages: int, price: Price | None
) -> Forecast:
    """Vectors of the sentences of long texts: read once, nothing is written."""
    letters = Length("text")
    long = passages.annotate(letters=letters).filter(letters__gt=MOST_TOKENS * _LETTERS_PER_WORD)
    sums = long.aggregate(sum=Sum("letters"), n=Count("pk"))
    given = -(-(sums["sum"] or 0) // CHARACTERS_PER_TOKEN)
    return Forecast(
        preset=CleaningPreset.DCHUNK,
        pages=pages,
        gold_pages=gold_pages,
        calls=sums["n"] + given // _TOKENS_PER_CALL,
        input_tokens=given,
        output_tokens=0,
        usd=price.cost(Usage(input=given, output=0)) if price else None,
    )


def advise(
    version: CorpusVersion, endpoint: Endpoint | None, budget: Decimal | None, model: str = ""
) -> Advice:
    """Splitter alone or all three agents, for a budget."""
    small, full = (forecast(version, each, endpoint, model) for each in ("marcus_s", "marcus"))
    return recommend(budget=budget, usd_s=small.usd, usd_full=full.usd)


def _prices(preset: str, endpoint: Endpoint | None, model: str) -> list[Price | None]:
    """Today's price of each model that is asked; None where it is not known."""
    seats = take_seats(preset, endpoint, model)
    asked = [(seats.endpoint, seats.model)]
    if seats.splitter:
        asked.append((seats.splitter, seats.splitter.default_model))
    today = datetime.now(UTC).date()
    return [table().find(place, name, on=today) if place else None for place, name in asked]
