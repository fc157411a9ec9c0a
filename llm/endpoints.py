"""Where models answer, and which of them does what. Screens and rows know endpoints by name;
address and key stay here."""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from django.conf import settings
from django.utils.crypto import salted_hmac

from kit.errors import Refused
from kit.health.logs import hide
from llm.practice.server import serve
from llm.profiles import APIS
from llm.reranking import JINA, WIRES

T = TypeVar("T")
DEFAULT: Final = "default"
PRACTICE: Final = "practice"
PRACTICE_MODEL: Final = "practice-1"
RERANKER: Final = "reranker"
NO_ENDPOINT: Final = "No model is set up. Start the practice model, or set OPENAI_API_KEY."
_REQUIRED: Final = frozenset({"name", "base_url", "default_model"})
_FIELDS: Final[dict[str, type]] = {
    **dict.fromkeys(_REQUIRED | {"api_key", "api_key_env", "proxy", "api", "api_version"}, str),
    **dict.fromkeys(("requests_per_minute", "tokens_per_minute"), int),
    "free": bool,
}
_LONGEST_NAME: Final = 60
# What models are asked to do here, each with a model by default (settings, or the file's `roles`).
ROLES: Final[dict[str, str]] = {
    "agents": "debate, and write reasons",
    "judge": "judges alone: single judge, filter, votes, LARA; reranks, makes training data",
    "adjudicator": "decides what agents still dispute",
    "cleaner": "cleans pages",
    "splitter": "cuts pages into passages",
    "answerer": "writes reference answers, and answers from passages (RAG)",
    "grader": "grades answers",
    "embedder": "vectors, for retrieval and chunks",
    "reranker": "scores passages for a query, a rerank server",
}
# Whose model does it where a role names none.
_LIKE: Final = {"adjudicator": "agents", "splitter": "cleaner"}


class SettingsError(Refused):
    """Endpoints, roles or prices that are not set up here, or wrongly; the message says which."""

    def __init__(self, message: str, *, field: str = "endpoint") -> None:
        super().__init__(message, field=field)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible service; an empty `base_url` means OpenAI's own address.

    A limit of 0 is none. `api` is the interface asked first, "chat" or "responses", or the wire of
    a rerank server (llm/reranking.py); with an `api_version` the address is that of an Azure
    resource.
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
    api: str = "chat"
    api_version: str = ""


ModelChoice: TypeAlias = tuple[str, str]
"""(endpoint, model) by their names; an empty model is the endpoint's own."""


def available(role: str = "") -> list[Endpoint]:
    """The endpoints to choose from: the configured ones, else the practice model if it runs.

    With a role, the one that has it comes first, with that role's model as its default. Rerank
    servers are for rerankers and for nothing else.
    """
    found = configured()
    if not found:
        url = _started_here[-1] if _started_here else settings.ASSAY_PRACTICE_URL
        known = practice(url)
        return [replace(known, api=JINA) if role == RERANKER else known] if url else []
    chosen = _choice_of(role) or ("", "")
    if role:
        found = [each for each in found if (each.api in WIRES) == (role == RERANKER)]
    return sorted((in_role(each, role) for each in found), key=lambda each: each.name != chosen[0])


def configured() -> list[Endpoint]:
    """The endpoints that the settings and their file name, in their order. Raises SettingsError."""
    plain = []
    if settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY:
        plain.append(
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
        )
    return [*plain, *_from_file()[0]]


def for_role(role: str) -> Endpoint:
    """The endpoint that is asked in that role, with the role's model as its default.

    Where none is named for it, the first that is available. Raises SettingsError.
    """
    found = available(role)
    return found[0] if found else get(DEFAULT)


def in_role(endpoint: Endpoint, role: str) -> Endpoint:
    """The same endpoint, its default the role's model if it is the one that has the role."""
    name, model = _choice_of(role) or ("", "")
    if name != endpoint.name or not model:
        return endpoint
    is_practice = endpoint.is_practice or model == PRACTICE_MODEL
    return replace(endpoint, default_model=model, is_practice=is_practice)


