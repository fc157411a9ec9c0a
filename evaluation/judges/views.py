"""Screens of judges: their cards, how alike they order systems, and TREC AutoJudge's files."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter_unblinded
from corpus.models import Role
from evaluation.judges.card import Card, table_of
from evaluation.judges.cards import cards_of
from evaluation.judges.exchange import KINDS, MOST_BYTES, NUGGETS, compared_file, written
from evaluation.judges.orders import meta_table, orders_of
from evaluation.judges.protocol.autojudge import JSONL, SHAPES
from evaluation.judges.related import (
    aligned_twice,
    by_labels,
    by_others,
    families_table,
    judged_twice,
    without_family,
)
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import named_table_response
from kit.lists.report_tables import ReportTable

READERS = (Role.ADMIN, Role.REVIEWER)
_WORDS = {
    "leaderboard": "Leaderboard of a judge",
    "qrels": "Qrels of a judge",
    "nuggets": "Nugget bank",
}


class FileForm(forms.Form):
    """A file of another judge, in a shape of TREC AutoJudge."""

    kind = forms.ChoiceField(label="What it is", choices=[(each, _WORDS[each]) for each in KINDS])
    shape = forms.ChoiceField(
        label="Columns of a leaderboard",
        choices=[
            (name, ("JSON: " if name == JSONL else "") + " ".join(columns))
            for name, columns in SHAPES.items()
        ],
    )
    file = forms.FileField(label="File")

    def clean_file(self) -> Any:
        """A file of a size that is read at once."""
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError("The file is far too long for a judge's.")
        return file


@require_http_methods(["GET", "POST"])
def judges(request: HttpRequest, slug: str) -> HttpResponse:
    """The card of every judge; a POST sets a file of another judge beside what is here."""
    access = enter_unblinded(request.user, slug, *READERS)
    given_files = (request.POST, request.FILES) if request.method == "POST" else ()
    form = FileForm(*given_files)
    beside: list[ReportTable] = []
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            lines = given["file"].read().decode("utf-8", errors="replace").splitlines()
            # Lines of trec_eval may name no run: then the file does, as with the command.
            beside = [
                compared_file(
                    access.benchmark,
                    given["kind"],
                    lines,
                    shape=given["shape"],
                    run=Path(given["file"].name).stem,
                )
            ]
        except Refused as refusal:
            form.add_error("file", refusal.message)
    cards = cards_of(access.benchmark)
    context = {
        "access": access,
        "form": form,
        "beside": beside,
        "cards": [(card, table_of(card), _files(slug, card)) for card in cards],
        "sheets": orders(access, with_ranking=bool(request.GET.get("rank"))),
        "is_ranked": bool(request.GET.get("rank")),
        "files": [(_WORDS[kind], reverse("judges-file", args=[slug, kind])) for kind in KINDS],
    }
    show = htmx.invalid if form.errors else htmx.render
    return show(request, "evaluation/judges/judges.html", context)


def _files(slug: str, card: Card) -> list[tuple[str, str]]:
    """What there is of a judge as a file, with its address."""
    return [
        (_WORDS[kind], f"{reverse('judges-file', args=[slug, kind])}?{urlencode({'judge': judge})}")
        for kind, judge in card.files
    ]


@require_GET
def judges_table(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """One table as a file."""
    access = enter_unblinded(request.user, slug, *READERS)
    return named_table_response(slug, all_tables(access, with_ranking=name == "without"), name)


@require_GET
def judges_file(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """A file in a shape of TREC AutoJudge."""
    access = enter_unblinded(request.user, slug, *READERS)
    if kind not in KINDS:
        raise Http404("No such file.")
    judge, shape = (request.GET.get(name, "") for name in ("judge", "shape"))
    try:
        return file_response(access, kind, judge, shape)
    except Refused as refusal:
        raise Http404(refusal.message) from None


def file_response(access: Access, kind: str, judge: str, shape: str) -> HttpResponse:
    """The file as an attachment. Raises Refused."""
    lines = written(access.benchmark, kind, judge=judge, shape=shape)
    text = "".join(f"{line}\n" for line in lines)
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    ending = "jsonl" if kind == NUGGETS or shape == JSONL else "txt"
    name = f"{access.benchmark.slug}-{kind}.{ending}"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return response


def orders(access: Access, *, with_ranking: bool) -> list[ReportTable]:
    """What is said of judges together; those tables that have a row."""
    benchmark = access.benchmark
    known = orders_of(benchmark)
    found = [meta_table(known), families_table(benchmark)]
    found.append(by_others(judged_twice(benchmark, known)))
    if with_ranking:
        found += [without_family(benchmark), by_labels(aligned_twice(benchmark))]
    return [each for each in found if each.rows]


def all_tables(access: Access, *, with_ranking: bool) -> list[ReportTable]:
    """Every card, and what is said of judges together."""
    cards: list[Card] = cards_of(access.benchmark)
    return [*map(table_of, cards), *orders(access, with_ranking=with_ranking)]
