"""Pushing a built release into a dataset repository of the Hugging Face Hub.

The Hub's own client does it. Files go up group by group; what has been sent is not sent again by a
push that is tried again, since the Hub knows it by its hash. Then one commit makes the repository,
or a folder of it, exactly the release, and a tag names the version.
"""

import logging
import re
from functools import partial
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from httpx2 import HTTPError
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils.tqdm import disable_progress_bars

from corpus.models import Benchmark
from evaluation.background import failures_in_row
from evaluation.exporters.files import file_sums
from evaluation.exporters.names import one_line
from evaluation.releases.building import note_release
from evaluation.releases.models import Release, ReleasePush
from kit import storage
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import LostLease, RunStatus, begin, wake

logger = logging.getLogger(__name__)
BROKEN = "The release could not be pushed because of a fault in the program; see the log."
NO_TOKEN = "No token is set. Set HF_TOKEN to one that may write to this repository."  # noqa: S105
NOT_BUILT = "Only a release that is built can be pushed."
ALTERED = "The files are no longer as they were built ({names}). Build the same version again."
_PART = r"[A-Za-z0-9](?:[\w.-]{0,94}[A-Za-z0-9])?"
_REPOSITORY = re.compile(rf"({_PART}/{_PART})((?:/[A-Za-z0-9_][\w.-]*)*)", re.ASCII)
_KIND: Final = "dataset"
_AT_ONCE: Final = 16  # files
_MAX_SHOWN: Final = 300
_ANSWERS: Final = {
    401: "it does not know the token in HF_TOKEN",
    403: "the token in HF_TOKEN may not write there",
    404: "there is no such repository, or the token in HF_TOKEN may not see it",
    409: "somebody else changed the repository at the same moment; try again",
    413: "it is more than the hub takes",
    429: "it was asked too often; try again later",
}


def start_push(
    *, release: Release, repository: str, actor: User | None, claimed: bool = False
) -> ReleasePush:
    """Ask for a push to "owner/name" or "owner/name/folder", and wake a worker.

    `claimed` for a process that pushes itself. Raises Refused (with the field) for a release that
    is not built, a name that is none, and where no token is set.
    """
    if release.status != RunStatus.DONE:
        raise Refused(NOT_BUILT)
    repository = repository.strip()
    if len(repository) > 200 or _REPOSITORY.fullmatch(repository) is None:
        message = "Write the repository as owner/name, or owner/name/folder."
        raise Refused(message, field="repository")
    if not settings.HF_TOKEN:
        raise Refused(NO_TOKEN)
    with transaction.atomic():
        push = ReleasePush.objects.create(
            of_release=release, repository=repository, created_by=actor, total=len(release.files)
        )
        note_release(release, "start push", actor, repository=repository)
        begin(push, claimed=claimed)
    return push


def last_repository(benchmark: Benchmark) -> str:
    """Where a release of the benchmark went last; empty where none did."""
    pushes = ReleasePush.objects.filter(of_release__benchmark=benchmark)
    return pushes.values_list("repository", flat=True).first() or ""


def cancel_push(*, run: ReleasePush, actor: User) -> None:
    """Stop a push that is not over; before its commit nothing of it shows in the repository."""
    with transaction.atomic():
        if not run.move(RunStatus.CANCELLED):
            raise Refused("This push is over already.")
        note_release(run.of_release, "cancel push", actor, repository=run.repository)


def retry_push(*, run: ReleasePush, actor: User) -> None:
    """Put a failed push back into the queue; raises Refused where it did not fail."""
    with transaction.atomic():
        if not run.move(RunStatus.QUEUED, sources=[RunStatus.FAILED], error="", ended_at=None):
            raise Refused("Only a push that failed can be tried again.")
        note_release(run.of_release, "retry push", actor, repository=run.repository)
        wake(run)


