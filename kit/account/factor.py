"""The second factor: a code of an app (TOTP, RFC 6238), or one of ten recovery codes.

The app's secret follows from a random salt and SEED_KEY, as the secrets of webhooks do: who reads
the database alone, or a copy of it, can make no code. Of recovery codes only hashes are kept.
"""

import base64
import secrets
from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from pyotp import TOTP

from kit import audit
from kit.account.links import digest
from kit.errors import Refused
from kit.models import ApiToken, SecondFactor

# In a session: a code was given when it began, or the factor was set up in it.
PASSED = "second_factor"
OWN_BACKEND = "django.contrib.auth.backends.ModelBackend"
_SECONDS = 30
# Clocks are apart, and typing takes its time: the code before is good, and the one after.
_STEPS = (-1, 0, 1)
_RECOVERY_CODES = 10


class NeedsFactor(PermissionDenied):
    """Nothing is let through before the person has set up a second factor."""

    def __init__(self) -> None:
        super().__init__("Set up a second factor under Account first: this site asks for one.")


def new_salt() -> str:
    """What a secret is made of, beside the key of the site."""
    return secrets.token_hex(16)


def app_secret(salt: str) -> str:
    """The secret as people type it into an app."""
    made = salted_hmac("kit.second-factor", salt, secret=settings.SEED_KEY, algorithm="sha256")
    return base64.b32encode(made.digest()[:20]).decode()


def app_link(salt: str, user: User, site: str) -> str:
    """The same for an app that opens it: otpauth://totp/..."""
    name = f"{user.get_username()} ({site})"
    return TOTP(app_secret(salt)).provisioning_uri(name=name, issuer_name="Assay")


def code_now(salt: str, *, later: int = 0) -> str:
    """The code of the present step, or of so many steps later."""
    return TOTP(app_secret(salt)).generate_otp(_step_now() + later)


def set_up(*, user: User, salt: str, code: str) -> list[str]:
    """The person has the factor from now on; its recovery codes, which nobody can read again.

    Raises Refused for a code that the secret does not make, and where there is a factor already.
    """
    step = _step_of(salt, _bare(code), after=0)
    if step is None:
        raise Refused("This is not the code that the app shows now.", field="code")
    codes, hashes = _new_codes()
    try:
        with transaction.atomic():
            SecondFactor.objects.create(user=user, salt=salt, last_step=step, codes=hashes)
            audit.record(actor=user, verb="set up second factor", target=user)
    except IntegrityError:
        raise Refused("You have a second factor already.") from None
    return codes


def accept_code(*, user: User, code: str) -> bool:
    """Whether the code lets the person in; it is used up then, with those of the time before.

    Under the row's lock, so that of two requests with one code one gets in.
    """
    said = _bare(code)
    with transaction.atomic():
        held = SecondFactor.objects.select_for_update(no_key=True).filter(user=user).first()
        if held is None:
            return False
        step, known = _step_of(held.salt, said, after=held.last_step), digest(said)
        if step is not None:
            held.last_step = step
        elif known in held.codes:
            held.codes = [each for each in held.codes if each != known]
            data = {"left": len(held.codes)}
            audit.record(actor=user, verb="use recovery code", target=user, data=data)
        else:
            return False
        held.save(update_fields=["last_step", "codes"])
    return True


def renew_codes(*, user: User) -> list[str]:
    """Ten new recovery codes; those before work no more. Raises Refused without a factor."""
    codes, hashes = _new_codes()
    with transaction.atomic():
        if not SecondFactor.objects.filter(user=user).update(codes=hashes):
            raise Refused("You have no second factor.")
        audit.record(actor=user, verb="make recovery codes", target=user)
    return codes


def turn_off(*, user: User) -> None:
    """The person gets in without a code from now on. Raises Refused without a factor."""
    with transaction.atomic():
        if not SecondFactor.objects.filter(user=user).delete()[0]:
            raise Refused("You have no second factor.")
        audit.record(actor=user, verb="turn off second factor", target=user)


def has_factor(user: User) -> bool:
    """Whether a code is asked for when the person signs in."""
    return SecondFactor.objects.filter(user=user).exists()


def lacks_factor(request: HttpRequest | None) -> bool:
    """Whether the site asks for a factor that this session has not shown.

    What comes by an API token has no session, and of who came through a provider or a proxy the
    second factor is theirs.
    """
    if not settings.REQUIRE_SECOND_FACTOR or request is None:
        return False
    session = getattr(request, "session", {})
    if isinstance(getattr(request, "auth", None), ApiToken) or session.get(PASSED):
        return False
    return bool(session.get(BACKEND_SESSION_KEY) == OWN_BACKEND)


def _step_now() -> int:
    return int(timezone.now().timestamp()) // _SECONDS


def _step_of(salt: str, said: str, *, after: int) -> int | None:
    """The step whose code was said, if it is about now and later than the last that was used."""
    steps = [_step_now() + each for each in _STEPS]
    made = TOTP(app_secret(salt))
    found = [each for each in steps if constant_time_compare(made.generate_otp(each), said)]
    return next((each for each in found if each > after), None)


def _new_codes() -> tuple[list[str], Sequence[str]]:
    bare = [base64.b32encode(secrets.token_bytes(10)).decode() for _ in range(_RECOVERY_CODES)]
    shown = ["-".join(each[at : at + 4] for at in range(0, 16, 4)).lower() for each in bare]
    return shown, [digest(_bare(each)) for each in shown]


def _bare(code: str) -> str:
    return "".join(each for each in code.lower() if each.isalnum())
