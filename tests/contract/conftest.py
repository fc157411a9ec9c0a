"""The same answers wherever the suite runs, and whatever ran before."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _own_place(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path_factory: Any) -> None:
    """Defaults of options are the project's own, and no index of another test is found."""
    for name in ("HOST", "PORT", "ASSAY_URL"):
        monkeypatch.delenv(name, raising=False)
    settings.INDEXES = tmp_path_factory.mktemp("indexes")