def carry_out(push: ReleasePush) -> None:
    """Push for a claimed run, and turn whatever goes wrong into its state, in plain words."""
    with failures_in_row(push, broken=BROKEN, fail=partial(_fail, push)):
        try:
            with Heartbeat(push) as heartbeat:
                url = _push(push, heartbeat)
        except HfHubHTTPError as error:
            raise Refused(f"The hub refused it: {_reason(error)}.") from None
        except RuntimeError as error:  # of one file, with what happened to it behind
            cause = error.__cause__
            why = _reason(cause) if isinstance(cause, HfHubHTTPError) else _shown(str(error))
            raise Refused(f"The hub refused it: {why}.") from None
        except ValueError as error:  # a card or a name that the hub does not take
            raise Refused(f"The hub does not take it: {_shown(str(error))}") from None
        except (HTTPError, ConnectionError, TimeoutError) as error:
            logger.warning("push %s: %s", push.pk, type(error).__name__)
            raise Refused(f"{settings.HF_ENDPOINT} does not answer. Try again.") from None
        with transaction.atomic():
            push.finish(commit_url=url, done=push.total)
            note_release(push.of_release, "push release", None, repository=push.repository, url=url)


def _push(push: ReleasePush, heartbeat: Heartbeat) -> str:
    """The address of the commit."""
    if not settings.HF_TOKEN:
        raise Refused(NO_TOKEN)
    with storage.local(Path(push.of_release.folder)) as folder:
        return _push_folder(push, push.of_release, folder, heartbeat)


def _push_folder(push: ReleasePush, release: Release, folder: Path, heartbeat: Heartbeat) -> str:
    _check_files(release, folder)
    name, inside = _parts(push.repository)
    disable_progress_bars()
    api = HfApi(endpoint=settings.HF_ENDPOINT.rstrip("/"), token=settings.HF_TOKEN)
    # Nobody sees a new repository until its owner says so on the hub.
    api.create_repo(name, repo_type=_KIND, private=True, exist_ok=True)
    there = [path for path in api.list_repo_files(name, repo_type=_KIND) if _belongs(path, inside)]
    files = [
        CommitOperationAdd(path_in_repo=inside + path, path_or_fileobj=folder / path)
        for path in release.files
    ]
    for start in range(0, len(files), _AT_ONCE):
        heartbeat.step(start, len(files))
        group = files[start : start + _AT_ONCE]
        api.preupload_lfs_files(name, group, repo_type=_KIND, free_memory=False)
    heartbeat.step(len(files), len(files))
    push.beat()  # the last moment at which it can be stopped
    gone = sorted(set(there).difference(each.path_in_repo for each in files))
    commit = api.create_commit(
        name,
        [*files, *(CommitOperationDelete(path_in_repo=path) for path in gone)],
        commit_message=f"{release.benchmark.slug} {release.version} ({release.state})",
        repo_type=_KIND,
    )
    tag = inside + release.version
    api.create_tag(name, tag=tag, revision=commit.oid, repo_type=_KIND, exist_ok=True)
    # Not the address that the hub gives: it becomes a link.
    return f"{api.endpoint}/datasets/{name}/commit/{commit.oid}"[:500]


def _check_files(release: Release, folder: Path) -> None:
    """Refused where a file is gone or another than the one that was built."""
    found = file_sums(folder) if folder.is_dir() else {}
    names = [path for path, digest in release.files.items() if found.get(path) != digest]
    if names:
        shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
        raise Refused(ALTERED.format(names=shown))


def _parts(repository: str) -> tuple[str, str]:
    """Its name, and the folder inside it with a slash behind; empty for the whole of it."""
    match = _REPOSITORY.fullmatch(repository)
    if match is None:
        raise Refused("This repository has no name that a hub takes.")
    return match[1], f"{match[2][1:]}/" if match[2] else ""


def _belongs(path: str, inside: str) -> bool:
    """Whether a file of the repository is one that a release replaces: none of the hub's own."""
    return path.startswith(inside) and not path.removeprefix(inside).startswith(".")


def _reason(error: HfHubHTTPError) -> str:
    """In our words where the answer is a common one, else in the hub's, without the token."""
    status = error.response.status_code if error.response is not None else 0
    return _ANSWERS.get(status) or _shown(error.server_message or "") or f"it answered {status}"


def _shown(text: str) -> str:
    """Words of the hub on one line; the token, should they repeat it, is not among them."""
    return one_line(text.replace(settings.HF_TOKEN, "***"))[:_MAX_SHOWN]


def _fail(push: ReleasePush, message: str) -> None:
    try:
        with transaction.atomic():
            push.finish(status=RunStatus.FAILED, error=message)
            about = {"repository": push.repository, "error": message}
            note_release(push.of_release, "fail push", None, **about)
    except LostLease:
        logger.info("push %s was stopped or taken over", push.pk)
