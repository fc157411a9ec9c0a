"""Printed figures that other printed figures give, by the functions that Assay itself uses.

A formula names the figure, the printed figures it is made of and the function. What is printed is
rounded, so a formula also says how far the rounding of what it is made of can move its value.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from math import fsum
from typing import TypeAlias

import numpy as np

from annotate.models import VotingPlan
from corpus.marcus.figures import relative_gain, retention
from evaluation.agents.protocol.measures import aer, repetitions
from evaluation.metrics.growth import growth_rates
from evaluation.metrics.standings import over_tasks, rank_shifts, ranks_of
from evaluation.published.services import CHANGES, MEAN, PublishedTable
from evaluation.reproduction.worked import worked_numbers
from kit.stats.means import mean
from kit.stats.proportions import proportion

# A figure: its table, the number of its row, its column.
Place: TypeAlias = tuple[str, int, str]
Tables: TypeAlias = Mapping[str, PublishedTable]
# The column of tables of single figures, each printed with decimals of its own.
SINGLE = "printed"
WORKED = "protocol-worked"
# Votes a pair, seconds a vote and pay an hour (docs/protocol.md 2.4, 7: contradiction 19).
VOTES, SECONDS, PAY = 3, 30, Decimal("7.5")


@dataclass(frozen=True)
class Formula:
    """`by` of the printed `inputs` is what `words` says; None where it is undefined."""

    inputs: tuple[Place, ...]
    by: Callable[[Sequence[float]], float | None]
    words: str


Formulas: TypeAlias = Iterator[tuple[Place, Formula]]


def formulas(tables: Tables) -> dict[Place, Formula]:
    """Every figure of these tables that printed figures give, with how."""
    families = (_means, _balanced, _dream, _stances, _marcus, _bright_pro, _diver, _worked)
    return {place: formula for family in families for place, formula in family(tables)}


def printed(tables: Tables, place: Place) -> float | None:
    """The figure at a place."""
    table = tables[place[0]]
    return table.rows[place[1]][1][table.columns.index(place[2])]


def decimals(tables: Tables, place: Place) -> int:
    """How many decimals a figure was printed with: those of the longest one of its column, in a
    table of single figures its own."""
    table = tables[place[0]]
    column = table.columns.index(place[2])
    rows = [table.rows[place[1]]] if place[2] == SINGLE else table.rows
    return max(_decimals(row[1][column]) for row in rows)


def half_unit(tables: Tables, place: Place) -> float:
    """Half a unit of a figure's last printed digit."""
    return 0.5 * 10.0 ** -decimals(tables, place)


def recompute(tables: Tables, formula: Formula) -> tuple[float | None, float]:
    """What the formula gives, and how far the rounding of its inputs may move that.

    To the first order: what each input moves it by half a unit, added up. Whole numbers are counts.
    """
    given = [printed(tables, place) for place in formula.inputs]
    known = [value for value in given if value is not None]
    value = formula.by(known) if len(known) == len(given) else None
    if value is None:
        return None, 0.0
    slack = 0.0
    for number, place in enumerate(formula.inputs):
        if decimals(tables, place):
            moved = [*known]
            moved[number] += half_unit(tables, place)
            after = formula.by(moved)
            slack += abs(after - value) if after is not None else 0.0
    return value, slack


@cache
def _decimals(value: float | None) -> int:
    # As JSON has it: 12.50 is 12.5.
    exponent = Decimal(repr(value or 0)).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _row(table: PublishedTable, name: str) -> int:
    return next(n for n, (each, _) in enumerate(table.rows) if each == name)


def _named(tables: Tables, table: str, row: str, *columns: str) -> tuple[Place, ...]:
    """The places of a row by its name, by default under the table's only column."""
    number = _row(tables[table], row)
    return tuple((table, number, column) for column in columns or (SINGLE,))


def _column(tables: Tables, table: str, column: str) -> tuple[Place, ...]:
    """A column without the row over all sets or systems."""
    rows = enumerate(tables[table].rows)
    return tuple((table, n, column) for n, (name, _) in rows if name not in ("total", "Avg"))


def _sets(table: PublishedTable) -> list[str]:
    return [each for each in table.columns if each not in (MEAN, *CHANGES, "relative gain, %")]


def over_sets(values: Sequence[float]) -> float:
    """The mean as a leaderboard takes it: unweighted over sets."""
    return float(over_tasks([np.array([[value]]) for value in values])[0])


