"""Whether sentences of answers are supported by what they cite (docs/protocol.md 3.7)."""
