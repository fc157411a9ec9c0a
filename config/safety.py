"""What a start is refused for, and where the secret key comes from."""

import fcntl
import ipaddress
import os
import re
import secrets
import stat
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

N = TypeVar("N", int, float)
_WORTHLESS = ("changeme", "change-me", "secret", "insecure", "default", "password", "example")
_MIN_LENGTH = 32
# Stands below the key where the folder held other things before it.
_IN_USE = "in a folder that was in use before"
_YES, _NO = ("1", "true", "yes", "on", "y", "ok"), ("0", "false", "no", "off", "n")
# As corpus.models.Role, which is not there yet when the settings are read.
_ROLES = ("annotator", "reviewer", "admin")
_ANYBODY_WRITES = stat.S_IWOTH | stat.S_ISVTX


def data_folder() -> Path:
    """Where everything is kept that Assay writes: ASSAY_DATA, or `var` beside the code."""
    given = os.environ.get("ASSAY_DATA")
    return Path(given).resolve() if given else Path(__file__).resolve().parent.parent / "var"


def read_secret_key(given: str, data: Path, *, debug: bool) -> str:
    """Return the key given in the environment, else the one kept in the data folder.

    Debug needs no lasting key, so it gets one that lives as long as the process.
    """
    if given:
        return given
    kept = data / "secret.key"
    if kept.is_file():
        return _first_line(kept)
    return secrets.token_urlsafe(50) if debug else ""


def read_seed_key(given: str, data: Path, *, secret_key: str) -> str:
    """Return the seed given in the environment, else the one kept in the data folder.

    Before the first start has kept one it is the secret key.
    """
    kept = data / "seed.key"
    return given or (_first_line(kept) if kept.is_file() else "") or secret_key


def _first_line(kept: Path) -> str:
    return kept.read_text(encoding="ascii").split("\n")[0].strip()


def write_secret_key(data: Path) -> Path:
    """Put a new secret key into the data folder (mode 600) unless one is there already.

    An empty file is what a start left that was stopped before it could write the key.
    """
    kept = data / "secret.key"
    if kept.is_file() and kept.stat().st_size:
        return kept
    is_in_use = data.is_dir() and any(path != kept for path in data.iterdir())
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_once(kept, secrets.token_urlsafe(50) + "\n" + (f"{_IN_USE}\n" if is_in_use else ""))
    return kept


def write_seed_key(data: Path, secret_key: str) -> None:
    """Keep the secret key of this moment as the seed, unless one is kept: later keys are others."""
    kept = data / "seed.key"
    if not (kept.is_file() and kept.stat().st_size):
        _write_once(kept, f"{secret_key}\n")


def _write_once(kept: Path, text: str) -> None:
    with os.fdopen(os.open(kept, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # of two starts at once one writes
        if not file.read():
            file.write(text)


def keep_private(data: Path) -> str:
    """Shut the data folder to all but its owner; return a warning where that is not ours to do.

    Everything in it lies behind this one door: the database, uploads, releases. A folder that was
    in use before Assay came may hold things that others have to reach, and stays as it is.
    """
    if not data.is_dir():
        return ""
    found = data.stat()
    if not found.st_mode & 0o077:
        return ""
    if found.st_uid == os.geteuid() and not found.st_mode & _ANYBODY_WRITES and _is_ours(data):
        data.chmod(0o700)
        return ""
    return (
        f"Other accounts of this machine can look into {data}, where Assay keeps its database. "
        f"Shut it (chmod 700 {data}), or give Assay a folder of its own with ASSAY_DATA."
    )


def _is_ours(data: Path) -> bool:
    kept = data / "secret.key"
    return kept.is_file() and _IN_USE not in kept.read_text(encoding="ascii")


def check_environment(*, secret_key: str, allowed_hosts: list[str], debug: bool) -> None:
    """Refuse to start where a stranger could sign in or forge a session.

    Raises ImproperlyConfigured with what to set. Debug is for a developer's own machine and
    is let through.
    """
    if debug:
        return
    if not secret_key:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Set it to 50 random characters, or start with `make run`, "
            "which keeps one in the data folder."
        )
    check_key("SECRET_KEY", secret_key)
    if not allowed_hosts or any(host.strip() in ("*", ".") for host in allowed_hosts):
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS must name this server's hosts; '*' is not accepted outside debug."
        )


