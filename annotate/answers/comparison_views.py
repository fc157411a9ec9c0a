"""Blind comparisons of answers: drawing, rating, closing, and the report afterwards."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.answers import comparing as verbs
from annotate.answers.evidence import material_of
from annotate.answers.report import report
from annotate.models import AnswerComparison, AnswerPair, AnswerRating, Preferred
from annotate.review.forms import SampleForm
from annotate.review.rescoring import MAX_SIZE
from annotate.worked import progress
from annotate.workspace.views.queries import reading
from corpus.access import Access, enter, finder
from corpus.lists import domain_choices
from corpus.models import Role
from kit import htmx
from kit.lists.csvfile import csv_response, named_table_response
from kit.lists.tables import Column, Filter, Table
from kit.numbers import number

READERS = (Role.ADMIN, Role.REVIEWER)
CLOSED_ONLY = "Ratings are shown when the comparison is closed: until then nobody may know."
COMPARISONS = Table(
    columns=(
        Column("comparison", "Comparison", order=("pk",)),
        Column("seed", "Seed", numeric=True),
        Column("queries", "Queries", numeric=True),
        Column("complete", "With both answers", numeric=True),
        Column("rated", "Rated", numeric=True),
        Column("state", "State", order=("closed_at",)),
    ),
    order=("-pk",),
)
RATINGS = Table(
    filters=(
        Filter("domain", "Domain", lookup="pair__query__domain__name"),
        Filter("preferred", "Preferred", choices=tuple(Preferred.choices)),
    ),
    columns=(
        Column("query", "Query", order=("pair__place",)),
        Column("rater", "Rater", order=("rater__username",)),
        Column("human", "Person: completeness, quality", numeric=True),
        Column("model", "Model: completeness, quality", numeric=True),
        Column("preferred", "Preferred", order=("preferred",)),
        Column("note", "Note"),
    ),
    order=("pair__place", "pk"),
)
_CSV = (
    "domain", "query", "rater", "human_completeness", "human_quality", "model_completeness",
    "model_quality", "preferred", "shown_first", "note", "guideline",
)  # fmt: skip
TEMPLATE = "annotate/answers/rate.html"
NAMES = {verbs.FIRST: "Answer one", verbs.SECOND: "Answer two", verbs.NEITHER: "Neither"}


class DrawForm(SampleForm):
    """How many queries, and the seed that draws them again."""

    size = forms.IntegerField(
        label="Queries",
        min_value=1,
        max_value=MAX_SIZE,
        initial=verbs.SIZE,
        help_text="Drawn by domain, in proportion to its queries with gold passages.",
    )


def _points(place: str, what: str) -> forms.TypedChoiceField:
    missing = f"Give the {place} answer 1 to 5 points for {what}."
    return forms.TypedChoiceField(
        choices=[(value, str(value)) for value in verbs.POINTS],
        coerce=int,
        error_messages={"required": missing, "invalid_choice": missing},
    )


class RatingForm(forms.Form):
    """Points for both answers as they were shown, and which is better."""

    first_completeness = _points("first", "completeness")
    first_quality = _points("first", "overall quality")
    second_completeness = _points("second", "completeness")
    second_quality = _points("second", "overall quality")
    preferred = forms.ChoiceField(
        choices=[(value, value) for value in (verbs.FIRST, verbs.SECOND, verbs.NEITHER)],
        error_messages={"required": "Say which answer is better, or neither."},
    )
    note = forms.CharField(max_length=4000, required=False)
    reason = forms.CharField(max_length=2000, required=False)


@require_http_methods(["GET", "POST"])
def comparisons(request: HttpRequest, slug: str) -> HttpResponse:
    """Comparisons so far; admins draw another."""
    access = enter(request.user, slug, *READERS)
    form = DrawForm(request.POST if request.method == "POST" else None)
    if form.is_bound and not access.is_admin:
        raise PermissionDenied("Comparisons are drawn by admins.")
    if drawn := htmx.submit(form, verbs.draw_comparison, access=access):
        return htmx.redirect(request, reverse("comparison", args=[slug, drawn.pk]))
    table = COMPARISONS.read(comparison_rows(access), request.GET)
    context = {"access": access, "table": table}
    context["to_rate"] = verbs.to_rate(access).count()
    return htmx.render(
        request, "annotate/answers/comparisons.html", context, partial="results", form=form
    )


@require_GET
def comparison(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """How far the ratings are; once it is closed, what they say."""
    access = enter(request.user, slug, *READERS)
    found = get_comparison(access, pk)
    context: dict[str, Any] = {"access": access, "comparison": found}
    context["rows"] = comparison_rows(access).get(pk=found.pk)
    context["sheets"] = [] if found.is_open else report(found)
    context["has_practice"] = not found.is_open and found.pairs.filter(
        model__practice=True, ratings__isnull=False
    ).exists()  # fmt: skip
    # Pairs that still lack an answer, for admins, who can ask for it.
    lacking = found.pairs.filter(Q(human=None) | Q(model=None)).select_related("query__domain")
    context["waiting"] = lacking if found.is_open and access.is_admin else []
    context["to_rate"] = verbs.to_rate(access).filter(comparison=found).count()
    return htmx.render(request, "annotate/answers/comparison.html", context)


@require_POST
def comparison_close(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """End the ratings and show what they say."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_comparison(access, pk)
    act = partial(verbs.close_comparison, comparison=found, access=access)
    url = reverse("comparison", args=[slug, pk])
    return htmx.attempt(request, act, url, "The comparison is closed.")


