"""Holes: how many each system finds, how the find grows, and debating what is not judged yet."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter
from corpus.models import CorpusVersion, RetrievalRun, Role
from corpus.pools.services import MAX_DEPTH
from debate.audits.correcting import corrected_holes
from debate.models import RunKind
from evaluation.holes.debates import debate_holes
from evaluation.holes.next_labels import MOST, as_table, next_labels, pool_next
from evaluation.holes.tables import all_growth, aspect_tables, growth_table, holes_in
from evaluation.leaderboard.services import WORDS, Leaderboard, Line, leaderboard_of
from evaluation.leaderboard.views import sheet_context, version_of
from evaluation.scores import sheets
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView, enter_scored, held_view
from kit import htmx
from kit.charts.drawing import Drawing
from kit.charts.plots import Square, decimals, growth, heat_map
from kit.errors import Refused
from kit.lists.csvfile import table_response
from kit.lists.report_tables import ReportTable
from llm import endpoints
from llm.ledger.accounts import budget_field, endpoint_field

# Of these golds holes are counted.
VIEWS: Final = (GoldView.REFINED, GoldView.MACHINE)


def view_asked(given: Mapping[str, str]) -> str:
    """The gold of an address, the refined one where it names none of VIEWS."""
    view = given.get("view", "")
    return view if view in VIEWS else str(GoldView.REFINED)


def holes_leaderboard(sheet: ScoreSheet, view: str) -> Leaderboard:
    """Hole@10 of every system in every domain."""
    return leaderboard_of(sheet, metric="hole@10", view=view)


def heat_of(slug: str, board: Leaderboard, own: Mapping[str, Any]) -> Drawing | None:
    """Where the holes are: every cell leads to the queries of its system and domain, and to what
    `own` says of the address."""

    def square(line: Line, value: float | None, domain: str) -> Square:
        asked = urlencode({"metric": "hole@10", "domain": domain, **own})
        return Square(
            value,
            "–" if value is None else decimals(value),
            "shade",
            f"{reverse('leaderboard-run', args=[slug, line.run.pk])}?{asked}" if value else "",
            f"{line.run.name} in {domain}: {decimals(value or 0)}",
        )

    return heat_map(
        "holes",
        "Hole@10 by system and domain",
        [line.run.name for line in board.lines],
        board.domains,
        [[square(line, value, domain) for value, domain, _ in line.marked] for line in board.lines],
    )


def domains_of(sheet: ScoreSheet, view: str = GoldView.REFINED) -> list[dict[str, Any]]:
    """Every domain that has systems, with its drawing: None where no system found any hole."""
    return [
        {
            "name": name,
            "found": found,
            "curves": growth(
                f"growth-{place}",
                f"Holes reached by the first systems in {name}",
                "systems",
                "holes reached",
                found["reach"],
            ),
            "growth": growth_table(name, found),
        }
        for place, (name, found) in enumerate(holes_in(sheet, view).items())
    ]


def corrected_of(access: Access) -> list[ReportTable]:
    """Holes, and support of aspects, by labels that count, corrected by blind audits; for those
    alone who may know what was audited, and none where nothing was."""
    if not access.is_admin and (access.is_voter or not access.is_reviewer):
        return []
    runs = access.benchmark.debate_runs.select_related("pool")
    runs = runs.exclude(kind__in=(RunKind.FILTER, RunKind.HUMAN_ONLY))
    table = corrected_holes([run for run in runs.order_by("pk") if not run.is_provisional])
    return [table] if table.rows else []


class HoleDebateForm(forms.Form):
    """Which runs, how deep, and who debates."""

    runs = forms.ModelMultipleChoiceField(
        RetrievalRun.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one retrieval run."},
    )
    depth = forms.IntegerField(min_value=1, max_value=MAX_DEPTH, initial=10)
    endpoint = endpoint_field("agents", label=None)
    budget_usd = budget_field()

    def __init__(
        self, *args: Any, access: Access, version: CorpusVersion | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        runs = RetrievalRun.objects.filter(benchmark=access.benchmark)
        if not self.is_bound:
            runs = runs.filter(corpus_version=version.key if version else None)
        self.fields["runs"].queryset = runs  # type: ignore[attr-defined]
        self.fields["runs"].initial = list(runs.values_list("pk", flat=True))


@require_GET
def holes(request: HttpRequest, slug: str) -> HttpResponse:
    """Hole@10 by system and domain, growth curves, the estimate of what is unseen."""
    access = enter_scored(request.user, slug)
    version = version_of(request, access)
    form = HoleDebateForm(access=access, version=version) if access.is_admin else None
    return htmx.render(request, "evaluation/holes/holes.html", _context(request, access, form))


@require_GET
def holes_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The curves as a file."""
    access = enter_scored(request.user, slug)
    sheet = sheets.latest(access.benchmark, version_of(request, access))
    if sheet is None:
        messages.warning(request, "Nothing was scored yet.")
        asked = f"?{request.GET.urlencode()}" if request.GET else ""
        return htmx.redirect(request, reverse("holes", args=[slug]) + asked)
    table = all_growth(sheet, view_asked(request.GET))
    return table_response(f"{slug}-holes.csv", table)


