"""Verbs on releases. A draft is built from what stands at one moment; its faults are printed."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from corpus.access import Access
from corpus.models import Benchmark
from evaluation.exporters.faults import BLOCKING, Fault
from evaluation.exporters.names import NameClash
from evaluation.models import Release, ReleaseState
from evaluation.services import folders, versions
from evaluation.services.frozen import frozen
from evaluation.services.view import view_of
from evaluation.services.writing import Built, Step, write_release
from kit import audit
from kit.errors import Refused
from kit.pulse import Pulse
from kit.runs import LostLease, RunStatus, wake

logger = logging.getLogger(__name__)
BROKEN = "The release could not be built because of a fault in the program. Nothing was kept."
UNFIT = "A final release is refused while it has these faults."
UNWRITABLE = "The folder could not be written ({reason}). Mend that and try again."


class Unfit(Refused):
    """A final release with a fault that no final release may have."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        words = " ".join(fault.message for fault in faults)
        super().__init__(f"{UNFIT} {words}")
        self.faults = faults


def start_release(
    *, access: Access, version: str, final: bool = False, agreement_bar: float | None = None
) -> Release:
    """Ask for this version, a draft or final, and wake a worker; raises Refused (with the field).

    `agreement_bar` is the least agreement of voters (Fleiss' kappa) that is wanted.
    """
    folder = folders.folder_for(access.benchmark.slug, version)
    with transaction.atomic():
        release = _create(
            access.benchmark, version, folder, access.user, final=final, bar=agreement_bar
        )
        wake(release)
    return release


def start_here(
    *,
    benchmark: Benchmark,
    version: str,
    folder: Path,
    final: bool = False,
    agreement_bar: float | None = None,
) -> Release:
    """Make a release that this process builds itself: claimed before anybody can see it.

    A version that failed is taken up again; any other that exists raises Refused.
    """
    with transaction.atomic():
        release = benchmark.releases.filter(version=version, status=RunStatus.FAILED).first()
        if release is not None:
            retry_release(release=release, actor=None, folder=folder)
            state = _state(final)
            Release.objects.filter(pk=release.pk).update(state=state, agreement_bar=agreement_bar)
        else:
            release = _create(benchmark, version, folder, None, final=final, bar=agreement_bar)
        release.claim()
    return release


def retry_release(*, release: Release, actor: User | None, folder: Path | None = None) -> None:
    """Put a failed release back into the queue; raises Refused where it did not fail."""
    failed = Release.objects.filter(pk=release.pk, status=RunStatus.FAILED)
    with transaction.atomic():
        place = str(folder or release.folder)
        if not failed.update(status=RunStatus.QUEUED, ended_at=None, error="", folder=place):
            raise Refused("Only a release that failed can be tried again.")
        release.refresh_from_db()
        _note(release, "retry release", actor)
        wake(release)


def cancel_release(*, release: Release, actor: User) -> None:
    """Stop a release that is not over; its worker throws away what it wrote."""
    with transaction.atomic():
        if not release.move(RunStatus.CANCELLED):
            raise Refused("This release is over already.")
        _note(release, "cancel release", actor)


def suggested_version(benchmark: Benchmark) -> str:
    """The version that the form proposes."""
    return versions.suggest(benchmark.releases.values_list("version", flat=True))


def carry_out(release: Release) -> None:
    """Build a claimed release and turn whatever goes wrong into its state, in plain words."""
    try:
        build(release, folder=Path(release.folder))
    except LostLease:
        logger.info("release %s was stopped or taken over", release.pk)
    except Unfit as unfit:
        fail(release, unfit.message, faults=[each.as_json() for each in unfit.faults])
    except Refused as refusal:
        fail(release, refusal.message)
    except NameClash as clash:
        fail(release, str(clash))
    except OSError as error:
        logger.exception("release %s", release.pk)
        fail(release, UNWRITABLE.format(reason=error.strerror or error))
    except Exception:
        logger.exception("release %s", release.pk)
        fail(release, BROKEN)