@require_GET
def comparison_ratings(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The ratings behind the numbers of a closed comparison."""
    access = enter(request.user, slug, *READERS)
    found = get_closed(access, pk)
    domains = domain_choices(access.benchmark)
    table = RATINGS.read(verbs.standing_ratings(found), request.GET, choices={"domain": domains})
    context = {"access": access, "comparison": found, "table": table}
    return htmx.render(request, "annotate/answers/ratings.html", context, partial="results")


@require_GET
def comparison_table(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of a closed comparison as CSV; `ratings` is every rating."""
    access = enter(request.user, slug, *READERS)
    found = get_closed(access, pk)
    if name == "ratings":
        rows = map(_csv_row, verbs.standing_ratings(found).iterator())
        return csv_response(f"comparison-{found.pk}-ratings.csv", list(_CSV), rows)
    return named_table_response(f"comparison-{found.pk}", report(found), name)


def comparison_rows(access: Access) -> QuerySet[AnswerComparison]:
    """Comparisons with how far they are: counts that do not show whose answers are better."""
    both = Q(pairs__human__isnull=False, pairs__model__isnull=False)
    rated = Count("pairs", filter=Q(pairs__ratings__stands=True), distinct=True)
    rows = AnswerComparison.objects.filter(benchmark=access.benchmark)
    return rows.annotate(
        drawn=Count("pairs", distinct=True),
        complete=Count("pairs", filter=both, distinct=True),
        rated=rated,
    )


get_comparison = finder(AnswerComparison)


def get_closed(access: Access, pk: int) -> AnswerComparison:
    """The same, closed; 403 before, whoever asks."""
    found = get_comparison(access, pk)
    if found.is_open:
        raise PermissionDenied(CLOSED_ONLY)
    return found


def _csv_row(rating: AnswerRating) -> list[Any]:
    query = rating.pair.query
    points = [getattr(rating, name) for name in _CSV[3:7]]
    first = "human" if rating.human_first else "model"
    who = [query.domain.name, query.qid, rating.rater.username]
    return [*who, *points, rating.preferred, first, rating.note, rating.guideline]


@require_http_methods(["GET", "POST"])
def answer_rate(request: HttpRequest, slug: str) -> HttpResponse:
    """The next pair, or `?pair=` to correct a rating; points once given, the one after it."""
    access = enter(request.user, slug, Role.REVIEWER)
    sent = request.POST if request.method == "POST" else None
    pair = _asked(access, request.GET if sent is None else sent)
    earlier = AnswerRating.objects.standing().filter(pair=pair, rater=access.user).first()
    form = RatingForm(sent, initial=verbs.as_shown(earlier) if earlier else None)
    if sent is not None and pair is None:
        messages.info(request, "This pair does not wait for you any more.")
        return htmx.redirect(request, reverse("answer-rate", args=[slug]))
    rated = None if pair is None else htmx.submit(form, verbs.rate_pair, pair=pair, access=access)
    if rated is not None:
        messages.success(request, "Your points are kept.")
        return htmx.redirect(request, reverse("answer-rate", args=[slug]))
    return htmx.render(request, TEMPLATE, _context(access, pair, form, earlier), form=form)


def _asked(access: Access, params: Any) -> AnswerPair | None:
    """The pair that is named, else the next one without points by this person."""
    if "pair" in params:
        return verbs.rateable(access).filter(pk=number(params["pair"]) or 0).first()
    return verbs.to_rate(access).first()


def _context(
    access: Access, pair: AnswerPair | None, form: RatingForm, earlier: AnswerRating | None
) -> dict[str, Any]:
    done = verbs.rateable(access).filter(ratings__rater=access.user, ratings__stands=True)
    own = AnswerRating.objects.filter(rater=access.user)
    context: dict[str, Any] = {
        "access": access,
        "item": pair,
        "asked_by": "pair",
        "given_words": "points",
        "done_words": "Your ratings so far",
        "progress": progress(done.count(), verbs.to_rate(access).count(), own),
        "done": list(done.order_by("place")),
    }
    if pair is None:
        return context
    places = zip((verbs.FIRST, verbs.SECOND), verbs.shown_to(pair, access.user), strict=True)
    return context | {
        "query": pair.query,
        "aspects": [aspect for aspect, _ in material_of(pair.query).aspects],
        "earlier": earlier,
        "form": form,
        "errors": [each[0] for each in form.errors.values()],
        "preferences": [
            (value, key, NAMES[value]) for value, key in zip(NAMES, "abn", strict=True)
        ],
        "sides": [
            {
                "name": NAMES[place],
                "text": text,
                "fields": [
                    (f"{place}_{what}", name, number(str(form[f"{place}_{what}"].value())))
                    for what, name in verbs.MEASURES.items()
                ],
            }
            for place, text in places
        ],
        **reading(pair.query),
    }
