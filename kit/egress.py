"""The one gate for addresses that come from people or pages.

Whoever may type a URL could otherwise make this server speak to itself, to its neighbours or to a
cloud's metadata service. So: http and https on their own ports, public addresses only, every
redirect looked at anew, and bounds on time, size and type. A name is resolved once per hop, it is
refused if any of its addresses is not public, and the connection goes to an address that was
checked; the socket itself is made only for such an address.
"""

import asyncio
import hashlib
import ipaddress
import re
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

Address = tuple[str, int]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# Special-purpose ranges by IANA's registries. Python's own `is_global` differs from release to
# release (3.11 calls 192.0.0.8 and NAT64 forms of loopback global), so they are written down.
_CLOSED_V4: Final = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# Of IPv6 only global unicast is open, less what is set aside inside it: protocol assignments with
# Teredo and ORCHID, documentation, and 6to4, which carries any IPv4 address.
_OPEN_V6: Final = ipaddress.IPv6Network("2000::/3")
_CLOSED_V6: Final = tuple(
    ipaddress.IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
# Of a name, or of an address without a zone, once it is in ASCII.
_HOST: Final = re.compile(r"[A-Za-z0-9._:-]+")
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CHUNK: Final = 64 * 1024
_MAX_URL: Final = 2_000
_NOWHERE: Final = "This address leads nowhere on the public web: check the name."


class EgressRefused(Exception):
    """The address may not be fetched; the message says why, for people. Nothing was sent to it."""


class EgressFailed(Exception):
    """The address may be fetched, but no page came of it; the message says why, for people."""


@dataclass(frozen=True)
class Limits:
    """What one fetch may take: seconds in all, bytes after unpacking, hops, ports and types."""

    seconds: float = 20.0
    size: int = 10 * 1024 * 1024
    redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})
    types: frozenset[str] = frozenset(
        {"text/html", "application/xhtml+xml", "text/plain", "application/pdf"}
    )


@dataclass(frozen=True)
class Fetched:
    """A page as it came: `url` is where it was found in the end, `sha256` that of `body`."""

    url: str
    content_type: str
    charset: str | None
    body: bytes
    sha256: str


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet; False for what is no address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _CLOSED_V4)
    if ip.scope_id is not None:
        return False
    return ip in _OPEN_V6 and not any(ip in network for network in _CLOSED_V6)


