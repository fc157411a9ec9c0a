"""Creating benchmarks, and their members with roles and domains.

Whoever holds a sign-in link is let into the whole account. So a benchmark's admin gets links only
to accounts that this benchmark made and that reach nothing else; and an account becomes a member
of another benchmark only once its owner holds it alone, by a password that ends every link."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from corpus.benchmarks.archive import DELETE, refuse_archived
from corpus.models import Benchmark, Domain, Invitation, Layer, Licence, Membership, Role
from kit import audit
from kit.account.links import (
    AGREED_FOR,
    agree_to_link,
    create_link,
    end_links,
    has_decided,
    is_mailed_to,
    link_of_password,
)
from kit.account.names import check_name, looks, taken_names
from kit.errors import Refused
from kit.models import Event, LinkRequest, ProviderIdentity, Quota


def create_benchmark(
    *, name: str, slug: str, actor: User | None, description: str = "", licence: str = ""
) -> Benchmark:
    """Make an empty benchmark; its maker becomes its admin.

    Raises Refused if the slug is taken, also by a deleted one: its record stays under it.
    """
    if Event.objects.filter(scope=slug, verb=DELETE).exists():
        raise Refused(f"A deleted benchmark had the slug {slug!r}: choose another.", field="slug")
    try:
        with transaction.atomic():
            benchmark = Benchmark.objects.create(
                name=name, slug=slug, description=description, licence=licence
            )
            if actor is not None:
                Membership.objects.create(user=actor, benchmark=benchmark, roles=[Role.ADMIN])
            size = settings.ASSAY_QUOTA_BYTES or None
            usd = round(Decimal(str(settings.ASSAY_QUOTA_USD)), 2) or None
            most = {"bytes": size, "calls": settings.ASSAY_QUOTA_CALLS or None, "usd": usd}
            Quota.objects.update_or_create(scope=slug, defaults=most)
            audit.record(actor=actor, verb="create benchmark", target=benchmark, scope=slug)
            return benchmark
    except IntegrityError:
        raise Refused(f"There is a benchmark {slug!r} already.", field="slug") from None


def state_licence(
    *,
    benchmark: Benchmark,
    layer: str,
    licence: str,
    actor: User | None,
    domain: Domain | None = None,
    url: str = "",
    attribution: str = "",
    text: str = "",
) -> int:
    """Say of what licence a layer of a domain is, or of every domain; how many were changed.

    Releases of before keep what they said. Raises Refused for an unknown layer or no name.
    """
    if layer not in Layer.values:
        raise Refused(f"One of {', '.join(Layer.values)} is needed here.", field="layer")
    if not licence.strip():
        raise Refused("Name the licence.", field="licence")
    said = {"name": licence.strip(), "url": url.strip(), "attribution": attribution, "text": text}
    changed = 0
    with transaction.atomic():
        _hold(benchmark)
        for each in [domain] if domain else benchmark.domains.ready():
            if Licence.objects.filter(domain=each, layer=layer, **said).exists():
                continue
            found, _ = Licence.objects.update_or_create(domain=each, layer=layer, defaults=said)
            data = {"domain": each.name, "layer": layer, "licence": found.name}
            audit.record(actor, "state licence", found, benchmark.slug, data)
            changed += 1
    return changed


ADD, CHANGE = "add person", "change person"


def open_account(
    *, username: str, benchmark: Benchmark, taken: Mapping[str, str] | None = None
) -> tuple[User, bool]:
    """The account of this name, held until the transaction ends, and whether it was just made.

    A new one has no password. Links of an old one that were not used yet stop working, unless they
    are its person's only way in and somebody else made them. Raises Refused for a name that cannot
    be one. `taken` are names that are known to be taken (kit/account/names.py).
    """
    name = User.normalize_username(username)
    found = User.objects.select_for_update(no_key=True).filter(username=name).first()
    if found is None:
        return _make(name, taken), True
    if is_held(found) or is_own(found, benchmark):
        end_links(user=found)
    return found, False


def is_held(user: User) -> bool:
    """Whether its person alone gets in: before, whoever made a sign-in link could, too."""
    return user.has_usable_password() or ProviderIdentity.objects.filter(user=user).exists()


def is_own(user: User, benchmark: Benchmark) -> bool:
    """Whether the account was made by this benchmark, has no password and reaches nothing else."""
    if user.has_usable_password() or user.is_staff or user.is_superuser:
        return False
    elsewhere = Membership.objects.filter(user=user).exclude(benchmark=benchmark)
    return _was_made_by(user, benchmark) and not elsewhere.exists()


def _first_addition(user: User) -> Event | None:
    kind = Membership._meta.label_lower
    added = Event.objects.filter(target_type=kind, verb=ADD, data__user=user.pk)
    return added.select_related("actor").order_by("pk").first()


def _was_made_by(user: User, benchmark: Benchmark) -> bool:
    first = _first_addition(user)
    return first is not None and first.scope == benchmark.slug and first.data.get("is_new", True)


def _make(name: str, taken: Mapping[str, str] | None) -> User:
    try:
        with transaction.atomic():
            return User.objects.create_user(check_name(name, taken))
    except IntegrityError:
        message = f"{name} was given an account a moment ago. Try once more."
        raise Refused(message, field="username") from None


def add_person(
    *,
    benchmark: Benchmark,
    username: str,
    roles: Sequence[str],
    domains: Sequence[Domain] = (),
    actor: User | None,
    taken: Mapping[str, str] | None = None,
) -> tuple[Membership | Invitation, str]:
    """Make a person a member and return their membership with a one-time sign-in token.

    A person new to this site gets an account without a password. An account that reaches further
    than this benchmark, or that it did not make, is invited, and gets no token.
    """
    _check_roles(roles)
    with transaction.atomic():
        _hold(benchmark)
        user, is_new = open_account(username=username, benchmark=benchmark, taken=taken)
        if Membership.objects.filter(user=user, benchmark=benchmark).exists():
            raise Refused(f"{username} is a member already.", field="username")
        place: dict[str, Any] = {
            "benchmark": benchmark,
            "user": user,
            "roles": roles,
            "domains": domains,
        }
        if not (is_new or is_own(user, benchmark)):
            return _invite(**place, actor=actor), ""
        membership = join(**place, actor=actor, is_new=is_new)
        # Who was taken out and added again is no way round what `renew_link` asks for.
        return membership, "" if has_decided(user) else create_link(user=user, made_by=actor)


def add_people(
    *, username: Sequence[str], **place: Any
) -> list[tuple[Membership | Invitation, str]]:
    """The same for each of these names: all of them, or none where one is refused."""
    with transaction.atomic():
        taken = taken_names()
        added = []
        for each in username:
            added.append(add_person(username=each, taken=taken, **place))
            taken.setdefault(looks(each), each)
        return added


def _invite(
    *,
    benchmark: Benchmark,
    user: User,
    roles: Sequence[str],
    domains: Sequence[Domain],
    actor: User | None,
) -> Invitation:
    """Offer a place; a new offer takes the place of the one before."""
    Invitation.objects.filter(benchmark=benchmark, user=user).delete()
    made = Invitation.objects.create(
        benchmark=benchmark, user=user, roles=list(roles), invited_by=actor
    )
    made.domains.set(_own(benchmark, domains))
    _note_invitation(actor, "invite person", made)
    return made


def accept_invitation(*, invitation: Invitation, actor: User) -> Membership:
    """The place is theirs. Raises Refused for somebody else's invitation, one that is over, one by
    somebody who may not invite any more, and to who has no password yet."""
    refuse_archived(invitation.benchmark)
    with transaction.atomic():
        _hold(invitation.benchmark)
        if invitation.user_id != actor.pk or not Invitation.objects.filter(pk=invitation.pk):
            raise Refused("This invitation is over. Ask for another one.")
        if not _may_invite(invitation.invited_by, invitation.benchmark):
            raise Refused("Who invited you is no admin any more. Ask another admin.")
        if not is_held(actor):
            raise Refused(
                "Choose a password under Account first: until then, whoever made a sign-in link to "
                "your account could join in your place."
            )
        _note_invitation(actor, "accept invitation", invitation)
        return join(
            benchmark=invitation.benchmark,
            user=actor,
            roles=invitation.roles,
            domains=list(invitation.domains.all()),
            actor=invitation.invited_by,
        )


def leave_everywhere(user: User, actor: User | None) -> None:
    """End every membership and invitation of an account that is erased; as `remove_person`."""
    for membership in Membership.objects.filter(user=user).select_related("benchmark"):
        remove_person(membership=membership, actor=actor)
    Invitation.objects.filter(user=user).delete()


def _may_invite(user: User | None, benchmark: Benchmark) -> bool:
    """By now; nobody is the terminal."""
    if user is None:
        return True
    place = Membership.objects.filter(user=user, benchmark=benchmark).first()
    return place is not None and Role.ADMIN in place.roles


def end_invitation(*, invitation: Invitation, actor: User) -> None:
    """Decline it, or take it back: whether it is theirs or their benchmark's the caller knows."""
    with transaction.atomic():
        is_theirs = invitation.user_id == actor.pk
        verb = "decline invitation" if is_theirs else "withdraw invitation"
        _note_invitation(actor, verb, invitation)
        invitation.delete()


