"""The gate for addresses that people and pages give: what it lets through, and that nothing else
is ever connected to. Nothing here leaves loopback: names are resolved by the tests."""

import asyncio
import hashlib
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from kit import egress
from kit.egress import EgressFailed, EgressRefused, Limits, fetch, is_public
from tests.local_site import PAGE, Site, serving


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A web site on loopback, which the tests allow."""
    with serving() as number:
        yield number


@pytest.fixture(scope="module")
def canary() -> Iterator[tuple[int, list[object]]]:
    """A port on every loopback address that nobody may connect to, and who did."""
    calls: list[object] = []
    listener = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)

    def listen() -> None:
        while True:
            try:
                calls.append(listener.accept()[1])
            except OSError:
                return

    threading.Thread(target=listen, daemon=True).start()
    yield listener.getsockname()[1], calls
    listener.close()


def names(**hosts: Sequence[str]) -> egress.Resolve:
    """A resolver that knows these names (with - for .) and no other."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        try:
            return hosts[host.rstrip(".").replace(".", "_").replace("-", "_")]
        except KeyError:
            return await egress.look_up(host, port) if host[:1].isdigit() else no_such(host)

    return resolve


def no_such(host: str) -> Sequence[str]:
    raise socket.gaierror(f"nobody is called {host}")


def get(port: int, page: str, **limits: object) -> egress.Fetched:
    return asyncio.run(
        fetch(
            f"http://site.test:{port}/{page}",
            limits=replace(Limits(), **limits),  # type: ignore[arg-type]
            allowed=frozenset({("127.0.0.1", port)}),
            resolve=names(site_test=["127.0.0.1"], inside_test=["10.0.0.7"]),
        )
    )


@pytest.mark.parametrize("page", ["good", "packed", "to?/good", "to?/to?/packed"])
def test_a_page_comes_as_it_is(port: int, page: str) -> None:
    fetched = get(port, page)
    assert fetched.body == PAGE
    assert fetched.sha256 == hashlib.sha256(PAGE).hexdigest()
    assert (fetched.content_type, fetched.charset) == ("text/html", "utf-8")
    assert fetched.url == f"http://site.test:{port}/{page.rpartition('?')[2].lstrip('/')}"


