"""The record of a benchmark, and of the site: who did what, as a list and as a file."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Case, F, JSONField, Max, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.lists import is_key
from corpus.models import Membership, Role
from kit import htmx
from kit.lists.chained import chained
from kit.lists.tables import Choices, Column, Filter, Table
from kit.models import Event, SignInLink

# What events are about, by the kind of their target; the rooms to the left by name.
_ABOUT: Final = {
    "people": (
        "People and roles",
        (
            *("corpus.membership", "auth.user", "kit.apitoken", "kit.provideridentity"),
            *("kit.signinlink", "kit.tries"),
        ),
    ),
    "settings": (
        "Settings",
        (
            *("corpus.benchmark", "corpus.licence", "corpus.corpusversion", "debate.promptversion"),
            *("annotate.votingplan", "annotate.qualificationrule", "annotate.guideline"),
            *("annotate.weightscale", "annotate.examitem", "corpus.webhook", "llm.endpoint"),
        ),
    ),
    "labels": (
        "Labels and votes",
        (
            *("corpus.judgment", "annotate.vote", "annotate.escalationcase"),
            *("annotate.goldpassage", "annotate.supportlabel", "annotate.adjudication"),
            *("annotate.voteslot", "annotate.batch", "annotate.batchitem", "annotate.spotcheck"),
        ),
    ),
    "releases": ("Releases", ("evaluation.release", "evaluation.releasepush")),
}
_READS: Final = "reads"
_MACHINE: Final = "machine"


def _by(events: QuerySet[Event], value: str) -> QuerySet[Event]:
    if value == _MACHINE:
        return events.filter(actor=None)
    return events.filter(actor=int(value)) if is_key(value) else events.none()


def _about(events: QuerySet[Event], value: str) -> QuerySet[Event]:
    if value == _READS:
        return events.filter(once__isnull=False)
    if value not in _ABOUT:
        return events.none()
    return events.filter(target_type__in=_ABOUT[value][1], once=None)


def _with(events: QuerySet[Event], words: str) -> QuerySet[Event]:
    return events.filter(Q(verb__icontains=words) | Q(target_id=words))


_CHOICES: Final = [
    *((key, label) for key, (label, _) in _ABOUT.items()),
    (_READS, "Reads of hidden material"),
]
RECORD = Table(
    search=_with,
    filters=(
        Filter("about", "About", _CHOICES, apply=_about),
        Filter("by", "By", apply=_by),
    ),
    columns=(
        Column("at", "When"),
        Column("actor", "Who"),
        Column("verb", "What"),
        Column("target", "Of"),
        Column("data", "Details"),
    ),
    order=("-pk",),
)


_KEPT_BACK: Final = {"kept_back": "judged blind"}


def events_of(access: Access) -> QuerySet[Event]:
    """All events of the benchmark, each with the details that this admin may see as `shown`.

    Who judges here as well learns of what others judge blind that it was done, not what they said.
    """
    shown: Any = F("data")
    if access.is_annotator or access.is_reviewer:
        blind = Q(scope__contains="#") & ~Q(actor=access.user.pk)
        kept_back = Value(_KEPT_BACK, output_field=JSONField())
        shown = Case(When(blind, then=kept_back), default=F("data"), output_field=JSONField())
    return _with_people(Event.objects.of(access.benchmark.slug), shown)


def site_events(user: Any) -> QuerySet[Event]:
    """All events of the site itself: accounts, tokens, limits, endpoints.

    Raises PermissionDenied unless the person is staff.
    """
    if not (isinstance(user, User) and user.is_staff):
        raise PermissionDenied("Only staff see the record of the site.")
    return _with_people(Event.objects.filter(scope=""), F("data"))


def _with_people(events: QuerySet[Event], shown: Any) -> QuerySet[Event]:
    return events.select_related("actor", "link__made_by").annotate(shown=shown)


def record_choices(access: Access) -> dict[str, Choices]:
    """Whose events may be asked for: the members', and the machine's."""
    members = Membership.objects.filter(benchmark=access.benchmark).order_by("user__username")
    return _by_choices(members.values_list("user_id", "user__username"))


def site_choices(events: QuerySet[Event]) -> dict[str, Choices]:
    """The same for the site: of everybody who did something."""
    people = User.objects.filter(pk__in=events.order_by().values("actor")).order_by("username")
    return _by_choices(people.values_list("pk", "username"))


def _by_choices(people: Iterable[tuple[int, str]]) -> dict[str, Choices]:
    return {"by": [(_MACHINE, "the machine"), *((str(pk), name) for pk, name in people)]}


@require_GET
def record(request: HttpRequest, slug: str) -> HttpResponse:
    """The list."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access, "judges": access.is_annotator or access.is_reviewer}
    return _page(request, events_of(access), record_choices(access), context)


