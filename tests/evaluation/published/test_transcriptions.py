"""The printed tables as they were copied: their sizes, their means, and what is printed twice."""

from math import isclose

from evaluation.published.services import CHANGES, MEAN, PublishedTable, plain, table_called, tables

# Rows and columns as the papers have them, of tables with several columns.
SIZES = {
    "bright-ndcg10": (13, 13),
    "brightpro-adaptive": (6, 4),
    "brightpro-alpha-ndcg25": (8, 8),
    "brightpro-arecall25": (8, 8),
    "brightpro-card": (8, 8),
    "brightpro-fixed": (6, 9),
    "brightpro-lengths": (7, 3),
    "brightpro-ndcg25": (8, 8),
    "brightpro-recall25": (8, 8),
    "diver-dchunk": (4, 8),
    "diver-full-pipelines": (12, 13),
    "diver-query-expansion-using-bm25-retriever": (5, 13),
    "diver-query-expansion-using-reasonir-retriever": (5, 13),
    "diver-retrievers-evaluate-retriever-with-diver-qexpand-query": (4, 13),
    "diver-retrievers-evaluate-retriever-with-gpt-4-reason-query": (9, 13),
    "diver-retrievers-evaluate-retriever-with-original-query": (11, 13),
    "dream-agents": (10, 4),
    "dream-cost": (3, 3),
    "dream-history": (2, 4),
    "dream-hit10": (26, 9),
    "dream-hit10-gain": (26, 7),
    "dream-hole10": (26, 8),
    "dream-labelling": (7, 4),
    "dream-ndcg10": (26, 9),
    "dream-ndcg10-change": (26, 7),
    "dream-ragalign": (8, 8),
    "dream-rounds": (4, 3),
    "dream-sets": (8, 14),
    "dream-stability": (4, 5),
    "dream-stance": (5, 3),
    "marcus-bright": (4, 8),
    "marcus-c": (4, 8),
    "marcus-chunks": (8, 3),
    "marcus-full": (4, 8),
    "marcus-gains": (4, 8),
    "marcus-plus": (4, 8),
    "marcus-rag": (3, 9),
    "marcus-rerankers": (12, 7),
    "marcus-rewritten": (24, 7),
    "marcus-s": (4, 8),
}
# Printed means that are not those of the printed sets, by more than rounding can bring.
WRONG = {("dream-ndcg10", "ANCE")}


def sets_of(table: PublishedTable, values: list[float | None]) -> list[float]:
    others = (MEAN, *CHANGES, "relative gain, %")
    pairs = zip(table.columns, values, strict=True)
    return [value for column, value in pairs if column not in others and value is not None]


def test_every_table_has_the_rows_and_columns_of_the_paper() -> None:
    found = {each.id: (len(each.rows), len(each.columns)) for each in tables().values()}
    assert {name: size for name, size in found.items() if size[1] > 1} == SIZES
    for table in tables().values():
        assert all(len(values) == len(table.columns) for _, values in table.rows), table.id
        assert table.where, table.id


def test_every_printed_mean_is_that_of_its_sets() -> None:
    wrong, checked = set(), 0
    for table in tables().values():
        if MEAN not in table.columns or len(table.columns) == 1:
            continue
        place = table.columns.index(MEAN)
        # Half a unit of the mean, and half a unit of each set.
        unit = 0.01 if table.unit == "share" else 0.1
        for name, values in table.rows:
            sets, printed = sets_of(table, values), values[place]
            assert printed is not None
            checked += 1
            if abs(sum(sets) / len(sets) - printed) > unit + 1e-9:
                wrong.add((table.id, name))
    assert wrong == WRONG
    assert checked > 200


def test_rows_of_bright_are_those_that_other_papers_print() -> None:
    bright = table_called("bright-ndcg10")
    known = {name: dict(zip(bright.columns, values, strict=True)) for name, values in bright.rows}
    names = {"QWEN2": "Qwen", "gte-Qwen1.5-7B": "Qwen"}
    compared = set()
    for other in (
        "marcus-bright",
        "diver-retrievers-evaluate-retriever-with-original-query",
    ):
        table = table_called(other)
        for name, values in table.rows:
            row = known.get(names.get(name, name))
            for column, value in zip(table.columns, values, strict=True):
                if row is not None and (column != MEAN or "diver" in other):
                    assert value is not None
                    assert isclose(row[column] or 0, value), (other, name, column)
                    compared.add(plain(names.get(name, name)))
    assert compared == {"bm25", "bge", "gritlm", "qwen", "sbert", "openai", "google"}