def named_for(role: str) -> Endpoint | None:
    """The endpoint and model that were chosen for this very role; None where it follows others."""
    return for_role(role) if role in roles() else None


def roles() -> dict[str, ModelChoice]:
    """Who was chosen for which role; the environment (ASSAY_MODEL_<ROLE>) before the file.

    Nobody where no endpoint is set up: the practice model does everything. Raises SettingsError.
    """
    names = [each.name for each in available()]
    if names in ([], [PRACTICE]):
        return {}
    named = {role: (f"roles.{role}", value) for role, value in _from_file()[1].items()}
    for role, value in settings.ASSAY_MODEL_OF_ROLE.items():
        if value:
            named[role] = f"ASSAY_MODEL_{role.upper()}", value
    return {role: _read_choice(role, *written, names) for role, written in named.items()}


def _choice_of(role: str) -> ModelChoice | None:
    """Who has the role, by its own name or that of the role it is like."""
    known = roles() if role else {}
    return known.get(role) or known.get(_LIKE.get(role, ""))


def _read_choice(role: str, where: str, value: Any, names: list[str]) -> ModelChoice:
    """A role as written: "endpoint/model", "endpoint", a model of the first one, or a table.

    Raises SettingsError, naming `where`.
    """
    if role not in ROLES:
        raise SettingsError(f"{where}: the roles are {', '.join(ROLES)}.")
    if isinstance(value, Mapping) and value.keys() <= {"endpoint", "model"}:
        found = str(value.get("endpoint") or names[0]), str(value.get("model") or "")
    elif isinstance(value, str) and value:
        name, slash, model = value.partition("/")
        found = (name, model) if slash or value in names else (names[0], value)
    else:
        raise SettingsError(f'{where} is "endpoint/model", or has an endpoint and a model.')
    if found[0] not in names:
        raise SettingsError(
            f"{where} names the endpoint {found[0]!r}; there are {', '.join(names)}. "
            "A model with a slash in its name needs its endpoint's name and a slash before it."
        )
    return found


def get(name: str, *, field: str = "endpoint") -> Endpoint:
    """The endpoint of that name. Raises SettingsError with what to do about it, naming the field
    of a form or request that chose it."""
    if found := next((each for each in available() if each.name == name), None):
        return found
    raise SettingsError(
        f"No endpoint named {name!r} is set up. Set OPENAI_BASE_URL and OPENAI_API_KEY, "
        "or start the practice model (manage.py practice_model).",
        field=field,
    )


def asked_for(name: str | None, role: str) -> Endpoint | None:
    """The endpoint of that name among those of a role, else its first; None where there is none."""
    known = available(role)
    return next((each for each in known if each.name == name), next(iter(known), None))


def chosen_endpoint(name: str, role: str, *, none: str = NO_ENDPOINT) -> Endpoint:
    """The endpoint of that name, by default the role's. Raises Refused where `none` is set up."""
    known = available(role)
    if not known:
        raise Refused(none, field="endpoint")
    return get(name) if name else known[0]


def endpoint_choices(role: str) -> list[tuple[str, str]]:
    """The endpoints with their models; first, and so chosen, the one that has this role."""
    return [(each.name, f"{each.name} ({each.default_model})") for each in available(role)]


def practice(base_url: str) -> Endpoint:
    """The practice model listening at that address; it asks for no key."""
    return Endpoint(PRACTICE, base_url, "", is_practice=True, default_model=PRACTICE_MODEL)


@contextmanager
def practice_if_unconfigured(role: str = "") -> Iterator[Endpoint]:
    """The endpoint of that role; where there is none at all, a practice model for this block.

    For commands that must work on a machine where nothing is set up.
    """
    if found := available(role):
        yield found[0]
        return
    with serve() as url:
        _started_here.append(url)
        try:
            yield practice(url)
        finally:
            _started_here.remove(url)


