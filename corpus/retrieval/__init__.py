"""Ranking a corpus here: word counts, BM25, TF-IDF, LSA, vectors, fusion. No Django, no network.

Every method is a Retriever (`protocol`), as are those that others install. Indexes are folders of
plain arrays; what is ranked comes as texts and leaves as (documents, scores), the documents
numbered in the order in which they were given.
"""
