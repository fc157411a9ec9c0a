"""Rating two answers without knowing whose they are."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.models import AnswerPair, AnswerRating
from annotate.services import rating as verbs
from annotate.services.answer_evidence import material_of
from annotate.views.numbers import number
from annotate.views.queries import reading
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Refused

TEMPLATE = "annotate/answers/rate.html"
_POINTS = [(value, str(value)) for value in verbs.POINTS]
FIELDS = ("first_completeness", "first_quality", "second_completeness", "second_quality")
NAMES = {"completeness": "Completeness", "quality": "Overall quality"}


def _points(place: str, what: str) -> forms.TypedChoiceField:
    missing = f"Give the {place} answer 1 to 5 points for {what}."
    return forms.TypedChoiceField(
        choices=_POINTS, coerce=int, error_messages={"required": missing, "invalid_choice": missing}
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

    def as_verb(self) -> dict[str, Any]:
        """The cleaned data as rate_pair takes it."""
        given = self.cleaned_data
        return {
            "first": verbs.Points(given["first_completeness"], given["first_quality"]),
            "second": verbs.Points(given["second_completeness"], given["second_quality"]),
            **{name: given[name] for name in ("preferred", "note", "reason")},
        }


@require_http_methods(["GET", "POST"])
def answer_rate(request: HttpRequest, slug: str) -> HttpResponse:
    """The next pair, or `?pair=` to correct a rating; points once given, the one after it."""
    access = enter(request.user, slug, Role.REVIEWER)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(access, _asked(access, request.GET), {}))
    pair = _asked(access, request.POST)
    if pair is None:
        messages.info(request, "This pair does not wait for you any more.")
        return htmx.redirect(request, reverse("answer-rate", args=[slug]))
    form = RatingForm(request.POST)
    errors = [] if form.is_valid() else [each[0] for each in form.errors.values()]
    if not errors:
        try:
            verbs.rate_pair(pair=pair, access=access, **form.as_verb())
        except Refused as refusal:
            errors = [refusal.message]
        else:
            messages.success(request, "Your points are kept.")
            return htmx.redirect(request, reverse("answer-rate", args=[slug]))
    context = _context(access, pair, request.POST) | {"errors": errors}
    return htmx.invalid(request, TEMPLATE, context)


def given_before(access: Access, pair: AnswerPair) -> AnswerRating | None:
    """This person's own rating of the pair, if any."""
    return AnswerRating.objects.standing().filter(pair=pair, rater=access.user).first()


def _asked(access: Access, params: Any) -> AnswerPair | None:
    """The pair that is named, else the next one without points by this person."""
    if "pair" in params:
        return verbs.rateable(access).filter(pk=number(params["pair"]) or 0).first()
    return verbs.to_rate(access).first()


def _context(access: Access, pair: AnswerPair | None, sent: Any) -> dict[str, Any]:
    done = verbs.rateable(access).filter(ratings__rater=access.user, ratings__stands=True)
    context: dict[str, Any] = {
        "access": access,
        "tab": "answers",
        "pair": pair,
        "waiting": verbs.to_rate(access).count(),
        "done": list(done.order_by("place")),
    }
    if pair is None:
        return context
    earlier = given_before(access, pair)
    before: dict[str, Any] = verbs.as_shown(earlier) if earlier else {}
    values = {name: sent.get(name, before.get(name, "")) for name in (*FIELDS, "preferred", "note")}
    shown = verbs.shown_to(pair, access.user)
    places = zip((verbs.FIRST, verbs.SECOND), shown.texts, strict=True)
    return context | {
        "query": pair.query,
        "aspects": [aspect for aspect, _ in material_of(pair.query).aspects],
        "earlier": earlier,
        "values": values,
        "reason": sent.get("reason", ""),
        "sides": [
            {
                "place": place,
                "text": text,
                "fields": [
                    (f"{place}_{what}", name, number(str(values[f"{place}_{what}"])))
                    for what, name in NAMES.items()
                ],
            }
            for place, text in places
        ],
        **reading(pair.query),
    }
