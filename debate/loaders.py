"""Fetch and authorise in one step, for what this room holds."""

from django.contrib.auth.models import AnonymousUser, User
from django.shortcuts import get_object_or_404

from corpus.access import Access, enter, finder
from corpus.models import Role
from debate.models import Debate, DebateRun

READERS = (Role.ADMIN, Role.REVIEWER)


get_run = finder(DebateRun, "pool__corpus_version", "account", "adopted_by", unblinded=True)


def enter_run(
    user: User | AnonymousUser, slug: str, pk: int, *roles: str
) -> tuple[Access, DebateRun]:
    """The run, for members of its benchmark with one of the roles who do not vote."""
    access = enter(user, slug, *roles)
    return access, get_run(access, pk)


def get_debate(run: DebateRun, pk: int) -> Debate:
    """A debate of this run with its pair, or 404."""
    rows = run.debates.select_related("query__domain", "passage", "judgment", "case")
    return get_object_or_404(rows, pk=pk)
