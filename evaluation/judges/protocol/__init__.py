"""Shapes of TREC AutoJudge, and how far two rankings of systems agree. Pure."""