def gained(values: Sequence[float]) -> float | None:
    """The second half's mean over sets minus that of the first, as before and after has it."""
    half = len(values) // 2
    first, second = (
        [np.array([[value]]) for value in part] for part in (values[:half], values[half:])
    )
    return rank_shifts(first, second, seed=0, resamples=1)[2][0].value


def share(values: Sequence[float]) -> float | None:
    """The first of the second, in percent."""
    value = proportion(round(values[0]), round(values[1])).value
    return None if value is None else 100 * value


def middle(values: Sequence[float]) -> float | None:
    """The mean of recalls, seconds and dollars."""
    return mean(values).value


def _means(tables: Tables) -> Formulas:
    for table in tables.values():
        sets = _sets(table)
        if MEAN in table.columns and sets:
            words = f"mean over {len(sets)} sets"
            for n in range(len(table.rows)):
                yield (
                    (table.id, n, MEAN),
                    Formula(tuple((table.id, n, each) for each in sets), over_sets, words),
                )
        if table.rows[-1][0] == "Avg":
            # Its mean is that over its own sets, which is more direct than over systems.
            for column in (each for each in table.columns if each != MEAN):
                inputs = _column(tables, table.id, column)
                yield (
                    (table.id, len(table.rows) - 1, column),
                    Formula(inputs, middle, f"mean over {len(inputs)} systems"),
                )


def _balanced(tables: Tables) -> Formulas:
    recalls = ("irrelevant recall", "relevant recall")
    for table in tables.values():
        if "balanced accuracy" in table.columns:
            for n in range(len(table.rows)):
                inputs = tuple((table.id, n, each) for each in recalls)
                formula = Formula(inputs, middle, "mean of the two recalls")
                yield (table.id, n, "balanced accuracy"), formula


def _dream(tables: Tables) -> Formulas:
    for table, change, each_set in (
        ("dream-hit10", "gain", "dream-hit10-gain"),
        ("dream-ndcg10", "change", "dream-ndcg10-change"),
    ):
        for n in range(len(tables[table].rows) - 1):
            inputs = tuple((each_set, n, each) for each in tables[each_set].columns)
            yield (table, n, change), Formula(inputs, over_sets, "mean over the 7 sets’ changes")
    sets = tables["dream-sets"]
    total = _row(sets, "total")
    for column in sets.columns:
        if sets.rows[total][1][sets.columns.index(column)] is not None:
            inputs = _column(tables, sets.id, column)
            yield (sets.id, total, column), Formula(inputs, fsum, "sum of the 7 sets")
    parts = {
        "left by the filter": ("agreed in round 1", "disputed after round 1"),
        "disputed after round 1": ("agreed in round 2", "disputed after round 2"),
    }
    for whole, columns in parts.items():
        for n in range(total):
            inputs = tuple((sets.id, n, each) for each in columns)
            yield (sets.id, n, whole), Formula(inputs, fsum, f"{columns[0]} and {columns[1]}")
    of_sets, of_text = partial(_named, tables, sets.id), partial(_named, tables, "dream-text")
    left, agreed = "disputed after round 2", ("agreed in round 1", "agreed in round 2")
    refined = _column(tables, sets.id, "refined gold a query")
    ranked = _column(tables, "dream-hit10", MEAN) + _column(tables, "dream-hit10", "gain")
    given: dict[str, Formula] = {
        "labels": Formula(
            _column(tables, sets.id, "left by the filter"), fsum, "sum of the 7 sets"
        ),
        "settled by the debate": Formula(of_sets("total", *agreed), fsum, "sum of both rounds"),
        "left to people": Formula(_column(tables, sets.id, left), fsum, "sum of the 7 sets"),
        "left to people, %": Formula(
            of_text("left to people") + of_text("labels"), share, "left to people of all labels"
        ),
        "refined gold": Formula(
            of_text("original gold") + of_text("holes"), fsum, "original gold and holes"
        ),
        "holes per hundred original gold": Formula(
            of_text("original gold") + of_text("refined gold"), _growth, "growth rate of the gold"
        ),
        "gold a query": Formula(refined, over_sets, "mean over the 7 sets"),
        "cost of people, USD": Formula(
            of_text("left to people"),
            _pay,
            f"{VOTES} votes a pair of {SECONDS} seconds at ${PAY} an hour",
        ),
        "Hole@10 of 25 systems, %": Formula(
            _column(tables, "dream-hole10", MEAN), middle, "mean over 25 systems"
        ),
        "systems that change rank": Formula(
            ranked, _moved, "ranks by mean Hit@10 before and after, as printed"
        ),
        "RAGAlign@10 gained": Formula(
            _named(tables, "dream-ragalign", "Hit, Llama, original", MEAN)
            + _named(tables, "dream-ragalign", "Hit, Llama, refined", MEAN),
            gained,
            "refined minus original",
        ),
    }
    for name, formula in given.items():
        yield of_text(name)[0], formula