def build(release: Release, *, folder: Path) -> None:
    """Build a claimed release into `folder`, which appears with the row's end or not at all.

    Raises LostLease where the run was stopped, Refused and NameClash where it cannot be built.
    """
    place = folders.workplace(folder, release)
    try:
        with Pulse(release) as pulse:
            built = _write(release, place, pulse.step)
        with transaction.atomic():
            release.finish(**_outcome(built))
            _note(release, "build release", None, faults=len(built.faults))
            # Last, so that a refused or lost end leaves no folder and a failed rename no end.
            folders.publish(place, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def rebuild(release: Release, *, folder: Path) -> None:
    """Build a finished version once more, into another folder; the row stays as it is.

    Raises Refused if the bytes would differ from what was built first: a version is one content.
    """
    place = folders.workplace(folder, release)
    try:
        if _write(release, place, lambda done, total: None).files != release.files:
            raise Refused(
                f"Version {release.version} exists, and the benchmark has changed since it was "
                "built. Choose another version."
            )
        folders.publish(place, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def fail(release: Release, message: str, *, faults: Sequence[dict[str, Any]] | None = None) -> None:
    """End a claimed release as failed; leaves it alone where it is no longer ours.

    `faults` are those for which a final release was refused.
    """
    try:
        with transaction.atomic():
            release.finish(status=RunStatus.FAILED, error=message, faults=list(faults or ()))
            _note(release, "fail release", None, error=message)
    except LostLease:
        logger.info("release %s was stopped or taken over", release.pk)


def _write(release: Release, place: Path, step: Step) -> Built:
    is_draft = release.state == ReleaseState.DRAFT
    with frozen():
        built = write_release(
            view_of(release.benchmark),
            place,
            version=release.version,
            is_draft=is_draft,
            step=step,
            bar=release.agreement_bar,
        )
    blocking = [each for each in built.faults if each.check in BLOCKING]
    if blocking and not is_draft:
        raise Unfit(blocking)
    return built


def _outcome(built: Built) -> dict[str, Any]:
    """What the row keeps of a finished folder."""
    documents = sum(each.documents for each in built.splits.values())
    return {
        "done": documents,
        "total": documents,
        "counts": built.counts,
        "faults": [each.as_json() for each in built.faults],
        "files": dict(built.files),
    }


def _state(final: bool) -> ReleaseState:
    return ReleaseState.FINAL if final else ReleaseState.DRAFT


def _create(
    benchmark: Benchmark,
    version: str,
    folder: Path,
    actor: User | None,
    *,
    final: bool,
    bar: float | None,
) -> Release:
    if versions.core(version) is None or len(version) > 40:
        message = f"“{version}” is no version. Write three numbers, such as 0.1.0."
        raise Refused(message, field="version")
    if bar is not None and not -1.0 <= bar <= 1.0:
        raise Refused("A kappa lies between -1 and 1.", field="agreement_bar")
    # Without regard to case: some file systems would put both into one folder.
    present = benchmark.releases.filter(version__iexact=version).first()
    if present is not None:
        raise _taken(version, present.status)
    try:
        with transaction.atomic():
            release = Release.objects.create(
                benchmark=benchmark,
                version=version,
                state=_state(final),
                agreement_bar=bar,
                folder=str(folder),
                created_by=actor,
            )
    except IntegrityError:
        raise _taken(version, RunStatus.QUEUED) from None
    _note(release, "start release", actor)
    return release


def _taken(version: str, status: str) -> Refused:
    why = {
        RunStatus.DONE: "exists already",
        RunStatus.CANCELLED: "was stopped, and a version is used once",
        RunStatus.FAILED: "failed; its page can try it again",
    }.get(RunStatus(status), "is being built")
    return Refused(f"Version {version} {why}. Choose another one.", field="version")


def _note(release: Release, verb: str, actor: User | None, **data: object) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target=release,
        scope=release.benchmark.slug,
        data={"version": release.version, **data},
    )
