"""The screen on which an expert judges sentences beside what they cite, one after the other."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.grading import sentences as verbs
from annotate.grading.models import VERDICTS
from annotate.models import SentenceGrade, SentenceItem
from annotate.voting.forms import NO_SPAN
from annotate.worked import progress
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.numbers import number

TEMPLATE = "annotate/grading/sentence.html"
KEYS = {2: "1", 1: "2", 0: "3"}


class SentenceForm(forms.Form):
    """A verdict, with the words that support it."""

    verdict = forms.TypedChoiceField(
        choices=VERDICTS,
        coerce=int,
        error_messages={"required": "Choose 1 fully, 2 partly or 3 not supported."},
    )
    reason = forms.CharField(max_length=2000, required=False)
    expected = forms.CharField(max_length=8, required=False)
    start = forms.IntegerField(required=False, min_value=0, error_messages=NO_SPAN)
    end = forms.IntegerField(required=False, min_value=1, error_messages=NO_SPAN)

    def clean(self) -> dict[str, Any]:
        """Both ends as a span."""
        data = super().clean() or self.cleaned_data
        start, end = data.pop("start", None), data.pop("end", None)
        return data | {"span": None if start is None or end is None else (start, end)}


@require_http_methods(["GET", "POST"])
def sentence_judge(request: HttpRequest, slug: str) -> HttpResponse:
    """The next sentence, or `?sentence=`; after an own verdict the same with the machines'."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    sent = request.POST if request.method == "POST" else None
    here = reverse("sentence-judge", args=[slug])
    item = _asked(access, request.GET if sent is None else sent)
    if item is None:
        if sent is None:
            return htmx.render(request, TEMPLATE, _context(access))
        messages.info(request, verbs.GONE)
        return htmx.redirect(request, here)
    form = SentenceForm(sent)
    given = htmx.submit(form, verbs.judge_sentence, item=item, access=access)
    if given is not None:
        if verbs.stage_of(item, given) == verbs.FINAL:
            return htmx.redirect(request, f"{here}?sentence={item.pk}")
        return htmx.redirect(request, here)
    mine = verbs.open_sentence(item=item, access=access)
    return htmx.render(request, TEMPLATE, _context(access) | _shown(item, mine, form), form=form)


def _asked(access: Access, params: Any) -> SentenceItem | None:
    if "sentence" in params:
        return verbs.judgeable(access).filter(pk=number(params["sentence"]) or 0).first()
    return verbs.next_sentence(access)


def _context(access: Access) -> dict[str, Any]:
    done = verbs.judgeable(access).filter(
        grades__grader=access.user, grades__stands=True, grades__verdict__isnull=False
    )
    own = SentenceGrade.objects.filter(grader=access.user)
    return {
        "access": access,
        "asked_by": "sentence",
        "done_words": "Your verdicts so far",
        "progress": progress(done.count(), verbs.to_judge(access).count(), own),
        "done": list(done.order_by("pk")),
    }


def _shown(item: SentenceItem, mine: SentenceGrade | None, form: SentenceForm) -> dict[str, Any]:
    stage, text = verbs.stage_of(item, mine), item.passage.text or ""
    machines = () if stage == verbs.FIRST else item.machines
    words, chosen = dict(VERDICTS), mine if mine and mine.verdict is not None else None
    ends = (form["start"].value(), form["end"].value()) if form.is_bound else (None, None)
    if not form.is_bound and chosen:
        ends = (chosen.start, chosen.end)
    return {
        "item": item,
        "stage": stage,
        "mine": chosen,
        "form": form,
        "errors": [each[0] for each in form.errors.values()],
        "verdicts": [(value, KEYS[value], label) for value, label in VERDICTS],
        "ends": ["" if each is None else each for each in ends],
        "machines": [
            (words[each["verdict"]], text[slice(*each["span"])] if each["span"] else "")
            for each in machines
        ],
    }