def join(
    *,
    benchmark: Benchmark,
    user: User,
    roles: Sequence[str],
    domains: Sequence[Domain],
    actor: User | None,
    is_new: bool = False,
) -> Membership:
    """Make somebody who has an account a member; `is_new` if it was made for this.

    What they were offered before is over.
    """
    _check_roles(roles)
    with transaction.atomic():
        _hold(benchmark)
        Invitation.objects.filter(benchmark=benchmark, user=user).delete()
        membership = Membership.objects.create(user=user, benchmark=benchmark, roles=list(roles))
        membership.domains.set(_own(benchmark, domains))
        _note(actor, ADD, membership, is_new=is_new)
    return membership


def change_person(
    *, membership: Membership, roles: Sequence[str], domains: Sequence[Domain], actor: User | None
) -> Membership:
    """Set a member's roles and domains, and give them back; a benchmark keeps one admin or more."""
    _check_roles(roles)
    with transaction.atomic():
        _hold_member(membership)
        if Role.ADMIN not in roles:
            _keep_an_admin(membership)
        before = list(membership.roles)
        Membership.objects.filter(pk=membership.pk).update(roles=list(roles))
        membership.domains.set(_own(membership.benchmark, domains))
        membership.refresh_from_db()
        _note(actor, CHANGE, membership, roles_before=before)
    return membership


