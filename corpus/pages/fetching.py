"""Pages that experts give, by address or as a file: fetched through the one gate and read apart.

Both happen in the background, because a page may come slowly and be built to be read slowly.
"""

import asyncio
import contextlib
import logging
import threading
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.utils import timezone

from corpus.extraction import Unreadable
from corpus.models import CollectedPage, PageFetch, Query
from corpus.pages.reading import HTML, read_apart
from corpus.pages.services import forget_raw, keep_page, page_at, page_of_bytes, read_raw, write_raw
from corpus.quotas.services import check_room
from kit.bounded import Bounds
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import OVER, BrokerAway, LostLease, RunStatus, stopping, wake, wake_workers

logger = logging.getLogger(__name__)
# Workers that take one page up, each after the one before it broke off.
_ATTEMPTS: Final = 3
# Pages of one person that may wait at once.
_WAITING: Final = 10
# Pages that are read at once in one worker process: the other threads are for other work.
_places: Final = threading.BoundedSemaphore(2)


def request_fetch(*, query: Query, url: str, actor: User, again: bool = False) -> PageFetch:
    """Have a page fetched; one that somebody collected from there already is taken at once.

    `again` fetches it anew: pages change.
    """
    url = url.strip()
    if not url:
        raise Refused("Paste the address of a page.", field="url")
    if "://" not in url:
        url = f"https://{url}"
    if len(url) > 2000:
        raise Refused("The address is longer than 2,000 characters.", field="url")
    known = None if again else page_at(query.domain.benchmark, url)
    if known is not None:
        return note_brought(query=query, page=known, actor=actor, url=url)
    return _queue(query, actor, field="url", url=url)


def request_reading(
    *, query: Query, body: bytes, content_type: str, title: str, actor: User, url: str
) -> PageFetch:
    """Have an uploaded page read; one that is here with the same bytes is taken at once."""
    digest = write_raw(body)
    known = page_of_bytes(query.domain.benchmark, digest)
    if known is not None:
        return note_brought(query=query, page=known, actor=actor, url=url)
    origin = CollectedPage.Origin.UPLOADED
    given = {"sha256": digest, "content_type": content_type, "charset": None}
    given |= {"url": url, "title": title, "origin": str(origin)}
    try:
        return _queue(query, actor, field="upload", url=url, given=given)
    except Refused:
        forget_raw(digest)
        raise


def _queue(query: Query, actor: User, *, field: str, **fields: Any) -> PageFetch:
    """Raises Refused while too many pages of this person wait, and beyond the quota."""
    waiting = PageFetch.objects.filter(created_by=actor).exclude(status__in=OVER)
    if waiting.count() >= _WAITING:
        raise Refused(f"{_WAITING} pages of yours are not read yet. Wait for them.", field=field)
    check_room(query.domain.benchmark, 1)  # before anything is fetched
    with transaction.atomic():
        run = PageFetch.objects.create(query=query, created_by=actor, total=1, **fields)
        wake(run)
    return run


def note_brought(*, query: Query, page: CollectedPage, actor: User, url: str = "") -> PageFetch:
    """Note that a page which is here belongs to the work on a query."""
    now = timezone.now()
    return PageFetch.objects.create(
        query=query,
        page=page,
        url=url,
        created_by=actor,
        status=RunStatus.DONE,
        done=1,
        total=1,
        started_at=now,
        ended_at=now,
    )


def take_turn(run_id: int) -> None:
    """Fetch and read a page if it is due and this process has a place for it, then wake the next.

    Harmless when delivered twice.
    """
    if not _places.acquire(blocking=False):
        return
    try:
        rows = PageFetch.objects.select_related("query__domain__benchmark", "created_by")
        run = rows.filter(pk=run_id).first()
        if run is None or not run.claim():
            return
        run_fetch(run)
    finally:
        _places.release()
    if not stopping.is_set():
        with contextlib.suppress(BrokerAway, DatabaseError):
            following = PageFetch.objects.due().order_by("fence", "pk").first()
            if following is not None:
                wake_workers(PageFetch.task_name, following.pk)


def run_fetch(run: PageFetch) -> None:
    """Fetch and read a claimed page and end the run, whatever comes of it.

    Its error is for people.
    """
    try:
        if run.fence > _ATTEMPTS:
            raise Refused(f"Reading it was begun {_ATTEMPTS} times and broke off each time.")
        with Heartbeat(run) as heartbeat:
            page = _page(run, heartbeat)
        run.finish(page=page, done=1)
    except (Unreadable, Refused) as error:
        _fail(run, str(error))
    except LostLease:
        logger.info("the fetch %s was stopped or taken over", run.pk)
    except (OperationalError, InterfaceError) as error:
        logger.warning("the fetch %s waits for the database: %s", run.pk, error)
    except Exception:  # the job's outermost frame: logged, and told in the row
        logger.exception("the fetch %s failed", run.pk)
        _fail(run, "The page could not be read; the log says why.")


def stop_fetch(run: PageFetch) -> bool:
    """Give up a page that is not here yet; False if it is over. In the caller's transaction."""
    stopped = run.move(RunStatus.CANCELLED)
    if stopped and run.given:
        forget_raw(run.given["sha256"])
    return stopped


def _fail(run: PageFetch, error: str) -> None:
    try:
        run.finish(RunStatus.FAILED, error=error)
    except LostLease:  # whoever has it now needs what was brought
        logger.info("the fetch %s was stopped or taken over", run.pk)
        return
    if run.given:
        forget_raw(run.given["sha256"])


def _page(run: PageFetch, heartbeat: Heartbeat) -> CollectedPage:
    if run.given is None:
        found = _fetch(run)
        try:
            run.beat(given=found)  # so that who takes this over does not fetch it again
        except LostLease:
            forget_raw(found["sha256"])
            raise
    given = run.given
    assert given is not None
    body = read_raw(given["sha256"])
    page = read_apart(
        body,
        given["content_type"],
        charset=given["charset"],
        url=given["url"],
        bounds=Bounds(seconds=settings.ASSAY_READ_SECONDS),
        watch=lambda: heartbeat.step(0, 1),
    )
    return keep_page(
        query=run.query,
        body=body,
        page=page,
        content_type=given["content_type"],
        origin=CollectedPage.Origin(given["origin"]),
        actor=run.created_by,
        url=given["url"],
        title="" if given["content_type"] == HTML else given["title"],
    )


def _fetch(run: PageFetch) -> dict[str, Any]:
    from kit.egress import EgressFailed, EgressRefused, fetch  # slow to import, and seldom used

    try:
        found = asyncio.run(fetch(run.url, allowed=also_allowed()))
    except (EgressRefused, EgressFailed) as error:
        raise Refused(str(error)) from error
    return {
        "sha256": write_raw(found.body),
        "content_type": found.content_type,
        "charset": found.charset,
        "url": found.url,
        "title": "",
        "origin": str(CollectedPage.Origin.FETCHED),
    }


def also_allowed() -> frozenset[tuple[str, int]]:
    """What the operator opened besides the public web; ValueError for what is not address:port."""
    pairs = (entry.strip().rpartition(":") for entry in settings.ASSAY_FETCH_ALSO)
    return frozenset((host.strip("[]"), int(port)) for host, _, port in pairs)
