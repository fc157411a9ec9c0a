"""The room for models and money."""

from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.apps import AppConfig
from django.core import checks
from django.db import transaction
from django.db.models import Count

from kit.runs.periodic import every
from llm import endpoints, prices


class LlmConfig(AppConfig):
    """Django's handle on this room."""

    name = "llm"
    label = "llm"
    verbose_name = "language models"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the files of settings looked at with everything else, lost calls listed, changed
        endpoints recorded, and open calls counted for /-/metrics."""
        from kit.backup import loaded
        from kit.health.metrics import tell  # it reads rows, which are there only now

        checks.register(check_files, "files")
        every(30, "lost calls", _list_lost_calls)
        every(60, "endpoints", note_endpoints)
        loaded.connect(_stop_paying, dispatch_uid="llm.stop_paying")
        tell("assay_calls_open", "Calls to models without an answer.", _open_calls)


def _list_lost_calls() -> None:
    from llm.ledger.writing import list_lost_calls  # what it needs is slow to import

    list_lost_calls()


def note_endpoints() -> None:
    """Record which endpoints were added, changed or removed in the settings since the last time.

    The record itself says what they were. Of the price, that of the endpoint's own model.
    """
    from django.contrib.contenttypes.models import ContentType

    from kit import audit
    from kit.models import Event

    kind = "llm.endpoint"
    try:
        now = {each.name: _told(each) for each in endpoints.configured()}
    except endpoints.SettingsError:  # the checks say so
        return
    with transaction.atomic():
        # Two workers must not note one change: any row will do that is always there.
        ContentType.objects.select_for_update(no_key=True).filter(model="call").first()
        events = Event.objects.filter(scope="", target_type=kind).order_by("pk")
        known = {each.target_id: each for each in events}
        before = {name: each.data for name, each in known.items() if each.verb != "remove endpoint"}
        for name, told in now.items():
            was = before.get(name)
            if was is None:
                audit.record(None, "add endpoint", (kind, name), data=told)
            elif changed := {f"{k}_before": was.get(k) for k in told if was.get(k) != told[k]}:
                audit.record(None, "change endpoint", (kind, name), data=told | changed)
        for name in before.keys() - now.keys():
            audit.record(None, "remove endpoint", (kind, name))


def _told(endpoint: endpoints.Endpoint) -> dict[str, Any]:
    """What the record says of an endpoint: no key, no proxy, and no password in the address."""
    url = urlsplit(endpoint.base_url)
    price = prices.table().find(endpoint, endpoint.default_model, on=datetime.now(UTC).date())
    return {
        "address": urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, "", "")),
        "model": endpoint.default_model,
        "api": endpoint.api,
        "api_version": endpoint.api_version,
        "requests_per_minute": endpoint.requests_per_minute,
        "tokens_per_minute": endpoint.tokens_per_minute,
        "usd_per_million_tokens": price
        and {name: str(getattr(price, name)) for name in ("input", "cached", "output")},
    }


def _stop_paying(columns_of: Callable[[str], Collection[str]], **_: Any) -> int:
    """Pause what would pay in a restored installation, perhaps beside the one it was taken from.

    So do those that start others with a budget. Those without a pause of their own have failed, and
    can be tried again. How many they were.
    """
    from kit.runs.models import RunStatus
    from kit.runs.polling import run_models
    from llm.ledger.accounts import AskingRun

    words = "This installation was restored from a backup. Resume the run if it is to go on here."
    count = 0
    for kind in run_models():
        columns = columns_of(kind._meta.db_table)
        is_payer = hasattr(kind, "asked") or hasattr(kind, "budget_usd")
        if not is_payer or "status" not in columns:
            continue
        can_pause = issubclass(kind, AskingRun) or not hasattr(kind, "asked")
        to = RunStatus.PAUSED if can_pause else RunStatus.FAILED
        told = {"status": to, "error": words, "pause_reason": words, "lease_until": None}
        # Of an earlier version some may not be there yet.
        known = {name: value for name, value in told.items() if name in columns}
        going = kind.objects.filter(status__in=(RunStatus.QUEUED, RunStatus.RUNNING))
        count += going.update(**known)
    return count


def _open_calls() -> Iterator[tuple[dict[str, str], float]]:
    from llm.models import Call

    rows = Call.objects.unanswered().order_by().values_list("status")
    for status, count in rows.annotate(n=Count("*")):  # of rows: the index has no more
        yield {"status": status}, count


def check_files(**_: Any) -> list[checks.CheckMessage]:
    """ASSAY_ENDPOINTS, roles and ASSAY_PRICES, where they are set, can be read and make sense.

    Told at the start rather than in the middle of a run.
    """
    found: list[checks.CheckMessage] = []
    kinds = ("Endpoints", endpoints.roles, "llm.E001"), ("ASSAY_PRICES", prices.table, "llm.E002")
    for words, read, code in kinds:
        try:
            read()
        except endpoints.SettingsError as error:
            found.append(checks.Error(f"{words}: {error}", id=code))
    return found
