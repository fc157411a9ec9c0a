"""Methods of ranking by their names: those that are here, and retrievers that others installed."""

import functools
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from math import isfinite
from typing import Any, Final

from corpus.computing.models import Method
from corpus.retrieval.postings import BM25, TFIDF
from corpus.retrieval.protocol import GROUP, Default
from corpus.retrieval.vectors import LSA
from llm.parsing import UNSTORABLE

logger = logging.getLogger(__name__)
BUILT_IN: Final[dict[str, type[Any]]] = {Method.BM25: BM25, Method.TFIDF: TFIDF, Method.LSA: LSA}
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_SETTING: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
# What the host itself calls so.
_TAKEN: Final = frozenset(
    {"method", "depth", "by_document", "queries", "runs", "weights", "retriever", "name"}
    | {"budget_usd", "version", "folder"}
)
_LONGEST: Final = 300


@dataclass(frozen=True)
class Known:
    """A retriever by its name; `fault` says in one line why it cannot be used."""

    name: str
    title: str
    kind: type[Any] | None = None
    # The package that it came in and its own version; "" for what is here.
    stamp: str = ""
    settings: Mapping[str, Default] = field(default_factory=dict)
    fault: str = ""


@functools.cache
def _points() -> dict[str, list[EntryPoint]]:
    """Entry points by name, as they were when this process first asked."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return dict(sorted(found.items()))


@functools.cache
def known(name: str) -> Known | None:
    """A retriever of this name, loaded; None where there is none."""
    if name in BUILT_IN:
        kind = BUILT_IN[name]
        return Known(name, kind.title, kind, settings=kind.settings)
    points = _points().get(name)
    return _loaded(name, points) if points and name not in Method.values else None


def forget() -> None:
    """Look anew what is installed."""
    _points.cache_clear()
    known.cache_clear()


def names() -> list[str]:
    """All methods, those of others last; none of them is loaded."""
    return [*Method.values, *(name for name in _points() if name not in Method.values)]


def label_of(method: str) -> str:
    """What people call a method."""
    if method in Method.values:
        return str(Method(method).label)
    found = known(method)
    return found.title if found else method


def shadowed() -> list[str]:
    """Faults of retrievers that bear the name of a method that is here."""
    return [
        f"The retriever {name} of {_package(point)} is left out: a method here has that name."
        for name, points in _points().items()
        if name in Method.values
        for point in points
    ]


def _loaded(name: str, points: list[EntryPoint]) -> Known:
    package = " and ".join(map(_package, points))
    try:
        if len(points) > 1:
            raise ValueError("several packages bring one of this name; uninstall all but one")
        if not _NAME.fullmatch(name):
            raise ValueError("a name is at most 40 small letters, digits, and . _ -")
        kind = points[0].load()
        settings = dict(kind.settings)
        _check(kind, settings)
        stamp = f"{package}, {str(kind.version).strip()}"
        return Known(name, str(kind.title).strip()[:80], kind, stamp[:200], settings)
    # The code of others: whatever it raises, the methods that are here go on.
    except (Exception, SystemExit) as error:
        logger.warning("retriever %s of %s", name, package, exc_info=True)
        return Known(name, name, fault=f"The retriever {name} of {package} cannot be used: "
                     f"{in_one_line(error)}")  # fmt: skip


def in_one_line(error: BaseException) -> str:
    """What went wrong, in one line of at most 300 characters, whatever others' code says of it."""
    try:
        words = str(error)
    except Exception:
        words = "it does not say why"
    said = " ".join(f"{type(error).__name__}: {words}".split())
    said = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", said)
    return said[:_LONGEST] + ("…" if len(said) > _LONGEST else "")


def _check(kind: Any, settings: Mapping[str, Any]) -> None:
    for name in ("index", "search"):
        if not callable(getattr(kind, name, None)):
            raise TypeError(f"it has no method {name}")
    for name in ("title", "version"):
        value = getattr(kind, name)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise TypeError(f"its {name} is not a text in one line")
    for name, value in settings.items():
        if not isinstance(name, str) or not _SETTING.fullmatch(name) or name in _TAKEN:
            raise ValueError(f"a setting cannot be called {name!r}")
        numbers = value if isinstance(value, tuple) else (value,)
        kinds = int | float if isinstance(value, tuple) else bool | int | float | str
        if len(numbers) not in (1, 3) or not all(isinstance(each, kinds) for each in numbers):
            raise ValueError(f"the setting {name} is neither a default nor (default, least, most)")
        if not isinstance(value, str) and not all(map(isfinite, numbers)):
            raise ValueError(f"the setting {name} is no finite number")
        if isinstance(value, tuple) and not value[1] <= value[0] <= value[2]:
            raise ValueError(f"the default of {name} is not between its least and its most")


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
