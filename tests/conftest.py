"""Everything the suite shares."""

from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

# How long an example takes says more about the machine than about the code.
hypothesis_settings.register_profile("suite", deadline=None)
hypothesis_settings.load_profile("suite")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _fast_passwords(settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session")
def handover_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where workers of this process mark what they send."""
    return tmp_path_factory.mktemp("handover")


@pytest.fixture(autouse=True)
def _marks_elsewhere(settings, handover_folder: Path) -> None:
    settings.HANDOVER = handover_folder


@pytest.fixture
def shared() -> Path:
    """The folder of real data; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared/data is not present")
    return SHARED
