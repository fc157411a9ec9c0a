"""Hundreds of ways to write an address inside, at every door that fetches one: none is reached.

The doors are the page that an expert collects, by its screen and the API (`request_fetch`), what
that page redirects to, and webhooks (`add_webhook`, and what is sent there). A resolver of ours
answers for names; a trap takes every socket.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from corpus.models import Delivery, PageFetch, Role
from corpus.pages import fetching
from corpus.webhooks.services import add_webhook, deliver
from kit import egress
from kit.egress import EgressFailed, EgressRefused, fetch
from kit.errors import Refused
from kit.models import Event
from tests.factories import make_benchmark, make_member, make_query
from tests.local_site import serving

INSIDE = (
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.31.255.1", "192.168.1.1"),
    *("169.254.169.254", "100.100.100.200", "198.18.0.1", "224.0.0.1"),
)
WIDE = str.maketrans("0123456789.", "０１２３４５６７８９．")
CIRCLED = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
INSIDE_V6 = ("::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1", "fec0::1", "::ffff:0:7f00:1")


def hosts() -> Iterator[str]:
    """Each address inside in the ways that some parser takes for it."""
    for text in INSIDE:
        a, b, c, d = (int(part) for part in text.split("."))
        whole = int(ipaddress.IPv4Address(text))
        high, low = whole >> 16, whole & 0xFFFF
        yield from (text, f"{text}.", str(whole), hex(whole), f"0{whole:o}", f"0X{whole:08X}")
        yield from (f"{a}.{whole & 0xFFFFFF}", f"{a}.{b}.{low}", f"{hex(a)}.{b}.{c}.{d}")
        yield from (f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"{a:04d}.{b:04d}.{c:04d}.{d:04d}")
        yield from (".".join(map(hex, (a, b, c, d))), f"{a + 256}.{b}.{c}.{d}", str(whole + 2**32))
        yield from (text.translate(WIDE), text.translate(CIRCLED), text.replace(".", "。"))
        yield from ("".join(f"%{ord(each):02x}" for each in text), f"{text}%00.good.test")
        yield from (f"[::ffff:{text}]", f"[::ffff:{high:x}:{low:x}]", f"[::{text}]")
        yield from (f"[64:ff9b::{text}]", f"[2002:{high:x}:{low:x}::]", f"[2001:0:{high:x}::1]")
        yield from (f"[::ffff:{text}%25lo]", f"ip-{text.replace('.', '-')}.inside.test")
    for text in INSIDE_V6:
        full = ipaddress.IPv6Address(text).exploded
        yield from (f"[{text}]", f"[{full}]", f"[{full.upper()}]", f"[{text}%25eth0]", text)
    yield from (
        "localhost",
        "LOCALHOST",
        "localhost.",
        "ｌｏｃａｌｈｏｓｔ",
        "inside.test",
        "two.inside.test",
    )


def forms() -> list[str]:
    """Each host plainly, and in one of the disguises in turn."""
    disguises = (
        "http://{}:80/", "HTTPS://{}/x?y=http://good.test", "http://good.test@{}/", "http:{}/",
        "http://{}#@good.test/", "http://good.test\\@{}/", "//{}/", "http:\\\\{}\\", "ftp://{}/",
        "http://{}:22/", "gopher://{}/_x", "http://user:pw@{}:443/", " \thttp://{}/\r\n",
        "http://good.test:80@{}/", "https:///{}/", "http://{}:0080/", "file://{}/etc/passwd",
    )  # fmt: skip
    turns = count()
    made = [
        form.format(host)
        for host in hosts()
        for form in ("http://{}/", disguises[next(turns) % len(disguises)])
    ]
    return list(dict.fromkeys(made))


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Every socket that is made for a page; names lead inside, or are nobody's."""
    made: list[tuple[Any, ...]] = []

    def look_up(host: Any, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        name = (host.decode() if isinstance(host, bytes) else str(host)).rstrip(".").lower()
        if name in ("localhost", "inside.test") or name.endswith(".inside.test"):
            found = [name.removeprefix("ip-").removesuffix(".inside.test").replace("-", ".")]
            if name == "two.inside.test":
                found = ["93.184.216.34", "10.0.0.7"]
            elif not name.startswith("ip-"):
                found = ["127.0.0.1"]
        elif name[:1].isdigit() or ":" in name:
            return real(host, port, *args, **kwargs)  # what libc takes for a number, too
        else:
            raise socket.gaierror(socket.EAI_NONAME, "nobody is called so")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    def make(*kind: Any) -> socket.socket:
        made.append(kind)
        return socket.socket(*kind)

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(egress, "_make_socket", make)
    return made


def ask(form: str) -> Any:
    return fetch(form)


def tell(form: str) -> Any:
    return egress.post(form, b"{}", {}, limits=egress.Limits(seconds=5, size=100, redirects=0))


@pytest.mark.parametrize("door", [ask, tell])
def test_four_hundred_forms_reach_nothing_inside(door: Any, sockets: list[Any]) -> None:
    assert len(forms()) >= 400
    wrong = []
    for form in forms():
        try:
            asyncio.run(door(form))
            wrong.append(form)
        except EgressRefused:
            pass
        except EgressFailed as error:
            wrong.append(f"{form}: {error}")
    assert (wrong, sockets) == ([], [])


@pytest.mark.slow
def test_no_page_leads_there_either(sockets: list[Any]) -> None:
    written = [form for form in forms() if form.isprintable() and form.isascii()]
    assert len(written) >= 300
    with serving() as port:
        allowed = frozenset({("127.0.0.1", port)})
        for form in written:
            sockets.clear()
            with pytest.raises((EgressRefused, EgressFailed)):
                asyncio.run(fetch(f"http://127.0.0.1:{port}/to?{form}", allowed=allowed))
            # The page itself; forms without a scheme or host lead to another page of its site.
            assert len(sockets) == 1 or form.startswith(("http:", "https:///", "//")), form
            assert len(sockets) <= 6


@pytest.mark.slow
@pytest.mark.django_db
def test_no_expert_reaches_it(sockets: list[Any]) -> None:
    benchmark = make_benchmark()
    expert = make_member(benchmark, "expert", Role.ANNOTATOR)
    query = make_query(benchmark, "7")
    fetched = 0
    for form in forms():
        try:
            run = fetching.request_fetch(query=query, url=form, actor=expert, again=True)
        except Refused:
            continue
        fetched += 1
        fetching.take_turn(run.pk)
        run.refresh_from_db()
        assert run.status == "failed", form
        assert run.page is None
    assert sockets == []
    assert fetched > 100
    assert PageFetch.objects.filter(status="done").count() == 0


@pytest.mark.slow
@pytest.mark.django_db
def test_no_webhook_reaches_it(sockets: list[Any]) -> None:
    """Refused when it is added, or, where a name leads inside, when something is to be sent."""
    benchmark = make_benchmark()
    admin = make_member(benchmark, "admin", Role.ADMIN)
    event = Event.objects.create(verb="x", target_type="corpus.benchmark", target_id="1")
    added = 0
    for form in forms():
        try:
            webhook, _ = add_webhook(benchmark=benchmark, actor=admin, url=form, kinds=["settings"])
        except Refused:
            continue
        added += 1
        sent = Delivery.objects.create(webhook=webhook, event=event, due_at=timezone.now())
        assert deliver() >= 1
        sent.refresh_from_db()
        assert (sent.status, sent.state) == (0, Delivery.State.WAITING), form
        assert "public" in sent.answer or "address" in sent.answer, (form, sent.answer)
        Delivery.objects.all().delete()
        webhook.delete()
    assert sockets == []
    assert added > 50
