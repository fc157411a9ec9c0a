"""Semantic versions of releases: major.minor.patch, with an optional pre-release or build part."""

import re
from collections.abc import Iterable

FIRST = "0.1.0"
_NUMBER = r"(?:0|[1-9][0-9]*)"
_LABEL = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-{_LABEL}(?:\.{_LABEL})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def core(version: str) -> tuple[int, int, int] | None:
    """(major, minor, patch), or None where the text is no semantic version (semver.org, 2.0)."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def suggest(existing: Iterable[str]) -> str:
    """The next minor version after the highest of these."""
    known = [found for version in existing if (found := core(version))]
    if not known:
        return FIRST
    major, minor, _ = max(known)
    return f"{major}.{minor + 1}.0"