@require_GET
def site_record(request: HttpRequest) -> HttpResponse:
    """The list of the site's, for staff."""
    events = site_events(request.user)
    return _page(request, events, site_choices(events), {})


def _page(
    request: HttpRequest,
    events: QuerySet[Event],
    choices: dict[str, Choices],
    context: dict[str, Any],
) -> HttpResponse:
    table = RECORD.read(events, request.GET, choices=choices)
    for event in table.rows:
        shown = event.shown  # type: ignore[attr-defined]
        event.said = list(_said(shown | _link(event.link)))  # type: ignore[attr-defined]
    context["table"] = table
    return htmx.render(request, "corpus/benchmarks/record.html", context, partial="results")


def _link(link: SignInLink | None) -> dict[str, str]:
    """Of what was done in a session that began with a link by somebody else: by whom."""
    if link is None:
        return {}
    sure = {None: "not confirmed", True: "confirmed", False: "disowned"}[link.is_theirs]
    maker = link.made_by.username if link.made_by else "a former account"
    return {"after signing in by a link of": f"{maker} ({sure})"}


def _said(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The details of an event that has any, as people read them."""
    for name, value in data.items():
        if isinstance(value, bool):
            yield name, "yes" if value else "no"
        elif isinstance(value, list):
            yield name, ", ".join(map(str, value)) or "none"
        elif isinstance(value, dict):
            yield name, ", ".join(f"{key} {part}" for key, part in value.items())
        elif value not in (None, ""):
            yield name, str(value)


@require_GET
def record_file(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The whole record as a file that `verify_events` checks."""
    return send_record(enter(request.user, slug, Role.ADMIN))


@require_GET
def site_record_file(request: HttpRequest) -> StreamingHttpResponse:
    """The same of the site, for staff."""
    return send_site_record(request.user)


def send_record(access: Access) -> StreamingHttpResponse:
    """All events of the benchmark so far, from the first on, as chained lines."""
    return _send(events_of(access), access.benchmark.slug)


def send_site_record(user: Any) -> StreamingHttpResponse:
    """The same of the site. Raises PermissionDenied unless the person is staff."""
    return _send(site_events(user), "")


def _send(events: QuerySet[Event], slug: str) -> StreamingHttpResponse:
    rows = chained(_rows(events.order_by("pk"), slug))
    response = StreamingHttpResponse(rows, content_type="application/jsonl")
    response["Content-Disposition"] = f'attachment; filename="{slug or "site"}-events.jsonl"'
    return response


def _rows(events: QuerySet[Event], slug: str) -> Iterator[dict[str, Any]]:
    last = events.aggregate(last=Max("pk"))["last"] or 0
    names = ("id", "verb", "target_type", "target_id", "shown", "at", "actor_id", "actor__username")
    more = ("link_id", "link__made_by__username")
    for row in events.filter(pk__lte=last).values(*names, *more).iterator(chunk_size=2_000):
        link, maker = (row.pop(name) for name in more)
        if link is not None:  # a line without one is as it was before links were kept
            row |= {"link": link, "link_by": maker}
        actor, row["at"] = row.pop("actor__username"), row["at"].isoformat()
        row["data"] = row.pop("shown")
        yield {**row, "actor": actor, "benchmark": slug}
