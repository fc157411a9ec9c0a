"""Runs, gold, aspects and exclusions out of files; every fault is named with file and line."""
