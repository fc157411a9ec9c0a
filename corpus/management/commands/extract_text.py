"""The main text of pages, for scripts: HTML, PDF or plain text, gzip or not."""

import gzip
import json
import zlib
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpus.extraction import Page, Unreadable, extract_html, extract_text
from corpus.importers.files import is_crowded
from corpus.pages.reading import PDF, read_apart

_MAX_BYTES = 64 * 1024 * 1024
# What is read of a folder; a single file may be called anything.
_ENDINGS = (".html", ".htm", ".xhtml", ".pdf", ".txt", ".md")


class Command(BaseCommand):
    help = (
        "Print the main text of a page (HTML, PDF or plain text), or with --json its blocks. Of a "
        "folder a JSON line for each page: file, title and main text, or the error."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a page, or a folder of pages")
        parser.add_argument("--url", help="where the page came from; helps to read its metadata")
        parser.add_argument("--json", action="store_true", help="all text, with offsets of blocks")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if path.is_dir():
            self._folder(path, options)
            return
        page = _page(path, options["url"])
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(page), ensure_ascii=False))
        else:
            self.stdout.write(page.main)

    def _folder(self, folder: Path, options: dict[str, Any]) -> None:
        """A line for each page in the order of names; exit code 1 where one could not be read."""
        if options["url"]:
            raise CommandError("--url goes with one page.")
        if is_crowded(folder):
            raise CommandError(f"{folder} holds too many files.")
        done = failed = others = 0
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            if not path.name.lower().removesuffix(".gz").endswith(_ENDINGS):
                others += 1
                continue
            try:
                page = _page(path, None)
            except CommandError as error:
                row: dict[str, Any] = {"file": name, "error": str(error)}
                failed += 1
            else:
                row = {"file": name, "title": page.title, "main_text": page.main}
                row |= _as_json(page) if options["json"] else {}
                done += 1
            self.stdout.write(json.dumps(row, ensure_ascii=False))
        self.stderr.write(
            f"{done} pages, {failed} that could not be read, {others} files that are no pages"
        )
        if failed or not done:
            raise SystemExit(1)


def _files(folder: Path) -> Iterator[Path]:
    """Files of a folder and its folders, none hidden, links not followed."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _page(path: Path, url: str | None) -> Page:
    """The page of a file. Raises CommandError that names it."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            body = file.read(_MAX_BYTES + 1)
        if len(body) > _MAX_BYTES:
            raise CommandError(f"{path}: larger than {_MAX_BYTES // 1024**2} MB")
        name = path.name.removesuffix(".gz").lower()
        if body.startswith(b"%PDF-") or name.endswith(".pdf"):
            # A process for each: a PDF of two kilobytes can be built to cost hours.
            return read_apart(body, PDF)
        if name.endswith((".txt", ".md")):
            return extract_text(body)
        return extract_html(body, url=url)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (EOFError, zlib.error):
        raise CommandError(f"{path}: broken off, or not gzip") from None
    except Unreadable as error:
        raise CommandError(f"{path}: {error}") from None


def _as_json(page: Page) -> dict[str, Any]:
    """`text` is all that the page shows; each block is a slice [start, end) of it, code points."""
    return {
        "title": page.title,
        "main_text": page.main,
        "text": page.text,
        "blocks": [
            {
                "start": span.start,
                "end": span.end,
                "kind": str(span.kind),
                "level": span.level,
                "is_main": span.is_main,
            }
            for span in page.spans
        ],
    }
