"""A package of somebody else's, as it lies on a disk: one retriever in a module of its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corpus.computing import retrievers

MODULE = '''
"""Shared letters by all of both."""
import asyncio
import json

class Mute(Exception):
    def __str__(self):
        raise ValueError

class Tiny:
    title, version = "Tiny letters", "3"
    settings = {"least": (1, 1, 9), "fold": True, "wrong": ""}

    def __init__(self, folder, least=1, fold=True, wrong=""):
        self.path, self.least, self.wrong = folder / "letters.json", least, wrong
        self.fold = str.casefold if fold else str

    def index(self, texts):
        if self.wrong == "index":
            raise OSError("no room\\nfor letters")
        self.path.write_text(json.dumps([sorted(set(self.fold(text))) for text in texts]))

    def search(self, queries, k, order):
        texts = list(map(set, json.loads(self.path.read_text())))
        if self.wrong == "short":
            return []
        if self.wrong == "order":
            order[:] = order[::-1].copy()
        if self.wrong == "long":
            queries = [*queries, "one more"]
        return [self.one(query, texts, k) for query in queries]

    def one(self, query, texts, k):
        own = set(self.fold(query))
        shared = [(len(own & t) / (len(own | t) or 1), n) for n, t in enumerate(texts)
                  if len(own & t) >= self.least]
        shared = sorted(shared, key=lambda each: (-each[0], each[1]))[:k]
        numbers, scores = [n for _, n in shared], [score for score, _ in shared]
        match self.wrong:
            case "search": raise ZeroDivisionError("letters")
            case "exit": raise SystemExit(3)
            case "off": raise asyncio.CancelledError
            case "mute": raise Mute
            case "nul": raise OSError("no letter \\x00")
            case "unknown": numbers[-1] = 99
            case "negative": numbers[-1] = -1
            case "nan": scores[0] = float("nan")
            case "huge": scores[0] = 1e300
            case "twice": numbers[-1] = numbers[0]
            case "unequal": scores.pop()
            case "names": numbers = [str(n) for n in numbers]
            case "many": numbers, scores = [*numbers, 0], [*scores, 0.0]
            case "pair": return numbers[:1]
        return numbers, scores
'''
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
# What setuptools would do, which not every environment has.
BACKEND = """
import zipfile
from pathlib import Path

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name, about = "tiny_retriever-1.2-py3-none-any.whl", "tiny_retriever-1.2.dist-info"
    files = {
        "tiny_retriever.py": Path("tiny_retriever.py").read_text(),
        f"{about}/METADATA": "Metadata-Version: 2.1\\nName: tiny-retriever\\nVersion: 1.2\\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{about}/entry_points.txt": "[assay.retrievers]\\ntiny = tiny_retriever:Tiny\\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{each},,\\n" for each in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(Path(folder, name), "w") as wheel:
        for each, text in files.items():
            wheel.writestr(each, text)
    return name
"""


def write_source(folder: Path) -> Path:
    """The package as its author has it."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "tiny_retriever.py").write_text(MODULE)
    return folder


def place(
    folder: Path, points: str = "tiny = tiny_retriever:Tiny", *, name: str = "tiny-retriever"
) -> None:
    """The package as an installer leaves it, without the seconds that one takes."""
    (folder / "tiny_retriever.py").write_text(MODULE)
    about = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[assay.retrievers]\n{points}\n")


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Whatever lies in the folder is importable, as if this process had just begun."""
    sys.path.insert(0, str(folder))
    retrievers.forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("tiny_retriever", None)
        retrievers.forget()