def remove_person(*, membership: Membership, actor: User | None) -> None:
    """End a membership; what the person judged stays as it is."""
    with transaction.atomic():
        _hold_member(membership)
        _keep_an_admin(membership)
        _note(actor, "remove person", membership)
        membership.delete()


def renew_link(*, membership: Membership, actor: User, site: str) -> str:
    """A new one-time sign-in token for a member; earlier unused ones stop working.

    Refused unless the account was made by this benchmark, has no password and reaches nothing
    else: a link lets its holder into all that the account may do. For somebody who decided things
    it takes a second admin, or is mailed: then "" (`why_no_link` says what comes next). Refused
    where the two may be one: one of them made the other's account, or it is open to others.
    """
    with transaction.atomic():
        _hold_member(membership)
        user = User.objects.select_for_update(no_key=True).get(pk=membership.user_id)
        if not is_own(user, membership.benchmark):
            raise Refused(
                f"The account of {user.username} reaches further than this benchmark. "
                "Whoever runs the site makes a link: under Sign-in requests once the person asked "
                "for one, or by manage.py sign_in_link."
            )
        if has_decided(user):
            if not is_mailed_to(user):
                _check_agrees(membership, actor)
            token = agree_to_link(user=user, actor=actor, site=site)
        else:
            token = create_link(user=user, made_by=actor)
        _note(actor, "renew sign-in link" if token else "agree to sign-in link", membership)
        return token


