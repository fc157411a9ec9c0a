"""Reranking: the first passages of a retrieval run, brought into another order."""