def check_key(name: str, key: str) -> None:
    """Raise ImproperlyConfigured for a key with which somebody could guess signatures."""
    if len(key) < _MIN_LENGTH or any(word in key.lower() for word in _WORTHLESS):
        raise ImproperlyConfigured(
            f"{name} is too weak: use at least {_MIN_LENGTH} random characters."
        )


def check_sockets(name: str, given: list[str]) -> None:
    """Raise ImproperlyConfigured for what is no address:port."""
    for each in given:
        host, _, port = each.strip().rpartition(":")
        if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ImproperlyConfigured(
                f"{name}: {each!r} is no address:port, such as 10.1.2.3:443."
            )


def check_networks(given: list[str]) -> None:
    """Raise ImproperlyConfigured for a proxy that is no address or network."""
    for each in given:
        try:
            ipaddress.ip_network(each, strict=False)
        except ValueError:
            raise ImproperlyConfigured(
                f"TRUSTED_PROXIES: {each!r} is no address or network, such as 10.0.0.0/8."
            ) from None


def check_header(name: str, proxies: list[str]) -> None:
    """Raise ImproperlyConfigured for what is no header, or where no proxy is trusted to say it."""
    if name and not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", name):
        raise ImproperlyConfigured(
            f"TRUSTED_HEADER is {name!r}; it must be a header such as X-Forwarded-User."
        )
    if name and not proxies:
        raise ImproperlyConfigured("TRUSTED_HEADER needs TRUSTED_PROXIES: who else could say it?")


def check_provider(issuer: str, client: str, secret: str) -> None:
    """Raise ImproperlyConfigured where an identity provider is named by halves, or without TLS."""
    if not (client and secret):
        raise ImproperlyConfigured("OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.")
    host = urlsplit(issuer).hostname or ""
    if not issuer.startswith("https://") and host not in ("127.0.0.1", "localhost", "::1"):
        raise ImproperlyConfigured("OIDC_ISSUER must be an https:// address.")
    if find_spec("mozilla_django_oidc") is None:
        raise ImproperlyConfigured("OIDC_ISSUER needs the packages of requirements-scale.txt.")


def read_storage(url: str) -> dict[str, Any]:
    """Django's storage of files at this address; raises ImproperlyConfigured for what is none.

    s3://bucket/folder, with the client's `endpoint_url` and `region_name` as parameters; keys come
    from where that client looks for them (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY).
    """
    parts, known = urlsplit(url), {"endpoint_url", "region_name", "addressing_style"}
    options = dict(parse_qsl(parts.query))
    if parts.scheme != "s3" or not parts.hostname or parts.password or options.keys() - known:
        raise ImproperlyConfigured(
            "ASSAY_STORAGE is s3://bucket/folder?endpoint_url=https://...&region_name=..., "
            "without a key."
        )
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured("ASSAY_STORAGE needs the packages of requirements-scale.txt.")
    own = {"bucket_name": parts.hostname, "location": parts.path.strip("/")}
    # Objects belong to the bucket's owner; what is read is kept in memory up to so many bytes.
    fixed = {"default_acl": None, "file_overwrite": True, "max_memory_size": 2**24}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": fixed | own | options}


def check_groups(given: Any) -> dict[str, dict[str, Any]]:
    """OIDC_GROUPS as it was given; ImproperlyConfigured names the group that says too little."""
    if not isinstance(given, dict):
        raise ImproperlyConfigured('OIDC_GROUPS is a JSON object: {"group": {"benchmark": ...}}.')
    for name, place in given.items():
        if not (isinstance(place, dict) and place.get("benchmark") and place.get("roles")):
            raise ImproperlyConfigured(f"OIDC_GROUPS: {name!r} needs a benchmark and roles.")
        if not isinstance(place["roles"], list) or set(place["roles"]) - set(_ROLES):
            roles = ", ".join(_ROLES)
            raise ImproperlyConfigured(f"OIDC_GROUPS: roles of {name!r} are a list of {roles}.")
    return given


