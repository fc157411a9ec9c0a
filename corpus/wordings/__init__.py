"""Queries in other words: imported, rewritten by a model, or expanded with what they retrieve."""
