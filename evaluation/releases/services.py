"""Verbs on releases, and their semantic versions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from corpus.benchmarks.overview import passages_counted
from corpus.models import Benchmark, CorpusVersion
from evaluation.releases.building import note_release
from evaluation.releases.models import Release, ReleaseState
from kit.errors import Refused
from kit.runs.models import RunStatus, wake

FIRST = "0.1.0"
_NUMBER = r"(?:0|[1-9][0-9]*)"
_LABEL = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-{_LABEL}(?:\.{_LABEL})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def core(version: str) -> tuple[int, int, int] | None:
    """(major, minor, patch), or None where the text is no semantic version (semver.org, 2.0)."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def suggest(existing: Iterable[str]) -> str:
    """The next minor version after the highest of these."""
    known = [found for version in existing if (found := core(version))]
    if not known:
        return FIRST
    major, minor, _ = max(known)
    return f"{major}.{minor + 1}.0"


def start_release(
    *,
    benchmark: Benchmark,
    actor: User | None,
    version: str,
    final: bool = False,
    agreement_bar: float | None = None,
    corpus: CorpusVersion | None = None,
    chain: Sequence[Mapping[str, Any]] = (),
) -> Release:
    """Ask for this version, a draft or final, and wake a worker; raises Refused (with the field).

    `agreement_bar` is the minimum agreement of voters (Fleiss' kappa), `corpus` the
    corpus version that is released, by default the current one. `chain` are the records of the
    steps that led to it, which it then holds as its provenance.
    """
    folder = Path(settings.RELEASES) / benchmark.slug / version
    with transaction.atomic():
        release = _create(benchmark, version, folder, actor, final, agreement_bar, corpus)
        if chain:
            release.chain = list(chain)
            release.save(update_fields=["chain"])
        wake(release)
    return release


def start_here(
    *,
    benchmark: Benchmark,
    version: str,
    folder: Path,
    final: bool = False,
    agreement_bar: float | None = None,
    corpus: CorpusVersion | None = None,
) -> Release:
    """Make a release that this process builds itself: claimed before anybody can see it.

    A version that failed is taken up again; any other that exists raises Refused.
    """
    with transaction.atomic():
        release = benchmark.releases.filter(version=version, status=RunStatus.FAILED).first()
        if release is not None:
            retry_release(run=release, actor=None, folder=folder)
            release.state = _state(final)
            release.agreement_bar = agreement_bar
            release.corpus_version_id = _key(benchmark, corpus)
            release.save(update_fields=["state", "agreement_bar", "corpus_version"])
        else:
            release = _create(benchmark, version, folder, None, final, agreement_bar, corpus)
        release.claim()
    return release


def retry_release(*, run: Release, actor: User | None, folder: Path | None = None) -> None:
    """Put a failed release back into the queue; raises Refused where it did not fail."""
    failed = Release.objects.filter(pk=run.pk, status=RunStatus.FAILED)
    with transaction.atomic():
        place = str(folder or run.folder)
        if not failed.update(status=RunStatus.QUEUED, ended_at=None, error="", folder=place):
            raise Refused("Only a release that failed can be tried again.")
        run.refresh_from_db()
        note_release(run, "retry release", actor)
        wake(run)


def cancel_release(*, run: Release, actor: User) -> None:
    """Stop a release that is not over; its worker throws away what it wrote."""
    with transaction.atomic():
        if not run.move(RunStatus.CANCELLED):
            raise Refused("This release is over already.")
        note_release(run, "cancel release", actor)


def suggested_version(benchmark: Benchmark) -> str:
    """The version that the form proposes."""
    return suggest(benchmark.releases.values_list("version", flat=True))


def _state(final: bool) -> ReleaseState:
    return ReleaseState.FINAL if final else ReleaseState.DRAFT


def _create(
    benchmark: Benchmark,
    version: str,
    folder: Path,
    actor: User | None,
    final: bool,
    bar: float | None,
    corpus: CorpusVersion | None,
) -> Release:
    if core(version) is None or len(version) > 40:
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
                corpus_version_id=_key(benchmark, corpus),
                folder=str(folder),
                # So it is weighed before it begins.
                total=passages_counted(corpus or CorpusVersion.objects.current(benchmark)) or 0,
                created_by=actor,
            )
    except IntegrityError:
        raise _taken(version, RunStatus.QUEUED) from None
    note_release(release, "start release", actor)
    return release


def _key(benchmark: Benchmark, corpus: CorpusVersion | None) -> int | None:
    corpus = corpus or CorpusVersion.objects.current(benchmark)
    return corpus.key if corpus else None


def _taken(version: str, status: str) -> Refused:
    why = {
        RunStatus.DONE: "exists already",
        RunStatus.CANCELLED: "was stopped, and a version is used once",
        RunStatus.FAILED: "failed; its page can try it again",
    }.get(RunStatus(status), "is being built")
    return Refused(f"Version {version} {why}. Choose another one.", field="version")
