"""Whether the data here are what a printed table was measured on: by sizes, never by name alone."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from annotate.models import Aspect, GoldPassage
from corpus.cleaning.report import passages_by_domain
from corpus.models import Benchmark, CorpusVersion, Judgment, Passage
from evaluation.published.ours import TOTAL
from evaluation.published.services import PublishedTable, is_alike, plain, queries_of

# Of each printed corpus what its sets are told by: what we count, and where that is printed.
Printed = tuple[str, str, str]
BRIGHT, PLUS, PRO, BRIDGE = "BRIGHT", "BRIGHT+", "Bright-Pro", "BRIDGE"
CORPORA: Final[Mapping[str, tuple[Printed, ...]]] = {
    BRIGHT: (("passages", "marcus-chunks", "before"),),
    PLUS: (("passages", "marcus-chunks", "after"),),
    PRO: (
        ("passages", "brightpro-card", "passages"),
        ("aspects", "brightpro-card", "aspects"),
        ("gold", "brightpro-card", "gold"),
    ),
    BRIDGE: (
        ("passages", "dream-sets", "passages"),
        ("relevant a query", "dream-sets", "refined gold a query"),
    ),
}
Counts = Mapping[str, Mapping[str, float]]


def counts_of(benchmark: Benchmark, version: CorpusVersion | None) -> Counts:
    """What a corpus version has in each domain, by its name: queries, passages whose text is here,
    aspects, the gold that supports them, relevant passages a query."""
    queries = queries_of(benchmark)
    passages = passages_by_domain(version) if version else {}
    pairs = Judgment.objects.in_benchmark(benchmark).filter(label__gt=0)
    counting = pairs.original() | pairs.standing()
    columns = ("query__domain__name", "query_id", "passage_id")
    relevant = Counter(name for name, *_ in counting.order_by().values_list(*columns).distinct())
    of_ours = {"query__domain__benchmark": benchmark}
    aspects = Aspect.objects.present().filter(**of_ours).order_by()
    gold = GoldPassage.objects.standing().filter(**of_ours).order_by()
    others = [
        Counter(each.values_list("query__domain__name", flat=True)) for each in (aspects, gold)
    ]
    return {
        name: {
            "queries": size,
            "passages": passages.get(name, 0) if _has_text(version, name) else 0,
            "aspects": others[0][name],
            "gold": others[1][name],
            "relevant a query": relevant[name] / size if size else 0.0,
        }
        for name, size in queries.items()
    }


def _has_text(version: CorpusVersion | None, name: str) -> bool:
    rows = Passage.objects.in_version(version).filter(domain__name=name)
    return rows.exclude(text=None).exists()


def recognised(
    table: PublishedTable, counts: Counts, known: Mapping[str, PublishedTable], *, is_derived: bool
) -> set[str]:
    """The domains that are sets of the table's corpus, by name and sizes, give or take a tenth.

    Where no text is loaded the corpus of a loaded version is taken to be the one that its name and
    its queries say. Data of Bright-Pro are not taken for BRIGHT, whose queries they have.
    """
    sets = {plain(each) for each in (*table.columns, *table.sets, *(n for n, _ in table.rows))}
    return {
        name
        for name, found in counts.items()
        if plain(name) in sets - {TOTAL}
        and table.allows(name, found["queries"])
        and _is_of(table.corpus, name, found, known, is_derived)
        and not (table.corpus == BRIGHT and _is_of(PRO, name, found, known, is_derived))
    }


def _is_of(
    corpus: str,
    name: str,
    found: Mapping[str, float],
    known: Mapping[str, PublishedTable],
    is_derived: bool,
) -> bool:
    if is_derived and corpus != PLUS:
        return False  # what was cleaned or cut anew is another corpus, of whatever size
    for what, table, column in CORPORA.get(corpus, ()):
        printed = _printed(known[table], column).get(plain(name))
        if printed is None:
            # The sizes of seven of BRIGHT's twelve sets are printed.
            return corpus == BRIGHT
        is_without = what == "passages" and not found[what]
        if is_without and corpus != PLUS:
            continue
        if not is_alike(found[what], printed):
            return False
    return corpus in CORPORA


def _printed(table: PublishedTable, column: str) -> Mapping[str, tuple[float, ...]]:
    """What a column prints of each set, by its plain name."""
    place = table.columns.index(column)
    return {
        plain(name): (value,) for name, values in table.rows if (value := values[place]) is not None
    }
