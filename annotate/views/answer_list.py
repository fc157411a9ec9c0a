"""Every query with how far its reference answer is."""

from dataclasses import replace
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.models import AnswerAuthor, AnswerComparison, AnswerReview, ReferenceAnswer
from annotate.services.answer_rights import hidden_queries
from annotate.services.rating import to_rate
from annotate.views.disputes import domain_choices
from annotate.views.home import present_aspects
from corpus.access import Access, enter
from corpus.models import Query
from corpus.services.finding import query_matches
from kit import htmx
from kit.tables import Column, Filter, Table


def _by_state(queries: QuerySet[Query], value: str) -> QuerySet[Query]:
    written = ReferenceAnswer.objects.filter(query=OuterRef("pk"))
    has = {
        "person": Exists(written.by_people()),
        "model": Exists(written.by_models()),
        "published": Exists(written.chosen()),
        "none": ~Exists(written),
        "unpublished": Exists(written) & ~Exists(written.chosen()),
    }
    return queries.filter(has[value])


ANSWERS = Table(
    filters=(
        Filter("domain", "Domain", lookup="domain__name"),
        Filter(
            "state",
            "Answers",
            choices=(
                ("none", "None yet"),
                ("person", "By a person"),
                ("model", "By a model"),
                ("published", "Published"),
                ("unpublished", "Written, not published"),
            ),
            apply=_by_state,
        ),
    ),
    columns=(
        Column("query", "Query", order=("domain__name", "pk")),
        Column("title", "Title", order=("text",)),
        Column("person", "By a person", order=("person_version",), numeric=True),
        Column("model", "By a model", order=("model_version",), numeric=True),
        Column("published", "Published"),
        Column("reviewed", "Reviewed"),
    ),
    order=("domain__name", "pk"),
)


@require_GET
def answers(request: HttpRequest, slug: str) -> HttpResponse:
    """Queries with aspects, and the answers that were written to them."""
    access = enter(request.user, slug)
    shown = replace(
        ANSWERS,
        search=lambda found, words: found.filter(query_matches(words, benchmark=access.benchmark)),
    )
    choices = {"domain": domain_choices(access.benchmark)}
    context = {
        "access": access,
        "tab": "answers",
        "table": shown.read(answer_rows(access), request.GET, choices=choices),
        "hidden": set(hidden_queries(access).values_list("pk", flat=True)),
        "to_rate": to_rate(access).count(),
        "open": AnswerComparison.objects.open().filter(benchmark=access.benchmark).first(),
    }
    return htmx.render(request, "annotate/answers/list.html", context, partial="results")


def answer_rows(access: Access) -> QuerySet[Query]:
    """Queries with aspects; `chosen_by` says whose line is published, `verdict` the last word."""
    written = ReferenceAnswer.objects.filter(query=OuterRef("pk"))
    standing: Any = written.standing()
    words = AnswerReview.objects.filter(
        answer__query=OuterRef("pk"), answer__stands=True, stands=True
    )
    queries = Query.objects.in_benchmark(access.benchmark).filter(Exists(present_aspects()))
    return queries.select_related("domain").annotate(
        person_version=Subquery(standing.by_people().values("version")[:1]),
        model_version=Subquery(standing.filter(author=AnswerAuthor.MODEL).values("version")[:1]),
        chosen_by=Subquery(written.chosen().values("author")[:1]),
        verdict=Subquery(words.order_by("-pk").values("verdict")[:1]),
    )
