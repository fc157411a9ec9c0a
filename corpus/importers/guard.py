"""What every reader is wrapped in: whatever a path holds, it answers with problems."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from corpus.importers.files import Meter
from corpus.importers.listing import MOST_ENTRIES, is_crowded, name_of
from corpus.importers.reading import Unreadable
from corpus.importers.rows import Place, Problem

T = TypeVar("T")


class Guarded(Generic[T]):
    """A reader that raises nothing about what the files hold; T includes Problem."""

    def __init__(self, read: Callable[..., Iterator[T]]) -> None:
        self._read = read

    def __call__(
        self, path: Path, *, qrels: Path | None = None, meter: Meter | None = None, domain: str = ""
    ) -> Iterator[T]:
        """The reader's own rows; a problem instead of an error about a file."""
        named = {"domain": domain} if domain else {}
        try:
            yield from self._crowded(path, qrels) or self._read(
                path, qrels=qrels, meter=meter, **named
            )
        except Unreadable as fault:
            yield self._problem(Place(name_of(path), fault.line), fault.message)
        except OSError as error:
            name = Path(error.filename).name if error.filename else name_of(path)
            yield self._problem(Place(name), "The file cannot be read.")

    def _crowded(self, *paths: Path | None) -> list[Any]:
        message = f"The folder holds more than {MOST_ENTRIES:,} files; give one that holds fewer."
        return [
            self._problem(Place(name_of(each)), message)
            for each in paths
            if each and is_crowded(each)
        ]

    def _problem(self, place: Place, message: str) -> Any:
        return Problem(place, message)
