"""The files of the browsing benchmark.

Words of natural texts are spread very unevenly, those of loading_data.py are not: one word that
every text holds, and eight of which each text holds one, are put in front.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.bench.loading_data import make_folder

COMMON = "the"
_WORDS = ("there", "they", "then", "these", "contrast", "control", "construct", "sequoiadendron")


def make_files(root: Path, rows: int) -> None:
    """The folder of the loading benchmark with common words in front of every text."""
    make_folder(root, rows)
    for path in (root / "documents").iterdir():
        table = pq.read_table(path)
        words = pa.array(f"The {_WORDS[n % len(_WORDS)]}" for n in range(table.num_rows))
        texts = pc.binary_join_element_wise(words, table["content"], " ")
        pq.write_table(pa.table({"id": table["id"], "content": texts}), path)
