"""Fetching the pages whose addresses experts give, in the background, through the one gate."""

import asyncio
import logging

from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from corpus.extraction import Unreadable
from corpus.models import CollectedPage, PageFetch, Query
from corpus.pages.services import keep_page, page_at
from kit.errors import Refused
from kit.runs.models import LostLease, RunStatus, wake

logger = logging.getLogger(__name__)


def request_fetch(*, query: Query, url: str, actor: User, again: bool = False) -> PageFetch:
    """Have a page fetched; one that somebody collected from there already is taken at once.

    `again` fetches it anew: pages change.
    """
    url = url.strip()
    if not url:
        raise Refused("Paste the address of a page.", field="url")
    if len(url) > 2000:
        raise Refused("The address is longer than 2,000 characters.", field="url")
    if "://" not in url:
        url = f"https://{url}"
    known = None if again else page_at(query.domain.benchmark, url)
    with transaction.atomic():
        if known is not None:
            return note_brought(query=query, page=known, actor=actor, url=url)
        run = PageFetch.objects.create(query=query, url=url, created_by=actor, total=1)
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


def run_fetch(run: PageFetch) -> None:
    """Fetch a claimed address and end the run, whatever comes of it; its error is for people."""
    try:
        page = _fetch(run)
        run.finish(page=page, done=1)
    except (Unreadable, Refused) as error:
        run.finish(RunStatus.FAILED, error=str(error))
    except LostLease:
        logger.info("the fetch %s was stopped or taken over", run.pk)
    except (OperationalError, InterfaceError) as error:
        logger.warning("the fetch %s waits for the database: %s", run.pk, error)
    except Exception:  # the job's outermost frame: logged, and told in the row
        logger.exception("the fetch %s failed", run.pk)
        run.finish(RunStatus.FAILED, error="The page could not be read; the log says why.")


def _fetch(run: PageFetch) -> CollectedPage:
    from kit.egress import EgressFailed, EgressRefused, fetch  # slow to import, and seldom used

    try:
        found = asyncio.run(fetch(run.url, allowed=also_allowed()))
    except (EgressRefused, EgressFailed) as error:
        raise Refused(str(error)) from error
    run.beat()
    return keep_page(
        query=run.query,
        body=found.body,
        content_type=found.content_type,
        charset=found.charset,
        origin=CollectedPage.Origin.FETCHED,
        actor=run.created_by,
        url=found.url,
    )


def also_allowed() -> frozenset[tuple[str, int]]:
    """What the operator opened besides the public web; ValueError for what is not address:port."""
    pairs = (entry.strip().rpartition(":") for entry in settings.ASSAY_FETCH_ALSO)
    return frozenset((host.strip("[]"), int(port)) for host, _, port in pairs)
