"""The record of a benchmark: who did what, as a list and as a file."""

from collections.abc import Iterator
from typing import Any, Final

from django.db.models import Max, Q, QuerySet
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
    "people": ("People and roles", ("corpus.membership", "auth.user", "kit.apitoken")),
    "settings": (
        "Settings",
        (
            *("corpus.benchmark", "corpus.licence", "corpus.corpusversion", "debate.promptversion"),
            *("annotate.votingplan", "annotate.qualificationrule", "annotate.guideline"),
            *("annotate.weightscale", "annotate.examitem", "corpus.webhook"),
        ),
    ),
    "labels": (
        "Labels and votes",
        (
            *("corpus.judgment", "annotate.vote", "annotate.escalationcase"),
            *("annotate.goldpassage", "annotate.supportlabel"),
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


def events_of(access: Access) -> QuerySet[Event]:
    """All events of the benchmark."""
    return Event.objects.filter(scope=access.benchmark.slug).select_related(
        "actor", "link__made_by"
    )


def record_choices(access: Access) -> dict[str, Choices]:
    """Whose events may be asked for: the members', and the machine's."""
    members = Membership.objects.filter(benchmark=access.benchmark).order_by("user__username")
    people = [(str(pk), name) for pk, name in members.values_list("user_id", "user__username")]
    return {"by": [(_MACHINE, "the machine"), *people]}


@require_GET
def record(request: HttpRequest, slug: str) -> HttpResponse:
    """The list."""
    access = enter(request.user, slug, Role.ADMIN)
    table = RECORD.read(events_of(access), request.GET, choices=record_choices(access))
    for event in table.rows:
        event.said = list(_said(event.data | _link(event.link)))  # type: ignore[attr-defined]
    context = {"access": access, "table": table}
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


def send_record(access: Access) -> StreamingHttpResponse:
    """All events so far, from the first on, as chained lines."""
    name = f"{access.benchmark.slug}-events.jsonl"
    response = StreamingHttpResponse(chained(_rows(access)), content_type="application/jsonl")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _rows(access: Access) -> Iterator[dict[str, Any]]:
    events = events_of(access).order_by("pk")
    last = events.aggregate(last=Max("pk"))["last"] or 0
    names = ("id", "verb", "target_type", "target_id", "data", "at", "actor_id", "actor__username")
    more = ("link_id", "link__made_by__username")
    for row in events.filter(pk__lte=last).values(*names, *more).iterator(chunk_size=2_000):
        link, maker = (row.pop(name) for name in more)
        if link is not None:  # a line without one is as it was before links were kept
            row |= {"link": link, "link_by": maker}
        actor, row["at"] = row.pop("actor__username"), row["at"].isoformat()
        yield {**row, "actor": actor, "benchmark": access.benchmark.slug}
