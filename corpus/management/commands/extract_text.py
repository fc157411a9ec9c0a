"""The main text of one page, for scripts: HTML, PDF or plain text, gzip or not."""

import gzip
import json
import zlib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpus.extraction import Page, Unreadable, extract_html, extract_pdf, extract_text

_MOST_BYTES = 64 * 1024 * 1024


class Command(BaseCommand):
    help = "Print the main text of a page (HTML, PDF or plain text), or with --json its blocks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--url", help="where the page came from; helps to read its metadata")
        parser.add_argument("--json", action="store_true", help="all text, with offsets of blocks")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            page = _extract(_read(path), path, options["url"])
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or 'cannot be read'}") from None
        except (EOFError, zlib.error):
            raise CommandError(f"{path}: broken off, or not gzip") from None
        except Unreadable as error:
            raise CommandError(f"{path}: {error}") from None
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(page), ensure_ascii=False))
        else:
            self.stdout.write(page.main)


def _read(path: Path) -> bytes:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        body = file.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise CommandError(f"{path}: larger than {_MOST_BYTES // 1024**2} MB")
    return body


def _extract(body: bytes, path: Path, url: str | None) -> Page:
    name = path.name.removesuffix(".gz").lower()
    if body.startswith(b"%PDF-") or name.endswith(".pdf"):
        return extract_pdf(body)
    if name.endswith((".txt", ".md")):
        return extract_text(body)
    return extract_html(body, url=url)


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
