"""Building a claimed release: a folder that appears whole or not at all."""

import logging
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from corpus.versions.services import stored
from evaluation.background import failures_in_row
from evaluation.content.view import frozen, view_of
from evaluation.exporters.faults import BLOCKING
from evaluation.releases.models import Release, ReleaseState
from evaluation.releases.writing import Step, write_release
from kit import audit, storage
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import LostLease, RunStatus

logger = logging.getLogger(__name__)
BROKEN = "The release could not be built because of a fault in the program. Nothing was kept."
UNFIT = "A final release is refused while it has these faults."
UNWRITABLE = "The folder could not be written ({reason}). Fix that and try again."


def workplace(folder: Path, release: Release) -> Path:
    """A folder next to the final one, in which this claim of the release builds.

    What earlier, dead claims of the same release left there is swept away.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    stem = f".{folder.name}.building-{release.pk}-"
    for left in folder.parent.glob(f"{stem}*"):
        shutil.rmtree(left, ignore_errors=True)
    return folder.parent / f"{stem}{release.fence}"


def is_free(folder: Path) -> bool:
    """Whether a release may take this place: nothing there, or an empty folder."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def publish(built: Path, folder: Path) -> None:
    """Rename the finished folder to its place: it is there wholly or not at all.

    Under settings.RELEASES a folder that is in the way was left by a claim that died between this
    rename and its commit, and is replaced. Elsewhere it is somebody's: raises Refused.
    """
    if not is_free(folder):
        if not folder.is_relative_to(settings.RELEASES):
            raise Refused(f"{folder} is not empty. Choose a folder that does not exist yet.")
        shutil.rmtree(folder)
    storage.put(built, folder)


class ReleaseRefused(Refused):
    """A final release with a fault (as rows keep them) that no final release may have."""

    def __init__(self, faults: Sequence[dict[str, Any]]) -> None:
        words = " ".join(fault["message"] for fault in faults)
        super().__init__(f"{UNFIT} {words}")
        self.faults = faults


def carry_out(release: Release) -> None:
    """Build a claimed release and turn whatever goes wrong into its state, in plain words."""
    with failures_in_row(release, broken=BROKEN, fail=partial(fail, release)):
        try:
            build(release, folder=Path(release.folder))
        except ReleaseRefused as unfit:
            fail(release, unfit.message, faults=unfit.faults)
        except OSError as error:
            logger.exception("release %s", release.pk)
            fail(release, UNWRITABLE.format(reason=error.strerror or error))


def build(release: Release, *, folder: Path) -> None:
    """Build a claimed release into `folder`, which appears with the row's end or not at all.

    Raises LostLease where the run was stopped, Refused and NameClash where it cannot be built.
    """
    place = workplace(folder, release)
    try:
        with Heartbeat(release) as heartbeat:
            built = _write(release, place, heartbeat.step)
        with transaction.atomic():
            release.finish(**built)
            note_release(release, "build release", None, faults=len(built["faults"]))
            # Last, so that a refused or lost end leaves no folder and a failed rename no end.
            publish(place, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def rebuild(release: Release, *, folder: Path) -> None:
    """Build a finished version once more, into another folder; the row stays as it is.

    Raises Refused if the bytes would differ from what was built first: a version is one content.
    """
    place = workplace(folder, release)
    try:
        if _write(release, place, lambda done, total: None)["files"] != release.files:
            raise Refused(
                f"Version {release.version} exists, and the benchmark has changed since it was "
                "built. Choose another version."
            )
        publish(place, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def fail(release: Release, message: str, *, faults: Sequence[dict[str, Any]] | None = None) -> None:
    """End a claimed release as failed; leaves it alone where it is no longer ours.

    `faults` are those for which a final release was refused.
    """
    try:
        with transaction.atomic():
            release.finish(status=RunStatus.FAILED, error=message, faults=list(faults or ()))
            note_release(release, "fail release", None, error=message)
    except LostLease:
        logger.info("release %s was stopped or taken over", release.pk)


def _write(release: Release, place: Path, step: Step) -> dict[str, Any]:
    is_draft = release.state == ReleaseState.DRAFT
    with frozen():
        built = write_release(
            view_of(
                release.benchmark,
                stored(release.benchmark, release.corpus_version_id),
                confirmed_only=True,
            ),
            place,
            version=release.version,
            is_draft=is_draft,
            step=step,
            bar=release.agreement_bar,
            chain=release.chain,
        )
    blocking = [each for each in built["faults"] if each["check"] in BLOCKING]
    if blocking and not is_draft:
        raise ReleaseRefused(blocking)
    return built


def note_release(release: Release, verb: str, actor: User | None, **data: object) -> None:
    """Keep who did what to a release."""
    audit.record(actor, verb, release, release.benchmark.slug, {"version": release.version, **data})
