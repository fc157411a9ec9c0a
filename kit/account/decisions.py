"""Whose decisions those are that were made after signing in with a link by somebody else.

Whoever made a link could have used it. So what is done in a session that began with one keeps the
link (`Event.link`), and counts in no release until the person says that it is theirs, from a
session that began otherwise. A password that is chosen after such a link is doubted as the link is,
and so is what is done after signing in with it; but for the account's first way in, when there is
nobody yet whom it could be taken from: from then on nobody else has a way in.
"""

from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone

from kit import audit
from kit.account.sessions import end_sessions, sessions_of
from kit.account.tokens import revoke_token
from kit.errors import Refused
from kit.models import ApiToken, Event, SignInLink

BY_LINK = (
    "You are signed in by a link that somebody else made, or by a password that was chosen after "
    "one. Sign in by the identity provider, or by a link that was mailed to you or that whoever "
    "runs this site makes (manage.py sign_in_link), and say it then. At your very first visit, "
    "choose a password instead."
)


def doubtful_decisions(user: User) -> list[dict[str, Any]]:
    """What the person has not called theirs or somebody else's yet, the oldest link first: each
    `link`, what was `done` after signing in with it, (verb, scope, times), and the `total`."""
    links = SignInLink.objects.unconfirmed().filter(user=user).select_related("made_by")
    rows = ((link, _done(link)) for link in links.order_by("used_at", "pk"))
    return [{"link": each, "done": d, "total": sum(n for *_, n in d)} for each, d in rows]


def say_whose(*, link: SignInLink, is_theirs: bool, request: HttpRequest) -> int:
    """The person's word on what was done by the link: theirs, or not; how many decisions it is of.

    What is not theirs never counts; sessions, API tokens and a password that came of the link end.
    Raises Refused from a session by somebody else's link, and where it was said already.
    """
    person = link.user
    if audit.link_of(request) is not None:
        raise Refused(BY_LINK)
    with transaction.atomic():
        open_ = SignInLink.objects.unconfirmed().filter(pk=link.pk).values("pk")
        rows = SignInLink.objects.filter(pk=link.pk)
        if not rows.filter(pk__in=open_).update(is_theirs=is_theirs, answered_at=timezone.now()):
            raise Refused("This was said already.")
        decisions = Event.objects.filter(link=link).count()
        verb = "confirm decisions" if is_theirs else "disown decisions"
        data = {"decisions": decisions, "link_by": link.made_by_id}
        audit.record(actor=person, verb=verb, target=link, data=data)
        was_password = rows.filter(chose_password=True).update(chose_password=False)
        if not is_theirs:
            if was_password:  # it lets whoever chose it in
                person.set_unusable_password()
                person.save(update_fields=["password"])
                update_session_auth_hash(request, person)
            for token in ApiToken.objects.filter(link=link):
                revoke_token(token=token, actor=person)
            end_sessions(each for each in sessions_of(request, person) if each["link"] == link.pk)
    return decisions


def _done(link: SignInLink) -> list[tuple[str, str, int]]:
    rows = Event.objects.filter(link=link).order_by("scope", "verb").values_list("verb", "scope")
    counted = rows.annotate(times=Count("pk"))
    found: dict[tuple[str, str], int] = {}
    for verb, scope, times in counted:  # "slug#votes" is of the benchmark `slug`
        place = (verb, scope.partition("#")[0])
        found[place] = found.get(place, 0) + times
    return [(verb, scope, times) for (verb, scope), times in found.items()]
