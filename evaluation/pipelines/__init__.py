"""Pipelines of retrieval as one run, and methods by retrievers, ours beside the printed figures."""
