"""Ranking a corpus here: word counts, BM25, TF-IDF, LSA, vectors, fusion. No Django, no network.

Indexes are folders of plain arrays; what is ranked comes as texts and leaves as (documents,
scores), the documents numbered in the order in which they were given.
"""

from typing import Final

# Defaults that forms show: here, because the modules that use them are slow to import.
K1: Final = 0.9
B: Final = 0.4
DIMENSIONS: Final = 128
