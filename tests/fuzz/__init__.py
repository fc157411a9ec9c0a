"""Readers of files against files that are broken on purpose: `make fuzz`."""
