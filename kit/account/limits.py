"""How often a person or an address may try something: counted before it is tried.

A try is counted by one conditional UPDATE, so of any number at once exactly `most` get through.
The time runs from the first try; after it all tries are there again. Names that nobody has are
counted like others: what is refused says nothing about who exists.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from kit import audit
from kit.models import Tries

_ADDRESS = "address:"
_THIS_MACHINE = "127.0.0.1"


class TooMany(Exception):
    """No more tries before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"Too many tries until {until}.")
        self.until = until

    @property
    def seconds(self) -> int:
        """From now until then, one at least."""
        return max(1, round((self.until - timezone.now()).total_seconds()))


@dataclass(frozen=True)
class Limit:
    """Tries that a person and an address have in so many minutes."""

    name: str
    minutes: int
    person: int
    address: int

    def take(self, request: HttpRequest, person: str) -> None:
        """Count a try; raises TooMany where there are none left.

        First the address: one that has no tries left cannot use up a person's.
        """
        self._take(self.address_key(request), self.address)
        self._take(self.person_key(person), self.person)

    def give_back(self, request: HttpRequest, person: str) -> None:
        """It was no guess: the person has all tries again, the address this one."""
        Tries.objects.filter(key=self.person_key(person)).delete()
        used = Tries.objects.filter(key=self.address_key(request), count__gt=0)
        used.update(count=F("count") - 1)

    def person_key(self, person: str) -> str:
        """A hash: people type passwords into the wrong field."""
        digest = salted_hmac("kit.limits", person, algorithm="sha256").hexdigest()
        return f"{self.name}:person:{digest}"

    def address_key(self, request: HttpRequest) -> str:
        """The address that asks, or its network."""
        return f"{self.name}:{_ADDRESS}{client_address(request)}"

    def _take(self, key: str, most: int) -> None:
        now = timezone.now()
        found = Tries.objects.filter(key=key, ends_at__gt=now).first()
        if found is None:
            until = now + timedelta(minutes=self.minutes)
            Tries.objects.filter(ends_at__lte=now).delete()
            Tries.objects.bulk_create([Tries(key=key, ends_at=until)], ignore_conflicts=True)
        elif found.count >= most:  # whoever goes on costs a read
            raise TooMany(found.ends_at)
        if not Tries.objects.filter(key=key, count__lt=most).update(count=F("count") + 1):
            found = Tries.objects.filter(key=key).first()
            raise TooMany(found.ends_at if found else now)

    def locked(self) -> list[tuple[Tries, str]]:
        """Who has no tries left, as rows with their user name or address; the nameless left out."""
        rows = Tries.objects.filter(key__startswith=f"{self.name}:", ends_at__gt=timezone.now())
        full = [row for row in rows.order_by("ends_at") if row.count >= self._most(row)]
        names = dict[str, str]()
        if any(_ADDRESS not in row.key for row in full):
            people = User.objects.values_list("username", flat=True)
            names = {self.person_key(name): name for name in people}
        before = f"{self.name}:{_ADDRESS}"
        found = [(row, names.get(row.key, "")) for row in full if not row.key.startswith(before)]
        found += [(row, row.key.removeprefix(before)) for row in full if row.key.startswith(before)]
        return [(row, who) for row, who in found if who]

    def _most(self, row: Tries) -> int:
        return self.address if f":{_ADDRESS}" in row.key else self.person


def lift(*, row: Tries, who: str, actor: User) -> None:
    """All tries are there again at once."""
    with transaction.atomic():
        audit.record(actor=actor, verb="lift limit", target=row, data={"of": who})
        row.delete()


# Argon2 lets a guesser through some tens of times a second; a lab may share one address.
PASSWORDS = Limit("password", minutes=15, person=10, address=100)
LINKS = Limit("link", minutes=60, person=3, address=30)
# Of a million codes three are good at a time; who tries them has the password already.
CODES = Limit("code", minutes=15, person=5, address=100)
LIMITS = (PASSWORDS, LINKS, CODES)


def client_address(request: HttpRequest) -> str:
    """Who asks: the peer, or whom trusted proxies name; of IPv6 the network that one host has.

    X-Forwarded-For is read from its end, where the nearest proxy wrote, as far as proxies of
    TRUSTED_PROXIES did: what stands before is the sender's own word. A socket file has no address:
    only this machine's proxy opens one.
    """
    found = _parse(request.META.get("REMOTE_ADDR") or _THIS_MACHINE)
    said = request.headers.get("X-Forwarded-For", "").split(",")
    while said and found is not None and _is_trusted(found, settings.TRUSTED_PROXIES):
        before = _parse(said.pop())
        if before is None:
            break
        found = before
    if found is None:
        return "unknown"
    return (
        str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)
    )


def is_proxy(request: HttpRequest) -> bool:
    """Whether the peer itself is one of TRUSTED_PROXIES."""
    found = _parse(request.META.get("REMOTE_ADDR") or _THIS_MACHINE)
    return found is not None and _is_trusted(found, settings.TRUSTED_PROXIES)


def _parse(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _is_trusted(
    found: ipaddress.IPv4Address | ipaddress.IPv6Address, networks: Sequence[str]
) -> bool:
    return any(found in ipaddress.ip_network(each, strict=False) for each in networks)
