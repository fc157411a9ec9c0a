"""A new run's form as a browser sends it."""

from typing import Any

from django.test import Client
from django.urls import reverse

URL = reverse("debate-run-new", args=["demo"])


def filled(response: Any, **changes: Any) -> dict[str, Any]:
    """What the form of a page sends if nothing but these is changed."""
    form = response.context["form"]
    sent = {field.html_name: _shown(field) for field in form}
    sent = {name: value for name, value in (sent | changes).items() if value is not False}
    sent["pool"] = getattr(sent.get("pool"), "pk", sent.get("pool"))
    return sent | {"shown": form.run_kind}


def _shown(field: Any) -> Any:
    """What stands in a field; a list without a choice shows its first."""
    choices = list(getattr(field.field, "choices", []))
    value = field.value()
    empty = choices[0][0] if choices else ""
    return empty if value is None else value


def begin(client: Client, **changes: Any) -> dict[str, Any]:
    """What the form sends as it is first shown."""
    return filled(client.get(URL), **changes)


def start(client: Client, **changes: Any) -> Any:
    """The answer to the start that follows on the forecast."""
    form = begin(client, **changes)
    told = client.post(URL, form)
    if told.status_code != 200:
        return told
    return client.post(URL, form | {"intent": "start", "seen": told.context["plan"].digest})
