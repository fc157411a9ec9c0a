"""The practice model: an OpenAI-compatible endpoint that needs no key, for learning and tests.

It is deterministic and knows nothing: it compares words (docs/protocol.md 8).
"""
