"""How far an account reaches, and so what the admin of one benchmark may do with it.

Whoever holds a sign-in link is let into the whole account. So a benchmark's admin gets links only
to accounts that this benchmark made and that reach nothing else; and an account becomes a member
of another benchmark only once its owner holds it alone, by a password that ends every link.
"""

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from corpus.models import Benchmark, Membership
from kit.errors import Refused
from kit.models import Event
from kit.signin import end_links

ADD = "add person"


def open_account(*, username: str, benchmark: Benchmark) -> tuple[User, bool]:
    """The account of this name, held until the transaction ends, and whether it was just made.

    A new one has no password. Links of an old one that were not used yet stop working. Raises
    Refused for a name that cannot be one, and for an account that others could still get into.
    """
    name = User.normalize_username(username)
    found = User.objects.select_for_update(no_key=True).filter(username=name).first()
    if found is None:
        return _make(name), True
    if not (found.has_usable_password() or is_own(found, benchmark)):
        raise Refused(
            f"{name} has no password yet: ask them to choose one under Account, then add them.",
            field="username",
        )
    end_links(user=found)
    return found, False


def is_own(user: User, benchmark: Benchmark) -> bool:
    """Whether the account was made by this benchmark, has no password and reaches nothing else."""
    if user.has_usable_password() or user.is_staff or user.is_superuser:
        return False
    elsewhere = Membership.objects.filter(user=user).exclude(benchmark=benchmark)
    return _was_made_by(user, benchmark) and not elsewhere.exists()


def _was_made_by(user: User, benchmark: Benchmark) -> bool:
    added = Event.objects.filter(
        target_type=Membership._meta.label_lower, verb=ADD, data__user=user.pk
    )
    first = added.order_by("pk").first()
    return first is not None and first.scope == benchmark.slug and first.data.get("is_new", True)


def _make(name: str) -> User:
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        raise Refused("Use letters, digits and @ . + - _ only.", field="username") from None
    try:
        with transaction.atomic():
            return User.objects.create_user(name)
    except IntegrityError:
        message = f"{name} was given an account a moment ago. Try once more."
        raise Refused(message, field="username") from None
