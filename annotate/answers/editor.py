"""What the editor of a reference answer shows, and who sees which versions."""

from typing import Any

from django.http import Http404
from django.urls import reverse

from annotate.answers.evidence import AnswerEvidence, check, material_of
from annotate.answers.forms import ReviewForm
from annotate.answers.rights import (
    answers_are_hidden,
    may_review_answers,
    model_is_hidden,
    why_not_answer,
)
from annotate.models import AnswerAuthor, AnswerReview, ReferenceAnswer
from annotate.workspace.views.queries import reading
from corpus.access import Access
from corpus.models import Query

IMPORT = "import"
MODEL = "model"


def editor(access: Access, query: Query, *, begin: str = "", **typed: Any) -> dict[str, Any]:
    """Context of the editor: passages by number, what is written, and what may be done with it."""
    context: dict[str, Any] = {"access": access, "tab": "queries", "query": query, **reading(query)}
    if answers_are_hidden(access, query):
        return context | {"hidden": True}
    material = material_of(query)
    lines = {each.author: each for each in visible(access, query).filter(stands=True)}
    mine, model = lines.get(AnswerAuthor.PERSON), lines.get(AnswerAuthor.MODEL)
    why_not = why_not_answer(access, query)
    start = _start(query, mine, model, begin) | typed
    shown = [each for each in (mine, model) if each is not None]
    return context | {
        "material": material,
        "cards": passage_cards(material),
        "mine": mine,
        "model": model,
        "model_is_hidden": model_is_hidden(access, query),
        "chosen": visible(access, query).chosen().first(),
        "why_not": why_not,
        "may_write": not why_not and not material.missing,
        "may_choose": access.is_admin or not why_not,
        "may_review": may_review_answers(access, query),
        "reviews": AnswerReview.objects.filter(answer__in=shown, stands=True).select_related(
            "reviewer"
        ),
        "review_form": ReviewForm(),
        "start": start,
        "report": check(material, start["text"]),
    }


def passage_cards(material: AnswerEvidence) -> list[dict[str, Any]]:
    """Gold passages by their number, each with its aspect and the aspect's colour."""
    supports = {
        each.pk: {"aspect": aspect, "css": f"n{place % 6 + 1}"}
        for place, (aspect, own) in enumerate(material.aspects)
        for each in own
    }
    return [
        {"number": number, "passage": each, **supports[each.pk]}
        for number, each in enumerate(material.passages, start=1)
    ]


def visible(access: Access, query: Query) -> Any:
    """Versions that this person may see; none of a model where its answer is kept from them."""
    rows = ReferenceAnswer.objects.filter(query=query).select_related("created_by", "based_on")
    return rows.by_people() if model_is_hidden(access, query) else rows


def answer_url(access: Access, query: Query) -> str:
    """The editor of a query's answer."""
    return reverse("answer", args=[access.benchmark.slug, query.pk])


def get_answer(access: Access, query: Query, pk: int) -> ReferenceAnswer:
    """A version that this person may see, or 404."""
    found = visible(access, query).filter(pk=pk).first()
    if found is None or answers_are_hidden(access, query):
        raise Http404("No such answer.")
    found.query = query
    return found


def _start(
    query: Query, mine: ReferenceAnswer | None, model: ReferenceAnswer | None, begin: str
) -> dict[str, Any]:
    """The text when the page is opened, and the version it replaces."""
    start = {
        "text": mine.text if mine else "",
        "version": mine.version if mine else 0,
        "base": "",
        "from_import": False,
    }
    if begin == MODEL and model is not None:
        return start | {"text": model.text, "base": model.pk}
    if begin == IMPORT and query.reference_answer:
        return start | {"text": query.reference_answer, "from_import": True}
    return start