class NextForm(forms.Form):
    """How many labels, and the name of their pool."""

    count = forms.IntegerField(label="Labels", min_value=1, max_value=MOST, initial=100)
    name = forms.CharField(
        label="Name of the pool", max_length=120, required=False, help_text="Or one is made up."
    )


@require_http_methods(["GET", "POST"])
def holes_next(request: HttpRequest, slug: str) -> HttpResponse:
    """The labels of support that would help most per dollar; a pool of them."""
    access = enter(request.user, slug, Role.ADMIN)
    form = NextForm(request.POST if request.method == "POST" else None)
    made = htmx.submit(form, pool_next, benchmark=access.benchmark, actor=access.user)
    if made:
        return htmx.redirect(request, reverse("pool", args=[slug, made.pk]))
    context = {
        "access": access,
        "sheet": as_table(next_labels(access.benchmark)),
    }
    return htmx.render(request, "evaluation/holes/next.html", context, form=form)


@require_POST
def holes_debate(request: HttpRequest, slug: str) -> HttpResponse:
    """Pool the chosen runs and debate the pool."""
    access = enter(request.user, slug, Role.ADMIN)
    form = HoleDebateForm(request.POST, access=access)
    if form.is_valid():
        given = form.cleaned_data
        try:
            run = debate_holes(
                benchmark=access.benchmark,
                runs=list(given["runs"]),
                depth=given["depth"],
                endpoint=endpoints.get(given["endpoint"]),
                budget_usd=given["budget_usd"],
                actor=access.user,
            )
        except Refused as refusal:
            field = refusal.field if refusal.field in form.fields else None
            form.add_error(field, refusal.message)
        else:
            return htmx.redirect(request, reverse("debate-run", args=[slug, run.pk]))
    return htmx.invalid(request, "evaluation/holes/holes.html", _context(request, access, form))


def _context(request: HttpRequest, access: Access, form: HoleDebateForm | None) -> dict[str, Any]:
    context = sheet_context(access, version_of(request, access))
    sheet = context["sheet"]
    view, version = view_asked(request.GET), context["version"]
    board = holes_leaderboard(sheet, view) if sheet else None
    own: dict[str, Any] = {"version": version.pk} if version else {}
    own |= {"view": view} if view != GoldView.REFINED else {}
    return context | {
        "board": board,
        "view": own.get("view", ""),
        # A choice where there is machine gold.
        "views": [(str(each), WORDS[each]) for each in VIEWS]
        if sheet and held_view(sheet, GoldView.MACHINE) == GoldView.MACHINE
        else [],
        # What links name of the version and gold that are shown.
        "of_version": f"?{urlencode(own)}" if own else "",
        "of_board": urlencode({"metric": "hole@10", **own}),
        "chart": heat_of(access.benchmark.slug, board, own) if board else None,
        "domains": domains_of(sheet, view) if sheet else [],
        "aspect_tables": aspect_tables(sheet) if sheet else [],
        "corrected": corrected_of(access),
        "form": form,
        "back": "holes",
    }