def _growth(values: Sequence[float]) -> float | None:
    before, after = (round(value) for value in values)
    found = np.array([np.arange(after) < before, np.ones(after, np.bool_)])
    rate = growth_rates(found, (0, 1))[1]
    return None if rate is None else 100 * rate


def _pay(values: Sequence[float]) -> float | None:
    plan = VotingPlan(hourly_pay=PAY, seconds_per_item=SECONDS)
    paid = plan.pay(VOTES * round(values[0]))
    return None if paid is None else float(paid)


def _moved(values: Sequence[float]) -> float:
    half = len(values) // 2
    after = np.array(values[:half])
    # What a leaderboard calls a change is the mean minus the base mean.
    before = after - np.array(values[half:])
    return float((ranks_of(before) != ranks_of(after)).sum())


def _stances(tables: Tables) -> Formulas:
    at = partial(_named, tables, "dream-stance")
    labels = ("irrelevant", "relevant")
    for each in (*labels, "total"):
        yield at(each, "total")[0], Formula(at(each, *labels), fsum, "sum of the row")
    for each in labels:
        inputs = tuple(at(row, each)[0] for row in labels)
        yield at("total", each)[0], Formula(inputs, fsum, "sum of the column")
    every = at("total", "total")
    same = at("irrelevant", "irrelevant") + at("relevant", "relevant") + every
    flipped = at("irrelevant", "relevant") + at("relevant", "irrelevant") + every
    for name, inputs in (("unchanged, %", same), ("changed, %", flipped)):
        words = "the labels that are alike, of all" if inputs is same else "flips of all"
        yield at(name, "total")[0], Formula(inputs, _share_of_two, words)
    stable = partial(_named, tables, "dream-stability")
    for column in tables["dream-stability"].columns[1:]:
        inputs = stable("agreed", column) + stable("cases", column)
        yield stable("persistence, %", column)[0], Formula(inputs, share, "agreed of all cases")


def _share_of_two(values: Sequence[float]) -> float | None:
    return share((fsum(values[:2]), values[2]))


def _marcus(tables: Tables) -> Formulas:
    before, after = tables["marcus-bright"], tables["marcus-plus"]
    for n in range(len(tables["marcus-gains"].rows)):
        for column in before.columns:
            inputs: tuple[Place, ...] = ((before.id, n, column), (after.id, n, column))
            yield ("marcus-gains", n, column), Formula(inputs, gained, "BRIGHT+ minus BRIGHT")
    chunks = tables["marcus-chunks"]
    for n in range(len(chunks.rows)):
        inputs = ((chunks.id, n, "after"), (chunks.id, n, "before"))
        yield (chunks.id, n, "kept"), Formula(inputs, _kept, "chunks after, of those before")
    for column in ("before", "after"):
        formula = Formula(_column(tables, chunks.id, column), fsum, "sum of the 7 sets")
        yield _named(tables, chunks.id, "total", column)[0], formula
    rag = tables["marcus-rag"]
    sets, at = _sets(rag), partial(_named, tables, rag.id)
    for name in ("S", "full"):
        inputs = at("none", *sets) + at(name, *sets) + at("full", *sets)
        words = "(its mean - none) / (full - none), means over the 7 sets"
        yield at(name, "relative gain, %")[0], Formula(inputs, _relative, words)
    # Where two decimals are printed they give a mean better than one.
    of = {
        "QWEN2, S": ("marcus-s", "QWEN2"),
        "GritLM, S": ("marcus-s", "GritLM"),
        "QWEN2, full": ("marcus-rewritten", "Qwen2, None"),
        "GritLM, full": ("marcus-rewritten", "GritLM, None"),
    }
    for name, (table, row) in of.items():
        inputs = _named(tables, table, row, *_sets(tables[table]))
        formula = Formula(inputs, over_sets, "mean over 7 sets")
        yield _named(tables, "marcus-text", name)[0], formula


def _kept(values: Sequence[float]) -> float | None:
    return retention(round(values[0]), round(values[1]))


def _relative(values: Sequence[float]) -> float | None:
    third = len(values) // 3
    none, variant, full = (over_sets(values[n * third : (n + 1) * third]) for n in range(3))
    found = relative_gain(none, variant, full)
    return None if found is None else 100 * found