async def look_up(host: str, port: int) -> Sequence[str]:
    """Every address of a name, as the system resolves it; raises OSError where there is none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def fetch(
    url: str,
    *,
    limits: Limits | None = None,
    allowed: frozenset[Address] = frozenset(),
    resolve: Resolve = look_up,
) -> Fetched:
    """The page at an address that a person or a page gave.

    `allowed` names (IP address, port) pairs that may be fetched although they are not public: an
    operator's own library, or a test's server. Raises EgressRefused, or EgressFailed for no answer
    in time, an error status, a type that is not text, HTML or PDF, or more than `limits.size`.
    """
    limits = limits or Limits()
    gate = _Gate(limits=limits, allowed=allowed, resolve=resolve)
    async with _in_time(limits, "page"):
        return await _follow(url, gate, limits)


async def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    limits: Limits,
    allowed: frozenset[Address] = frozenset(),
    resolve: Resolve = look_up,
) -> tuple[int, str]:
    """Send a body to an address; the status of the answer, and its first `limits.size` bytes.

    Nothing is followed: a redirect is an answer. Raises EgressRefused, and EgressFailed where no
    answer came in time.
    """
    gate = _Gate(limits=limits, allowed=allowed, resolve=resolve)
    async with _in_time(limits, "answer"), _session(gate) as session:
        where = gate.read(url)
        async with session.post(
            where, data=body, headers=headers, allow_redirects=False
        ) as response:
            answer = await response.content.read(limits.size)
            return response.status, answer.decode("utf-8", "replace")


def check(url: str, *, allowed: frozenset[Address] = frozenset()) -> None:
    """Raise EgressRefused for an address whose form alone says that nothing is sent there."""
    _Gate(limits=Limits(), allowed=allowed, resolve=look_up).read(url)


@asynccontextmanager
async def _in_time(limits: Limits, what: str) -> AsyncIterator[None]:
    """What goes wrong inside, in words."""
    try:
        async with asyncio.timeout(limits.seconds):
            yield
    except TimeoutError:
        raise EgressFailed(f"The {what} took longer than {limits.seconds:g} seconds.") from None
    except aiohttp.InvalidURL:
        raise EgressRefused("This is not a web address.") from None
    except (aiohttp.ClientError, OSError) as error:
        raise EgressFailed(f"The {what} could not be fetched: {_in_words(error)}.") from None


class _Gate(AbstractResolver):
    """Checks URLs and addresses; aiohttp asks it for the addresses of a name."""

    def __init__(self, *, limits: Limits, allowed: frozenset[Address], resolve: Resolve) -> None:
        self._ports, self._allowed, self._resolve = limits.ports, allowed, resolve

    def read(self, text: str) -> URL:
        """The URL, if its form is one that may be fetched at all; raises EgressRefused."""
        if len(text) > _MAX_URL:
            raise EgressRefused(f"The address is longer than {_MAX_URL} characters.")
        try:
            url = URL(text.strip())
            host, port = url.raw_host, url.port  # as it will be looked up, not as it was typed
        except ValueError:
            raise EgressRefused("This is not a web address.") from None
        if url.scheme not in ("http", "https") or not host or port is None:
            raise EgressRefused("Only http:// and https:// addresses can be fetched.")
        if url.user is not None or url.password is not None:
            raise EgressRefused("An address with a name or password in it is not fetched.")
        if not _HOST.fullmatch(host):
            raise EgressRefused("The host in this address is not one of the web.")
        if port not in self._ports and not any(port == open_port for _, open_port in self._allowed):
            raise EgressRefused(f"Port {port} is not one of the web's.")
        if _is_literal(host):
            self.check(host, port)
        return url

    def check(self, address: str, port: int) -> None:
        """Raise EgressRefused unless a connection may go to this address and port."""
        if (address, port) in self._allowed:
            return
        if port not in self._ports:
            raise EgressRefused(f"Port {port} is not one of the web's.")
        if not is_public(address):
            raise EgressRefused(_NOWHERE)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """All addresses of the name, or none: one that is not public refuses the name.

        In the same words as a name that nobody has: who asks must not learn what names are inside.
        """
        try:
            addresses = await self._resolve(host, port)
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise
            raise EgressRefused(_NOWHERE) from None
        for address in addresses:
            self.check(address, port)
        return [_as_result(host, address, port) for address in addresses]

    async def close(self) -> None:
        """Nothing is held."""

    def open_socket(self, addr_info: Any) -> socket.socket:
        """The socket of a connection: the last look at where it leads."""
        family, kind, protocol, _, address = addr_info
        self.check(str(address[0]), int(address[1]))
        return _make_socket(family, kind, protocol)


_make_socket = socket.socket


def _session(gate: _Gate, **headers: str) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        resolver=gate, use_dns_cache=False, force_close=True, socket_factory=gate.open_socket
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        headers={"User-Agent": "Assay (annotation of retrieval benchmarks)", **headers},
    )


async def _follow(text: str, gate: _Gate, limits: Limits) -> Fetched:
    takes = {
        "Accept": "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.8",
        "Accept-Encoding": "gzip",
    }
    async with _session(gate, **takes) as session:
        url = gate.read(text)
        for _ in range(limits.redirects + 1):
            async with session.get(url, allow_redirects=False) as response:
                if response.status not in _REDIRECTS:
                    return await _take(response, limits)
                location = response.headers.get("Location", "")
            if not location:
                raise EgressFailed("The page leads on, but does not say where.")
            url = gate.read(str(_joined(url, location)))
    raise EgressFailed(f"The page leads on more than {limits.redirects} times.")


async def _take(response: aiohttp.ClientResponse, limits: Limits) -> Fetched:
    if response.status != 200:
        raise EgressFailed(f"The site answered {response.status} instead of the page.")
    if response.content_type not in limits.types:
        raise EgressFailed(f"The page is {response.content_type}, not HTML, text or PDF.")
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", "deflate"):
        raise EgressFailed(f"The site packed the page as {packing}, which was not asked for.")
    unpack = zlib.decompressobj(wbits=47) if packing != "identity" else None
    body = bytearray()
    received = 0
    async for chunk in response.content.iter_chunked(_CHUNK):
        received += len(chunk)
        body += _unpacked(unpack, chunk, room=limits.size + 1 - len(body)) if unpack else chunk
        if len(body) > limits.size or received > limits.size:
            raise EgressFailed(f"The page is larger than {limits.size // 1024:,} KB.")
    if unpack and not unpack.eof:
        raise EgressFailed("The page broke off in the middle.")
    content = bytes(body)
    return Fetched(
        url=str(response.url),
        content_type=response.content_type,
        charset=response.charset,
        body=content,
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _unpacked(unpack: Any, chunk: bytes, *, room: int) -> bytes:
    """At most `room` bytes of what the chunk unpacks to, so that a bomb never opens."""
    try:
        return bytes(unpack.decompress(unpack.unconsumed_tail + chunk, max(room, 1)))
    except zlib.error:
        raise EgressFailed("The page is packed in a way that cannot be read.") from None


def _joined(url: URL, location: str) -> URL:
    try:
        return url.join(URL(location))
    except ValueError:
        raise EgressRefused("The page leads on to something that is not a web address.") from None


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _as_result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=family,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def _in_words(error: aiohttp.ClientError | OSError) -> str:
    """What went wrong, without the addresses that a name leads to."""
    if isinstance(error, aiohttp.ClientConnectorDNSError | socket.gaierror):
        return "the name server does not answer"
    if isinstance(error, aiohttp.ClientSSLError):
        return "its certificate is not valid"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "the site does not answer"
    return "the connection broke off"
