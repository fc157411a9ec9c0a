"""The rules of generated answers (docs/protocol.md 2.10, 4.7): prompts, reading, measures. Pure."""