def _bright_pro(tables: Tables) -> Formulas:
    adaptive = tables["brightpro-adaptive"]
    for n in range(len(adaptive.rows)):
        inputs: tuple[Place, ...] = ((adaptive.id, n, "quality"), (adaptive.id, n, "rounds"))
        formula = Formula(inputs, lambda given: aer(*given), "quality e^(-.05 (rounds - 1))")
        yield (adaptive.id, n, "AER"), formula
    card = tables["brightpro-card"]
    for column in card.columns[:6]:
        formula = Formula(_column(tables, card.id, column), fsum, "sum of the 7 sets")
        yield _named(tables, card.id, "total", column)[0], formula
    # Figures that Bright-Pro takes over from BRIGHT; DIVER prints their sets.
    original = "diver-retrievers-evaluate-retriever-with-original-query"
    known = {"DIVER-4B": "DIVER-Retriever(v1)", "GTE-7B": "gte-Qwen1.5-7B", "OpenAI-3L": "OpenAI"}
    for name, row in {**known, "ReasonIR-8B": "ReasonIR-8B", "BM25": "BM25"}.items():
        inputs = _named(tables, original, row, *_sets(tables[original]))
        formula = Formula(inputs, over_sets, "mean over the 12 sets that DIVER prints")
        yield _named(tables, "brightpro-bright", name, MEAN)[0], formula
    for name, row in {"GritLM": "GritLM", "INSTRUCTOR-XL": "Inst-XL"}.items():
        inputs = _named(tables, "bright-ndcg10", row, *_sets(tables["bright-ndcg10"]))
        formula = Formula(inputs, over_sets, "mean over the 12 sets that BRIGHT prints")
        yield _named(tables, "brightpro-bright", name, MEAN)[0], formula
    at = partial(_named, tables, "brightpro-text")
    files = ("21704heart_33_0.txt", "Ghrelin_6_1.txt", "Baroreceptor_3.txt")
    others = tuple(at(f"repetitions, {each}")[0] for each in files)
    yield at("repetitions that are no gold")[0], Formula(others, _repeated, "sum over documents")
    gold = at("repetitions, Baroreceptor_0.txt")
    yield at("repetitions of gold")[0], Formula(gold, _repeated, "sum over documents")


def _repeated(values: Sequence[float]) -> float:
    """Subtotals are sums whatever is gold."""
    rounds = {
        number: [str(doc) for doc, times in enumerate(values) if number <= round(times)]
        for number in range(1, round(max(values)) + 1)
    }
    others, _ = repetitions(rounds, {})
    return float(sum(times for _, times in others))


def _diver(tables: Tables) -> Formulas:
    pipelines = partial(_named, tables, "diver-full-pipelines")
    retrievers = partial(_named, tables, "diver-retrievers-evaluate-retriever-with-original-query")
    expansion = tables["diver-query-expansion-using-reasonir-retriever"]
    chunks = partial(_named, tables, "diver-dchunk")
    of = {
        "DIVER(v1) over XRR2": pipelines("XRR2", MEAN) + pipelines("DIVER(v1)", MEAN),
        "DIVER(v2) over BGE-Reasoner": pipelines("BGE-Reasoner", MEAN)
        + pipelines("DIVER(v2)", MEAN),
        "DIVER-Retriever(v1) over Seed1.5-Embedding": retrievers("Seed1.5-Embedding", MEAN)
        + retrievers("DIVER-Retriever(v1)", MEAN),
    }
    for set_ in ("psychology", "stackoverflow"):
        rows = ("DIVER-Retriever", "DIVER-Retriever, DChunk")
        of[f"DChunk, {set_}"] = tuple(chunks(row, set_)[0] for row in rows)
    at = partial(_named, tables, "diver-text")
    for name, inputs in of.items():
        yield at(name)[0], Formula(inputs, gained, "the second minus the first")
    every = tuple((expansion.id, n, MEAN) for n in range(len(expansion.rows)))
    formula = Formula(every, _over_best, "its mean minus the highest of the others")
    yield at("DIVER-QExpand over the best other expansion, ReasonIR")[0], formula


def _over_best(values: Sequence[float]) -> float | None:
    return gained((max(values[:-1]), values[-1]))


def _worked(tables: Tables) -> Formulas:
    found = worked_numbers()
    for n, (name, _) in enumerate(tables[WORKED].rows):
        value = partial(_given, found[name])
        yield (WORKED, n, SINGLE), Formula((), value, "the input that docs/protocol.md gives")


def _given(value: float | None, _: Sequence[float]) -> float | None:
    return value