class Env(environ.Env):
    """The environment, typed: a number or a yes that is none is refused by the setting's name."""

    def get_value(self, var: str, cast: Any = None, *args: Any, **kwargs: Any) -> Any:
        """As in the base; raises ImproperlyConfigured where the value has another type."""
        given = os.environ.get(var, "").strip()
        if cast is bool and given.lower() not in ("", *_YES, *_NO):
            raise ImproperlyConfigured(f"{var} is {given!r}; it can be on or off.")
        try:
            return super().get_value(var, cast, *args, **kwargs)
        except ValueError:
            kind = {int: "number", float: "number", bool: "yes or no"}.get(cast, "JSON")
            raise ImproperlyConfigured(f"{var} is {given!r}, which is no {kind}.") from None

    def number(self, var: str, default: N, *, least: float = 0) -> N:
        """A number of the default's type; raises ImproperlyConfigured for one below `least`."""
        found: N = self.get_value(var, cast=type(default), default=default)
        if not found >= least:  # nor is what is no number, "nan"
            raise ImproperlyConfigured(f"{var} is {found}; it must be {least} or more.")
        return found


def say_in_one_line(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Why a start is refused, instead of where: that is what `sys.excepthook` is set to."""
    if issubclass(kind, ImproperlyConfigured):
        sys.stderr.write(f"Assay does not start: {error}\n")
    else:
        sys.__excepthook__(kind, error, trace)


def check_address(name: str, given: str, schemes: tuple[str, ...]) -> None:
    """Raise ImproperlyConfigured for an address of another kind; it is not shown: see passwords."""
    if given and not given.startswith(tuple(f"{scheme}:" for scheme in schemes)):
        raise ImproperlyConfigured(f"{name} must begin with {' or '.join(schemes)} and a colon.")


def check_path(name: str, given: str) -> None:
    """Raise ImproperlyConfigured for what is no path to serve under."""
    if given and not re.fullmatch(r"(/[\w.~-]+)+", given):
        raise ImproperlyConfigured(f"{name} is {given!r}; it must be a path such as /assay.")


def check_rate(name: str, given: str) -> None:
    """Raise ImproperlyConfigured for what is no rate; empty is no limit."""
    if given and not re.fullmatch(r"[1-9]\d*/(sec|min|hour|day)", given):
        raise ImproperlyConfigured(
            f"{name} is {given!r}; it must be a rate such as 600/min (or /sec, /hour, /day)."
        )


def check_choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    """Raise ImproperlyConfigured for a value that the setting cannot have."""
    if given not in choices:
        raise ImproperlyConfigured(f"{name} is {given!r}; it can be {' or '.join(choices)}.")


def read_mail_server(url: str) -> dict[str, Any]:
    """Django's settings of the mail server at this address, none where there is none.

    Raises ImproperlyConfigured for what is no address of one.
    """
    if not url:
        return {}
    try:
        found: dict[str, Any] = environ.Env.email_url_config(url)
    except (ImproperlyConfigured, ValueError):
        found = {}
    if not found.get("EMAIL_HOST") and "smtp" in found.get("EMAIL_BACKEND", "smtp"):
        raise ImproperlyConfigured(
            "EMAIL_URL is no address of a mail server, such as smtp+tls://user:password@host:587."
        )
    return found


def open_data_folder() -> None:
    """Make the data folder, its secret key and its seed where they are missing.

    Exits in one line where nothing can be written there.
    """
    data = data_folder()
    try:
        given = os.environ.get("SECRET_KEY", "")
        if not given:
            write_secret_key(data)
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.environ.get("SEED_KEY"):
            write_seed_key(data, read_secret_key(given, data, debug=False))
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        sys.exit(
            f"Assay cannot write to its data folder {data}: {error.strerror}. "
            "Choose another one: ASSAY_DATA=/somewhere make run"
        )
    if warning := keep_private(data):
        sys.stderr.write(f"{warning}\n")
