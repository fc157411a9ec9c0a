"""Where models answer. Screens and rows know endpoints by name; address and key stay here."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from kit.errors import Refused

DEFAULT: Final = "default"
PRACTICE: Final = "practice"
PRACTICE_MODEL: Final = "practice-1"
_REQUIRED: Final = frozenset({"name", "base_url", "default_model"})
_FIELDS: Final[dict[str, type]] = {
    **dict.fromkeys(_REQUIRED | {"api_key", "api_key_env", "proxy"}, str),
    **dict.fromkeys(("requests_per_minute", "tokens_per_minute"), int),
    "free": bool,
}
_LONGEST_NAME: Final = 60


class UnknownEndpoint(LookupError):
    """No endpoint of this name is set up here."""


class EndpointError(ValueError):
    """A file of endpoints that cannot be used; the message says which entry and why."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible service; an empty `base_url` means OpenAI's own address.

    A limit of 0 is none.
    """

    name: str
    base_url: str
    api_key: str = field(repr=False)
    is_practice: bool
    default_model: str
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    is_free: bool = False
    proxy: str = field(default="", repr=False)


def available() -> list[Endpoint]:
    """The endpoints to choose from: the configured ones, else the practice model if it runs."""
    configured = [*_plain(), *_from_file()]
    if configured:
        return configured
    url = _started_here[-1] if _started_here else settings.ASSAY_PRACTICE_URL
    return [practice(url)] if url else []


def get(name: str) -> Endpoint:
    """The endpoint of that name. Raises UnknownEndpoint with what to do about it."""
    for endpoint in available():
        if endpoint.name == name:
            return endpoint
    raise UnknownEndpoint(
        f"No endpoint named {name!r} is set up. Set OPENAI_BASE_URL and OPENAI_API_KEY, "
        "or start the practice model (manage.py practice_model)."
    )


def chosen(name: str, *, field: str = "endpoint") -> Endpoint:
    """The endpoint that a person named in a form or request. Raises Refused, naming the field."""
    try:
        return get(name)
    except UnknownEndpoint as error:
        raise Refused(str(error), field=field) from None


def practice(base_url: str) -> Endpoint:
    """The practice model listening at that address; it asks for no key."""
    return Endpoint(
        name=PRACTICE,
        base_url=base_url,
        api_key="",
        is_practice=True,
        default_model=PRACTICE_MODEL,
    )


@contextmanager
def practice_if_unconfigured() -> Iterator[Endpoint]:
    """The first available endpoint; where there is none, a practice model for this block.

    For commands that must work on a machine where nothing is set up.
    """
    found = available()
    if found:
        yield found[0]
        return
    from llm.practice.server import serve

    with serve() as url:
        _started_here.append(url)
        try:
            yield practice(url)
        finally:
            _started_here.remove(url)


def parse(entries: Any, environment: Mapping[str, str]) -> list[Endpoint]:
    """Endpoints from the entries of a file; keys may be named there and kept in the environment.

    Raises EndpointError.
    """
    if not isinstance(entries, list):
        raise EndpointError("The file of endpoints is a list of entries.")
    found = [_entry(number, each, environment) for number, each in enumerate(entries, start=1)]
    names = [endpoint.name for endpoint in found]
    for name in names:
        if names.count(name) > 1 or name in (DEFAULT, PRACTICE):
            raise EndpointError(f"The name {name!r} is given twice, or is taken.")
    return found


def _entry(number: int, entry: Any, environment: Mapping[str, str]) -> Endpoint:
    where = f"Endpoint {number}"
    if not isinstance(entry, dict) or not _REQUIRED <= entry.keys() <= _FIELDS.keys():
        raise EndpointError(
            f"{where} needs {', '.join(sorted(_REQUIRED))}; it may have "
            f"{', '.join(sorted(_FIELDS.keys() - _REQUIRED))}."
        )
    for name, value in entry.items():
        if type(value) is not _FIELDS[name] or (isinstance(value, int) and value < 0):
            raise EndpointError(f"{where}: {name} is no {_FIELDS[name].__name__} of use.")
    if not all(entry[name] for name in _REQUIRED) or len(entry["name"]) > _LONGEST_NAME:
        raise EndpointError(f"{where}: an empty value, or a name over {_LONGEST_NAME} letters.")
    key_name = entry.get("api_key_env", "")
    if key_name and key_name not in environment:
        raise EndpointError(f"{where}: the environment has no {key_name}.")
    return Endpoint(
        name=entry["name"],
        base_url=entry["base_url"],
        api_key=environment[key_name] if key_name else entry.get("api_key", ""),
        is_practice=entry["default_model"] == PRACTICE_MODEL,
        default_model=entry["default_model"],
        requests_per_minute=entry.get("requests_per_minute", 0),
        tokens_per_minute=entry.get("tokens_per_minute", 0),
        is_free=entry.get("free", False),
        proxy=entry.get("proxy", ""),
    )


def _plain() -> list[Endpoint]:
    """The one of the plain settings, if there is one."""
    if not (settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY):
        return []
    return [
        Endpoint(
            name=DEFAULT,
            base_url=settings.OPENAI_BASE_URL,
            api_key=settings.OPENAI_API_KEY,
            # By whatever address it is reached: what it says is never a real model's word.
            is_practice=settings.ASSAY_MODEL == PRACTICE_MODEL,
            default_model=settings.ASSAY_MODEL,
            requests_per_minute=settings.OPENAI_REQUESTS_PER_MINUTE,
            tokens_per_minute=settings.OPENAI_TOKENS_PER_MINUTE,
            proxy=settings.OPENAI_PROXY,
        )
    ]


def _from_file() -> list[Endpoint]:
    if not settings.ASSAY_ENDPOINTS:
        return []
    path = Path(settings.ASSAY_ENDPOINTS)
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise EndpointError(f"{path} cannot be read: {error.strerror}.") from None


@lru_cache(maxsize=2)
def _read(path: Path, _changed_at: int) -> list[Endpoint]:
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")), os.environ)
    except ValueError as error:
        raise EndpointError(f"{path.name}: {error}") from None


# Addresses of practice models that this process runs for itself.
_started_here: list[str] = []