def test_nothing_of_ours_is_told(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    Site.seen.clear()
    get(port, "to?/good")
    for _, headers in Site.seen:
        assert {name.lower() for name in headers} <= {
            "host",
            "user-agent",
            "accept",
            "accept-encoding",
            "connection",
        }


@pytest.mark.parametrize(
    ("page", "limits", "words"),
    [
        ("missing", {}, "answered 404"),
        ("image", {}, "is image/gif, not HTML, text or PDF"),
        ("brotli", {}, "packed the page as br"),
        ("cut", {}, "broke off"),
        ("garbage", {}, "cannot be read"),
        ("huge", {"size": 100_000}, "larger than 97 KB"),
        pytest.param("bomb", {}, "larger than 10,240 KB", marks=pytest.mark.slow),
        ("drip", {"seconds": 0.4}, "longer than 0.4 seconds"),
        ("loop", {}, "leads on more than 5 times"),
        ("nowhere", {}, "does not say where"),
    ],
)
def test_a_bad_page_is_a_clear_failure(port: int, page: str, limits: dict, words: str) -> None:
    with pytest.raises(EgressFailed, match=words):
        get(port, page, **limits)


def test_a_name_that_nobody_has(port: int) -> None:
    with pytest.raises(EgressRefused, match="leads nowhere on the public web"):
        asyncio.run(fetch("http://nobody.test/", resolve=names()))


def test_a_site_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    with pytest.raises(EgressFailed, match="does not answer"):
        get(free, "good")


INSIDE = {  # names that lead where nobody from outside belongs
    "loopback_test": ["127.0.0.1"],
    "loopback6_test": ["::1"],
    "private_test": ["10.0.0.1"],
    "shared_test": ["100.64.0.1"],
    "metadata_test": ["169.254.169.254"],
    "mapped_test": ["::ffff:127.0.0.1"],
    "nat64_test": ["64:ff9b::7f00:1"],
    "one_bad_of_two_test": ["93.184.216.34", "127.0.0.1"],
    "one_bad_of_three_test": ["2606:2800:220:1::1", "93.184.216.34", "fe80::1"],
    "localhost": ["127.0.0.1", "::1"],
    "localhost_localdomain": ["127.0.0.1"],
    "scoped_test": ["fe80::1%lo"],
    "nothing_test": ["not an address"],
}
LITERALS = [
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.0.0.1",
    "0177.0.0.1", "017700000001", "127.0.0.1.", "0", "0.0.0.0", "10.0.0.1", "10.255.255.255",
    "100.64.0.1", "100.127.255.254", "169.254.1.1", "169.254.169.254", "0xa9fea9fe", "2852039166",
    "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.88.99.1",
    "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "①②⑦.⓪.⓪.①", "127。0。0。1",
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::1]", "[100::1]", "[2001::1]", "[2001:10::1]", "[2001:db8::1]", "[2002:7f00:1::]",
    "[3fff::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]",
    "[ff02::1]", "[4000::1]",
]  # fmt: skip
FORMS = [
    "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "javascript:alert(1)",
    "data:text/html,hi", "unix:///run/x.sock", "//127.0.0.1/", "127.0.0.1", "", "   ", "http://",
    "http:///good", "http://?", "https://user@good.test/", "https://user:secret@good.test/",
    "http://good.test@127.0.0.1/", "http://good.test:22/", "http://good.test:6379/",
    "http://good.test:0/", "http://good.test:99999/", "http://[::1", "http://]/", "http://a b/",
    "http://127.0.0.1%00.good.test/", "http://" + "a" * 3000 + ".test/", "http://\x00/",
]  # fmt: skip


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every socket that a fetch is about to make; a tripwire, so none is made."""
    made: list[object] = []

    def trip(*kind: object) -> socket.socket:
        made.append(kind)
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(egress, "_make_socket", trip)
    return made


HOSTS = [name.replace("_", ".") for name in INSIDE] + ["localhost."] + LITERALS


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_is_inside_is_refused_before_any_connection(
    canary: tuple[int, list[object]], sockets: list[object], scheme: str, host: str
) -> None:
    port, calls = canary
    limits = replace(Limits(), ports=frozenset({80, 443, port}))  # so that only the address counts
    with pytest.raises(EgressRefused):
        asyncio.run(fetch(f"{scheme}://{host}:{port}/", limits=limits, resolve=names(**INSIDE)))
    assert not sockets
    assert not calls


@pytest.mark.parametrize("url", FORMS)
def test_what_is_no_address_of_the_web_is_refused(sockets: list[object], url: str) -> None:
    with pytest.raises(EgressRefused):
        asyncio.run(fetch(url, resolve=names(good_test=["93.184.216.34"])))
    assert not sockets


@pytest.mark.parametrize(
    "target",
    [
        "http://inside.test/", "http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/x",
        "//10.0.0.1/", "file:///etc/passwd", "ftp://site.test/", "http://user:pw@site.test/",
        "http://site.test:22/", "http://0x7f.1/", "http://[::ffff:10.0.0.1]/", "http://[oops/",
    ],
)  # fmt: skip
def test_a_page_cannot_lead_inside(port: int, target: str) -> None:
    with pytest.raises((EgressRefused, EgressFailed)) as caught:
        get(port, f"to?{target}")
    assert isinstance(caught.value, EgressRefused) or "0x7f" in target


def test_a_name_that_changes_its_mind_is_looked_up_once_per_hop(port: int) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    asked: list[str] = []

    async def rebinding(host: str, _: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    def go(page: str) -> egress.Fetched:
        allowed = frozenset({("127.0.0.1", port)})
        url = f"http://site.test:{port}/{page}"
        return asyncio.run(fetch(url, allowed=allowed, resolve=rebinding))

    assert go("good").body == PAGE
    assert asked == ["site.test"]
    with pytest.raises(EgressRefused):
        go("good")


def test_the_socket_itself_is_made_for_checked_addresses_only(sockets: list[object]) -> None:
    gate = egress._Gate(limits=Limits(), allowed=frozenset(), resolve=names())
    for address in ("127.0.0.1", "10.1.2.3", "::1", "fe80::1"):
        with pytest.raises(EgressRefused):
            gate.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80)))
    with pytest.raises(EgressRefused):
        gate.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("93.184.216.34", 22)))
    assert not sockets


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "8.8.8.8", "100.128.0.1", "172.32.0.1", "192.0.1.1", "2606:2800:220:1::1"],
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


def test_an_allowed_address_is_allowed_on_its_port_only(port: int, sockets: list[object]) -> None:
    for allowed in (frozenset({("127.0.0.1", port + 1)}), frozenset({("127.0.0.2", port)})):
        with pytest.raises(EgressRefused):
            asyncio.run(fetch(f"http://127.0.0.1:{port}/good", allowed=allowed))
    assert not sockets
