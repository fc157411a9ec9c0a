"""Loaded before Django reads its settings: nothing of the suite may touch a person's data."""

import atexit
import os
import shutil
import tempfile

# Nothing here outlives the run, so it lies in memory where that is offered with room to spare.
_MEMORY, _ROOM = "/dev/shm", 2 * 2**30


def _folder() -> str | None:
    is_offered = os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK)
    return _MEMORY if is_offered and shutil.disk_usage(_MEMORY).free > _ROOM else None


if "ASSAY_TEST_DATA" not in os.environ:
    os.environ["ASSAY_TEST_DATA"] = tempfile.mkdtemp(prefix="assay-tests-", dir=_folder())
    atexit.register(shutil.rmtree, os.environ["ASSAY_TEST_DATA"], ignore_errors=True)
os.environ["ASSAY_DATA"] = os.environ["ASSAY_TEST_DATA"]
os.environ["SECRET_KEY"] = "tests-only-0123456789-0123456789-0123456789"
for _name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ASSAY_PRACTICE_URL", "DEBUG", "ALLOWED_HOSTS"):
    os.environ.pop(_name, None)
os.makedirs(os.path.join(os.environ["ASSAY_DATA"], "static"), exist_ok=True)
