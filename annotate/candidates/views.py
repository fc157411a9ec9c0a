"""Screens of candidates for gold of aspects: the list, and one to confirm or refuse."""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotate.candidates.reading import STATES, candidates_of, in_state, proposals
from annotate.candidates.services import confirm_candidate, refuse_candidate, take_refusal_back
from annotate.models import GoldPassage
from annotate.rights import assignment_of, may_annotate, why_not
from annotate.voting.items import titled, web_url
from annotate.worked import progress
from corpus.access import Access, enter, first_or_404
from corpus.lists import domain_choices
from corpus.models import PoolEntry
from corpus.texts.finding import begins_with
from kit import htmx
from kit.lists.tables import Column, Filter, Table

_LONGEST = 4000
# States in which an expert has still to decide, in the order in which they are led to.
UNDECIDED = ("candidate", "conflict", "open")
DECIDED = ("gold", "no", "off_query")


class VerdictForm(forms.Form):
    """What an expert says of a candidate; a refusal needs its reason."""

    verdict = forms.ChoiceField(choices=[(each, each) for each in ("confirm", "refuse", "back")])
    reason = forms.CharField(max_length=_LONGEST, required=False)


def _of_query(rows: QuerySet[PoolEntry], words: str) -> QuerySet[PoolEntry]:
    return rows.filter(begins_with("query__qid", words))


def table_for(access: Access) -> Table:
    """The list; what it filters by is what the person may see."""

    def of_state(rows: QuerySet[PoolEntry], value: str) -> QuerySet[PoolEntry]:
        return in_state(access, rows, value)

    return Table(
        search=_of_query,
        filters=(
            Filter("state", "State", choices=STATES, apply=of_state),
            Filter("domain", "Domain", lookup="query__domain__name"),
        ),
        columns=(
            Column("query", "Query", order=("query_id", "pk")),
            Column("aspect", "Aspect"),
            Column("passage", "Passage", order=("passage__pid", "pk")),
            Column("state", "State"),
        ),
        order=("pk",),
    )


def rows_for(access: Access) -> QuerySet[PoolEntry]:
    """What the list holds."""
    rows = proposals(access.benchmark).select_related("query__domain", "passage")
    return rows.defer("passage__text")


@require_GET
def candidates(request: HttpRequest, slug: str) -> HttpResponse:
    """Every passage that was proposed for an aspect, and how it stands."""
    access = enter(request.user, slug)
    choices = {"domain": domain_choices(access.benchmark)}
    table: Any = table_for(access).read(rows_for(access), request.GET, choices=choices)
    context = {"access": access, "table": replace(table, rows=candidates_of(access, table.rows))}
    return htmx.render(request, "annotate/candidates/list.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def candidate(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One proposal: query, aspect and passage; an expert of the domain decides."""
    access = enter(request.user, slug)
    found = get_candidate(access, pk)
    form = VerdictForm(request.POST if request.method == "POST" else None)
    if said := htmx.submit(form, decide, found=found, actor=access.user):
        messages.success(request, said)
        return htmx.redirect(request, _next(access, found))
    return htmx.render(
        request, "annotate/candidates/candidate.html", _context(access, found, form), form=form
    )


def get_candidate(access: Access, pk: int) -> dict[str, Any]:
    """A proposal of this benchmark as the person may see it, or 404."""
    rows = proposals(access.benchmark).filter(pk=pk)
    entries = rows.select_related("query__domain__benchmark", "passage__document")
    return candidates_of(access, [first_or_404(entries, "candidate")])[0]


def decide(found: dict[str, Any], *, verdict: str, reason: str, actor: Any) -> str:
    """Carry out a verdict; what was done, in words. Raises Refused, and PermissionDenied."""
    aspect = found["aspect"]
    about = {"aspect": aspect, "passage": found["entry"].passage}
    if verdict == "confirm":
        confirm_candidate(**about, actor=actor)
        return f"Gold of a{aspect.k} now."
    if verdict == "refuse":
        refuse_candidate(**about, reason=reason, actor=actor)
        return f"It does not support a{aspect.k}."
    take_refusal_back(**about, actor=actor)
    return "Taken back; what counted before counts again."


def _next(access: Access, found: dict[str, Any]) -> str:
    """The next proposal that nobody has decided, else the list."""
    behind = rows_for(access).filter(pk__gt=found["entry"].pk).order_by("pk")
    slug = access.benchmark.slug
    for state in UNDECIDED:
        if entry := in_state(access, behind, state).first():
            return reverse("candidate", args=[slug, entry.pk])
    return reverse("candidates", args=[slug])


def _progress(access: Access) -> dict[str, Any]:
    """Of all proposals those that are decided, by whomever; the pace is the person's own."""
    rows = rows_for(access)
    done = sum(in_state(access, rows, state).count() for state in DECIDED)
    own = GoldPassage.objects.filter(created_by=access.user)
    return progress(done, rows.count() - done, own)


def _context(access: Access, found: dict[str, Any], form: VerdictForm) -> dict[str, Any]:
    entry: PoolEntry = found["entry"]
    query = entry.query
    why = ""
    if not may_annotate(query, access.user):
        why = "Annotators of this domain confirm and refuse candidates."
    elif reason := why_not(assignment_of(query), access.user):
        why = reason
    gold = GoldPassage.objects.standing().filter(aspect=found["aspect"]).select_related("passage")
    return {
        "access": access,
        "progress": _progress(access),
        "found": found,
        "entry": entry,
        "passage": entry.passage,
        "source_url": web_url(entry.passage.address),
        "gold": gold.defer("passage__text"),
        "why": why,
        "form": form,
        **titled(query.text, query),
    }
