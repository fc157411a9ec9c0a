"""Ranking measures on arrays. Pure: no Django, network, clock or unseeded chance.

`Run.of` and `Gold.of` take plain dicts, `scoring.score` gives per-query values and their means;
docs/metrics.md says what each measure computes and how the profiles differ.
"""
