"""Data sets of a hub, fetched into a folder that an importer reads.

The one place that uses the `datasets` library, and the only importing that needs a network. A path
of a local folder with a data card works too, and needs none.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from corpus.importers.files import LICENCES
from kit.errors import Refused

# Configurations of each format that lies on a hub; the first must be there.
CONFIGURATIONS = {
    "bright_pro": ("examples", "aspects", "documents", "machine_gold"),
    "bright": ("examples", "documents", "long_documents"),
}
# Of a release the labels of every pair, zeros and grades, and its licences, too: files beside its
# configurations.
BESIDE = ("beir/*/qrels/test.tsv", "qrels/*.expert.txt", LICENCES)


@contextmanager
def fetched(name: str, *, format: str) -> Iterator[Path]:
    """A folder `{configuration}/{split}.parquet` of the data set, for as long as the block runs.

    Raises Refused, saying what to do, if the library is missing, or the data set cannot be had.
    """
    if format not in CONFIGURATIONS:
        known = ", ".join(CONFIGURATIONS)
        raise Refused(f"Data sets of a hub are taken in these formats: {known}.", field="format")
    uploads = Path(settings.UPLOADS)
    uploads.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="hub-", dir=uploads))
    try:
        target = folder / "data"
        _fetch(name, CONFIGURATIONS[format], target, cache=folder / "cache")
        yield target
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetch(name: str, configurations: tuple[str, ...], target: Path, *, cache: Path) -> None:
    datasets = _library()
    try:
        # Only what the data set has: BRIGHT-like sets come without pages, others without aspects.
        present = set(datasets.get_dataset_config_names(name))
        if configurations[0] not in present:
            found = ", ".join(sorted(present)) or "none"
            message = f"{name} has no configuration {configurations[0]!r}; it has: {found}."
            raise Refused(message, field="hub")
        for each in configurations:
            if each in present:
                folder = target / each
                folder.mkdir(parents=True)
                for split, rows in datasets.load_dataset(name, each, cache_dir=str(cache)).items():
                    rows.to_parquet(str(folder / f"{split}.parquet"))
        _fetch_beside(name, target)
    except Refused:
        raise
    # The library and what it calls raise errors of some twenty families.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0][:300] or type(error).__name__
        message = (
            f"{name} could not be fetched ({reason}). Check its name and the network, or download "
            "it elsewhere and give the folder's path."
        )
        raise Refused(message, field="hub") from error


def _fetch_beside(name: str, target: Path) -> None:
    if not Path(name).is_dir():
        from huggingface_hub import snapshot_download  # slow to import

        beside = list(BESIDE)
        snapshot_download(name, repo_type="dataset", local_dir=target, allow_patterns=beside)
        return
    for found in (each for pattern in BESIDE for each in Path(name).glob(pattern)):
        kept = target / found.relative_to(name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, kept)


def _library() -> Any:
    try:
        import datasets  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        message = (
            "Fetching from a hub needs the package `datasets`, which is not installed: "
            "pip install datasets. Without it, give the path of a downloaded folder."
        )
        raise Refused(message, field="hub") from error
    return datasets
