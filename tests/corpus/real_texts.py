"""Real texts of ../shared/data, where they are; a test that needs them skips elsewhere."""

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.conftest import SHARED


def need(name: str) -> Path:
    """A folder of the shared data."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} of ../shared/data is not here")
    return path


def clean_pages(count: int) -> list[str]:
    """Texts of Cranfield and HotpotQA that hold no boilerplate."""
    found = [
        "\n".join(part.strip() for part in body.strip().split("\n"))
        for body in re.findall(
            r"^\.W\n(.*?)(?=^\.I |\Z)",
            (need("cranfield") / "cran.all.1400").read_text(errors="replace"),
            re.DOTALL | re.MULTILINE,
        )
    ]
    with gzip.open(need("hotpotqa") / "dev_250.jsonl.gz", "rt", encoding="utf-8") as rows:
        found += [text for row in rows for text in _long_texts(json.loads(row))]
    unique = [text for text in dict.fromkeys(found) if text.strip()]
    assert len(unique) >= count
    return unique[: count // 2] + unique[-(count - count // 2) :]


def noisy_texts() -> list[str]:
    """Passages of BRIGHT as they were crawled."""
    with gzip.open(need("bright") / "noisy-text" / "200.jsonl.gz", "rt", encoding="utf-8") as rows:
        return [json.loads(row)["retrieved_text_concatenated"] for row in rows]


def web_pages() -> list[str]:
    """Raw HTML of real pages."""
    files = sorted(need("web-cleaning-dev").glob("**/html/*.html.gz"))
    return [gzip.open(path, "rt", encoding="utf-8", errors="replace").read() for path in files]


def _long_texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) > 150 else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _long_texts(each)]