def _check_agrees(membership: Membership, actor: User) -> None:
    """Raises Refused for an admin who may be nobody but the other one: two accounts are no two
    people where one admin made the other's, or a link lets others in."""
    command = f"manage.py sign_in_link {membership.user.username}"
    elsewhere = f"or ask whoever runs this site for a link ({command})."
    if not is_held(actor) or link_of_password(actor):
        raise Refused(
            "Whoever made a sign-in link to your account could agree in your place: choose a "
            f"password under Account first, {elsewhere}"
        )
    known = LinkRequest.objects.filter(user=membership.user).select_related("agreed_by")
    asked = known.filter(agreed_at__gt=timezone.now() - AGREED_FOR).first()
    first = asked.agreed_by if asked else None
    if asked is None or first is None or first == actor:
        return
    placed = Event.objects.filter(scope=membership.benchmark.slug, verb__in=(ADD, CHANGE))
    is_late = placed.filter(data__user=actor.pk, at__gt=asked.agreed_at).exists()
    if is_late or _is_made_by(actor, first) or _is_made_by(first, actor):
        raise Refused(
            f"{first.username} agreed first, and one of you added the other, or you were made an "
            "admin since. Let an admin make the link who is here by neither of you, "
            f"{elsewhere}"
        )


def _is_made_by(user: User, other: User) -> bool:
    """Whether `other`, or whoever they made, made the account, and nothing else says who it is."""
    seen: set[int] = set()
    while user.pk not in seen and not ProviderIdentity.objects.filter(user=user).exists():
        seen.add(user.pk)
        added = _first_addition(user)
        if added is None or not added.data.get("is_new", True) or added.actor is None:
            return False
        if added.actor == other:
            return True
        user = added.actor
    return False


def why_no_link(user: User) -> str:
    """What comes of an admin's wish for a link to somebody who decided things."""
    if is_mailed_to(user):
        return f"The link is mailed to {user.username}'s own address."
    return (
        f"{user.username} has decided things already, and whoever holds the link could decide in "
        f"their name. So it takes two: let another admin make the link within {AGREED_FOR.days} "
        "days, one whose account you did not make, or ask whoever runs this site."
    )


def _hold(benchmark: Benchmark) -> None:
    """Changes of a benchmark's people take turns: each sees what the one before left."""
    Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)


def _hold_member(membership: Membership) -> None:
    _hold(membership.benchmark)
    try:
        membership.refresh_from_db(fields=["roles"])
    except Membership.DoesNotExist:
        raise Refused("This person is no longer a member. Reload the page.") from None


def _check_roles(roles: Sequence[str]) -> None:
    if not roles or set(roles) - set(Role.values):
        raise Refused("Choose at least one role.", field="roles")


def _own(benchmark: Benchmark, domains: Sequence[Domain]) -> list[Domain]:
    if any(domain.benchmark_id != benchmark.pk for domain in domains):
        raise Refused("A domain belongs to another benchmark.", field="domains")
    return list(domains)


def _keep_an_admin(membership: Membership) -> None:
    others = Membership.objects.filter(benchmark=membership.benchmark).exclude(pk=membership.pk)
    # Roles are a JSON list, whose contents SQLite cannot be asked for; members are few.
    if Role.ADMIN in membership.roles and not any(Role.ADMIN in o.roles for o in others):
        raise Refused("A benchmark keeps at least one admin: make somebody else admin first.")


def _note_invitation(actor: User | None, verb: str, invitation: Invitation) -> None:
    audit.record(
        actor,
        verb,
        invitation,
        invitation.benchmark.slug,
        {"user": invitation.user_id, "roles": sorted(invitation.roles)},
    )


def _note(actor: User | None, verb: str, membership: Membership, **more: object) -> None:
    audit.record(
        actor,
        verb,
        membership,
        membership.benchmark.slug,
        {"user": membership.user_id, "roles": list(membership.roles), **more},
    )
