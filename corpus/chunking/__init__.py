"""Cleaning by rules and cutting long texts: DIVER's preparation (docs/protocol.md 5.1). Pure."""
