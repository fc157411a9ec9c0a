"""Loaded before Django reads its settings: nothing of the suite may touch a person's data."""

import atexit
import gc
import os
import shutil
import tempfile

# What a page leaves behind is mostly gone by itself: looking for garbage every few hundred objects
# took a tenth of the tests' time, and a fifth of the time in which they are collected.
gc.set_threshold(50_000, 20, 20)

# Nothing here outlives the run, so it lies in memory where that is offered with room to spare.
_MEMORY, _ROOM = "/dev/shm", 2 * 2**30


def _folder() -> str | None:
    is_offered = os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK)
    return _MEMORY if is_offered and shutil.disk_usage(_MEMORY).free > _ROOM else None


if "ASSAY_TEST_DATA" not in os.environ:
    os.environ["ASSAY_TEST_DATA"] = tempfile.mkdtemp(prefix="assay-tests-", dir=_folder())
    atexit.register(shutil.rmtree, os.environ["ASSAY_TEST_DATA"], ignore_errors=True)
    if _folder() is not None:
        # Tests make thousands of small files; on a disk deleting them took seconds at the end.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", os.environ["ASSAY_TEST_DATA"])
# A folder for each process of a run: keys come again in its database, and files are named
# by them.
os.environ["ASSAY_DATA"] = os.path.join(
    os.environ["ASSAY_TEST_DATA"], os.environ.get("PYTEST_XDIST_WORKER", "alone")
)
os.environ["SECRET_KEY"] = "tests-only-0123456789-0123456789-0123456789"
for _name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ASSAY_PRACTICE_URL", "DEBUG", "ALLOWED_HOSTS"):
    os.environ.pop(_name, None)
for _name in [name for name in os.environ if name.startswith(("ASSAY_MODEL", "ASSAY_ENDPOINTS"))]:
    del os.environ[_name]
# Tests count calls: the tiny one before a run's first is tried where a test asks for it.
os.environ["ASSAY_TRY_FIRST"] = "off"
# As often as tests and measurements like; those of the limits set their own.
for _name in ("PERSON", "TOKEN", "UPLOADS"):
    os.environ[f"ASSAY_RATE_{_name}"] = ""
os.makedirs(os.path.join(os.environ["ASSAY_DATA"], "static"), exist_ok=True)
