"""The screen on which an expert scores answers blind, one after the other."""

from hashlib import sha256
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.forms import TextField
from annotate.grading import services as verbs
from annotate.grading.models import GradingSample, SampleKind, Scale
from annotate.models import AnswerGrade, Aspect, GradedAnswer
from annotate.worked import progress
from annotate.workspace.views.queries import reading
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Refused
from kit.numbers import number

TEMPLATE = "annotate/grading/grade.html"
# What each score means, with the digit that gives it: that of the judge's prompt.
RUBRIC = (
    ("0", "0", "Absent, off-topic, or wrong."),
    ("0.5", "5", "Shallow, or with a notable inaccuracy, or without a critical detail."),
    ("1", "1", "Fully addressed, specific, and correctly supported."),
)
RIGHT = (
    ("0", "0", "It says none of the true answers, or contradicts one."),
    ("1", "1", "It says one of the true answers, in whatever words."),
)
COVERED = tuple(
    (str(tens * 10), str(tens), f"{tens * 10} % of what the reference says.") for tens in range(11)
)
QUALITY = (
    (5, "As good as the reference, or better."),
    (4, "Slightly worse."),
    (3, "Correct but thinner."),
    (2, "Partly correct, with notable issues."),
    (1, "Mostly wrong."),
)


# By the name of a scale; without one, by aspects.
RUBRICS = {None: RUBRIC, "true": RIGHT, "covered": COVERED}


class GradeForm(forms.Form):
    """A score for every aspect, and points for quality; or the one score beside true answers."""

    quality = forms.TypedChoiceField(
        choices=[(value, str(value)) for value in verbs.POINTS],
        coerce=int,
        error_messages={"required": "Give 1 to 5 points for quality."},
    )
    note = TextField(max_length=4000, required=False)
    reason = forms.CharField(max_length=2000, required=False)
    shown = forms.CharField(max_length=10_000, required=False)

    def __init__(
        self, *args: Any, aspects: list[Aspect], shown: str, scale: Scale | None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.now = shown
        self.names = [scale.name] if scale else [f"a{each.k}" for each in aspects]
        if scale:
            del self.fields["quality"]
        for name in self.names:
            message = scale.told if scale else f"Score {name} with 0, .5 or 1."
            self.fields[name] = forms.TypedChoiceField(
                choices=[(value, value) for value, _, _ in RUBRICS[scale and scale.name]],
                coerce=float,
                error_messages=dict.fromkeys(("required", "invalid_choice"), message),
            )

    def clean_shown(self) -> str:
        """Said here too: a form with another fault comes back with the new words."""
        shown: str = self.cleaned_data["shown"]
        try:
            verbs.check_shown(shown, self.now)
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from None
        return shown

    def clean(self) -> dict[str, Any]:
        """`scores` by aspect id, as the verb takes them."""
        data = super().clean() or self.cleaned_data
        scores = {name: data.pop(name) for name in self.names if name in data}
        return data | {"scores": scores}


def get_sample(access: Access, pk: int, *kinds: SampleKind) -> GradingSample:
    """A sample of these kinds in this benchmark, or 404."""
    rows = GradingSample.objects.filter(kind__in=kinds)
    return get_object_or_404(rows, benchmark=access.benchmark, pk=pk)


@require_http_methods(["GET", "POST"])
def answer_grade(request: HttpRequest, slug: str) -> HttpResponse:
    """The next answer, or `?answer=` to correct a score; once scored, the one after it."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    sent = request.POST if request.method == "POST" else None
    answer = _asked(access, request.GET if sent is None else sent)
    if answer is None:
        if sent is None:
            return htmx.render(request, TEMPLATE, _context(access))
        messages.info(request, "This answer does not wait for you any more.")
        return htmx.redirect(request, reverse("answer-grade", args=[slug]))
    earlier = verbs.own_grade(answer, access)
    aspects = verbs.aspects_of(answer)
    given = _as_given(earlier) if earlier else None
    form = GradeForm(
        sent,
        aspects=aspects,
        shown=verbs.shown_of(answer, aspects),
        scale=answer.scale,
        initial=given,
    )
    if htmx.submit(form, verbs.grade_answer, answer=answer, access=access) is not None:
        messages.success(request, "Your scores are kept.")
        return htmx.redirect(request, reverse("answer-grade", args=[slug]))
    context = _context(access) | _shown(answer, form, aspects) | {"earlier": earlier}
    return htmx.render(request, TEMPLATE, context, form=form)


def _asked(access: Access, params: Any) -> GradedAnswer | None:
    """The answer that is named, else the next one without a score by this person."""
    if "answer" in params:
        return verbs.gradable(access).filter(pk=number(params["answer"]) or 0).first()
    return verbs.next_answer(access)


def _as_given(grade: AnswerGrade) -> dict[str, Any]:
    scores = {name: f"{score:g}" for name, score in grade.scores.items()}
    return scores | {"quality": grade.quality, "note": grade.note}


def _context(access: Access) -> dict[str, Any]:
    done = verbs.gradable(access).filter(grades__grader=access.user, grades__stands=True)
    own = AnswerGrade.objects.filter(grader=access.user)
    return {
        "access": access,
        "asked_by": "answer",
        "goes_on": True,
        "given_words": "scores",
        "done_words": "Your scores so far",
        "progress": progress(done.count(), verbs.to_grade(access).count(), own),
        "done": list(done.order_by("pk")),
    }


def _shown(answer: GradedAnswer, form: GradeForm, aspects: list[Aspect]) -> dict[str, Any]:
    before = str(form["shown"].value() or "") if form.is_bound else form.now
    scored: list[Aspect | None] = [*aspects] or [None]
    return {
        "shown": form.now,
        "changed": verbs.changed_since(before, form.now),
        # Points of a draft are for these words alone: other words, another draft.
        "words": sha256(form.now.encode()).hexdigest()[:12],
        "item": answer,
        "query": answer.query,
        "reference": "" if answer.scale else verbs.reference_of(answer),
        "form": form,
        "errors": [each[0] for each in form.errors.values()],
        "fields": [
            (aspect, name, str(form[name].value()))
            for aspect, name in zip(scored, form.names, strict=False)
        ],
        "quality": None if answer.scale else number(str(form["quality"].value())),
        "rubric": RUBRICS[answer.scale and answer.scale.name],
        "points": () if answer.scale else QUALITY,
        **reading(answer.query),
    }
