"""MARCUS: cleaning and splitting crawled pages with agents, the gold kept apart and checked.

Pure: no Django, no network, no clock, no chance. Follows docs/protocol.md 4.
"""