def parse_file(
    data: Any, environment: Mapping[str, str] = os.environ
) -> tuple[list[Endpoint], dict[str, Any]]:
    """A file's endpoints, and the model of each role as it is written there; a bare list is one of
    endpoints. Keys may be named there and kept in the environment. Raises SettingsError."""
    data = data if isinstance(data, dict) else {"endpoints": data}
    entries, chosen = data.get("endpoints", []), data.get("roles", {})
    if not data.keys() <= {"endpoints", "roles"} or not isinstance(chosen, dict):
        raise SettingsError("The file has endpoints, a list, and roles, a table; nothing else.")
    if not isinstance(entries, list):
        raise SettingsError("The file of endpoints is a list of entries.")
    found = [_entry(number, each, environment) for number, each in enumerate(entries, start=1)]
    names = [DEFAULT, PRACTICE, *(endpoint.name for endpoint in found)]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"The name {name!r} is given twice, or is taken.")
    return found, chosen


def _entry(number: int, entry: Any, environment: Mapping[str, str]) -> Endpoint:
    where = f"Endpoint {number}"
    if not isinstance(entry, dict) or not _REQUIRED <= entry.keys() <= _FIELDS.keys():
        raise SettingsError(
            f"{where} needs {', '.join(sorted(_REQUIRED))}; it may have "
            f"{', '.join(sorted(_FIELDS.keys() - _REQUIRED))}."
        )
    for name, value in entry.items():
        if type(value) is not _FIELDS[name] or (isinstance(value, int) and value < 0):
            raise SettingsError(f"{where}: {name} is no {_FIELDS[name].__name__} of use.")
    if not all(entry[name] for name in _REQUIRED) or len(entry["name"]) > _LONGEST_NAME:
        raise SettingsError(f"{where}: an empty value, or a name over {_LONGEST_NAME} letters.")
    if entry.get("api", APIS[0]) not in (*APIS, *WIRES):
        raise SettingsError(f"{where}: api is one of {', '.join((*APIS, *WIRES))}.")
    key_name = entry.get("api_key_env", "")
    if key_name and key_name not in environment:
        raise SettingsError(f"{where}: the environment has no {key_name}.")
    given = {name: value for name, value in entry.items() if name not in ("api_key_env", "free")}
    given["api_key"] = environment[key_name] if key_name else entry.get("api_key", "")
    hide(given["api_key"], given.get("proxy", ""))
    is_practice = entry["default_model"] == PRACTICE_MODEL
    return Endpoint(**given, is_practice=is_practice, is_free=entry.get("free", False))


def _from_file() -> tuple[list[Endpoint], dict[str, Any]]:
    path = settings.ASSAY_ENDPOINTS
    return read_file(Path(path), parse_file) if path else ([], {})


def read_file(path: Path, parse: Callable[[Any], T], *, what: str = "") -> T:
    """What a file of settings holds, read anew where it changed. Raises SettingsError."""
    try:
        found: T = _read(path, path.stat().st_mtime_ns, parse)
    except OSError as error:
        raise SettingsError(f"{what}{path} cannot be read: {error.strerror}.") from None
    except (ValueError, SettingsError) as error:
        raise SettingsError(f"{what}{path.name}: {error}") from None
    return found


@lru_cache(maxsize=8)
def _read(path: Path, _changed_at: int, parse: Callable[[Any], Any]) -> Any:
    read: Any = tomllib.loads if path.suffix == ".toml" else json.loads
    return parse(read(path.read_text(encoding="utf-8"), parse_float=Decimal))


def fence_key() -> bytes:
    """The server's key for the delimiters around hostile text, the same for all and for ever."""
    return salted_hmac("assay.fence", "", secret=settings.SEED_KEY, algorithm="sha256").digest()


# Addresses of practice models that this process runs for itself.
_started_here: list[str] = []
