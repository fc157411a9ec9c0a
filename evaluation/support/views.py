"""Screens of support: sets of answers, what their citations came to, judges, and people's part."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import Count, F, Max
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.grading.models import SampleKind
from annotate.grading.services import close_sample, source_of
from annotate.grading.views import get_sample
from corpus.access import Access, enter, enter_unblinded, finder
from corpus.models import Role
from corpus.run_pages import PayingPages, asking_verbs
from evaluation.agents.views import READERS
from evaluation.support import report
from evaluation.support import services as verbs
from evaluation.support.exchange import check_limits, export_answers, import_answers
from evaluation.support.forms import DrawForm, ImportForm, JudgeForm, SupportForm
from evaluation.support.models import Claim, SupportRun, SupportSet, SupportState
from evaluation.support.protocol.shapes import SHAPES
from evaluation.support.reading import read
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import named_table_response
from kit.lists.report_tables import ReportTable
from kit.lists.tables import Column, Filter, Table
from kit.numbers import number
from llm import endpoints
from llm.endpoints import NO_ENDPOINT, chosen_endpoint

LIST = Table(
    search=("name",),
    columns=(
        Column("name", "Answers", order=("name",)),
        Column("kind", "Of", order=("kind",)),
        Column("answers", "Number", numeric=True),
        Column("judges", "Judges", numeric=True),
        Column("at", "Since", order=("created_at",)),
    ),
    order=("-pk",),
)
CLAIMS = Table(
    filters=(
        Filter("system", "System", lookup="answer__system"),
        Filter(
            "said",
            "Judges",
            choices=(
                ("2", "one says fully"),
                ("1", "one says partly"),
                ("0", "one says not"),
                ("differ", "they differ"),
                ("unknown", "unknown passage"),
            ),
            apply=lambda rows, value: _said(rows, value),
        ),
    ),
    columns=(
        Column("query", "Query", order=("answer__query_id", "pk")),
        Column("sentence", "Sentence"),
        Column("passage", "Passage", order=("pid", "pk")),
        Column("said", "What was said of it"),
    ),
    order=("pk",),
)
VERDICTS = Table(
    filters=(Filter("state", "State", choices=tuple(SupportState.choices)),),
    columns=(
        Column("query", "Query", order=("claim__answer__query_id", "pk")),
        Column("sentence", "Sentence"),
        Column("verdict", "Verdict", order=("value",)),
        Column("said", "What the judge said"),
    ),
    order=("pk",),
)


def _said(rows: Any, value: str) -> Any:
    if value == "unknown":
        return rows.filter(passage=None)
    if value == "differ":
        judged = rows.alias(n=Count("verdicts__value"), most=Max("verdicts__value"))
        return judged.filter(n__gt=1, verdicts__value__lt=F("most")).distinct()
    return rows.filter(verdicts__value=value).distinct()


@require_GET
def support_sets(request: HttpRequest, slug: str) -> HttpResponse:
    """Sets of answers whose citations are judged; admins import others."""
    access = enter_unblinded(request.user, slug, *READERS)
    rows = access.benchmark.support_sets.annotate(
        answer_count=Count("answers", distinct=True), judge_count=Count("runs", distinct=True)
    )
    form = ImportForm(benchmark=access.benchmark) if access.is_admin else None
    table = LIST.read(rows, request.GET)
    return RUNS.index(request, access, "evaluation/support/sets.html", table, form=form)


@require_POST
def support_import(request: HttpRequest, slug: str) -> HttpResponse:
    """Take the answers of a file."""
    access = enter(request.user, slug, Role.ADMIN)
    form = ImportForm(request.POST, request.FILES, benchmark=access.benchmark)
    made = htmx.submit(form, partial(import_file, access))
    if made is not None:
        messages.success(request, "The answers are here. Let a model judge their citations.")
        return htmx.redirect(request, url_of(made))
    table = LIST.read(access.benchmark.support_sets.none(), {})
    shown = RUNS.index(request, access, "evaluation/support/sets.html", table, form=form)
    shown.status_code = 422
    return shown


@require_http_methods(["GET", "POST"])
def support_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Choose answers and their first judge."""
    access = enter(request.user, slug, Role.ADMIN)
    form = SupportForm(
        request.POST if request.method == "POST" else None,
        benchmark=access.benchmark,
        initial={"source": request.GET.get("source")},
    )
    return RUNS.begin(
        request,
        access,
        "evaluation/support/new.html",
        form,
        partial(start, access),
        missing="" if endpoints.available() else NO_ENDPOINT,
    )


@require_GET
def support_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What judging would take; a part of the page that sets it up."""
    access = enter(request.user, slug, Role.ADMIN)
    found, refused = None, ""
    try:
        found = forecast_of(access, request.GET)
    except Refused as refusal:
        refused = refusal.message
    return RUNS.forecast(
        request,
        access,
        found,
        what="checking answers",
        list_name="Support",
        counted="Citations",
        about="A call for each citation whose passage has a text, by the first answers. A second "
        "judge takes as much again.",
        refused=refused,
    )


@require_GET
def support_set(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What a set came to: tables, each citation, judges, people."""
    access = enter_unblinded(request.user, slug, *READERS)
    of = get_set(access, pk)
    systems = of.answers.order_by("system").values_list("system", flat=True).distinct()
    choices = {"system": [(name, name) for name in systems]}
    rows = Claim.objects.filter(answer__support_set=of)
    rows = rows.select_related("answer__query__domain").prefetch_related("verdicts__run")
    context: dict[str, Any] = {
        "access": access,
        "of": of,
        "table": CLAIMS.read(rows, request.GET, choices=choices),
    }
    if not htmx.is_fragment(request, "results"):
        context |= {
            "runs": of.runs.order_by("pk"),
            "samples": report.samples(of),
            "sample_close": "support-sample-close",
            "sheets": report.tables(read(of), url_of(of)),
            "shapes": SHAPES,
            "refused": request.GET.get("refused", ""),
        }
        if access.is_admin and of.is_split:
            known = endpoints.available(verbs.ROLE)
            context |= {
                "judge_form": JudgeForm(),
                "draw_form": DrawForm(),
                "forecast": verbs.forecast(of, next(iter(known), None)),
            }
    return htmx.render(request, "evaluation/support/set.html", context, partial="results")


@require_POST
def support_judge(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let another judge judge the same citations."""
    access = enter(request.user, slug, Role.ADMIN)
    of = get_set(access, pk)
    return RUNS.press(
        request,
        JudgeForm(request.POST),
        lambda **given: start_judge(access, of, given),
        said="The judge has begun.",
        back=url_of(of),
    )


@require_POST
def support_draw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let people judge some of the citations."""
    access = enter(request.user, slug, Role.ADMIN)
    of = get_set(access, pk)
    draw = partial(report.draw, access=access, of=of)
    said = "Experts of the domains are asked now."
    return htmx.press(request, DrawForm(request.POST), draw, said=said, back=url_of(of))


@require_POST
def support_sample_close(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Ask nobody about a sample any more."""
    access = enter(request.user, slug, Role.ADMIN)
    sample = get_sample(access, pk, SampleKind.SENTENCES)
    act = partial(close_sample, sample=sample, access=access)
    back = url_of(get_set(access, source_of(sample)))
    return htmx.attempt(request, act, back, "The sample is closed.")


@require_GET
def support_table(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of a set as a file."""
    of = get_set(enter_unblinded(request.user, slug, *READERS), pk)
    return named_table_response(f"{slug}-support-{of.pk}", tables_of(of), name)


@require_GET
def support_export(request: HttpRequest, slug: str, pk: int, shape: str) -> HttpResponseBase:
    """The answers of a set as JSON lines."""
    of = get_set(enter_unblinded(request.user, slug, *READERS), pk)
    with htmx.refusal_shown(request):
        return exported(of, shape, request.GET)
    return htmx.redirect(request, f"{url_of(of)}?refused={shape}")


@require_GET
def support_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One judge at work, with what it said."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_run(access, pk)
    return RUNS.monitor(
        request,
        access,
        run,
        "evaluation/support/run.html",
        table=VERDICTS,
        rows=run.verdicts.select_related("claim__answer__query__domain", "claim__passage"),
        failed=(SupportState.FAILED, SupportState.UNREADABLE),
    )


def start(access: Access, **given: Any) -> SupportRun:
    """The first judge of answers, as a form or the API asks for it. Raises Refused."""
    of = verbs.unsaved_set(access.benchmark, given.pop("source"), given.pop("per_sentence"))
    return start_judge(access, of, given)


def start_judge(access: Access, of: SupportSet, given: dict[str, Any]) -> SupportRun:
    """A judge of a set, as a form or the API asks for it. Raises Refused."""
    endpoint = chosen_endpoint(given.pop("endpoint"), verbs.ROLE)
    return verbs.start_support(of=of, endpoint=endpoint, actor=access.user, **given)


def forecast_of(access: Access, params: Any) -> dict[str, Any]:
    """The forecast for what is chosen in the form. Raises Refused."""
    known = endpoints.available(verbs.ROLE)
    endpoint = next((e for e in known if e.name == params.get("endpoint")), next(iter(known), None))
    most = str(params.get("per_sentence") or "")
    source = params.get("source") or "references"
    of = verbs.unsaved_set(access.benchmark, source, number(most))
    return verbs.forecast(of, endpoint)


def import_file(
    access: Access, file: Iterable[bytes], name: str, domain: str, per_sentence: int | None
) -> SupportSet:
    """The answers of an uploaded file. Raises Refused with every fault."""
    lines: Iterator[str] = (line.decode("utf-8", "surrogateescape") for line in file)
    return import_answers(
        benchmark=access.benchmark,
        lines=lines,
        name=name or getattr(file, "name", ""),
        actor=access.user,
        domain=domain,
        per_sentence=per_sentence,
    )


def exported(of: SupportSet, shape: str, params: Any) -> HttpResponseBase:
    """The answers of a set as a file of JSON lines, or with `limits` what in them is beyond limits
    of the track, whose number the header X-Beyond-Limits has; 404 for an unknown shape.

    Raises Refused where the track refuses them, but `anyway`.
    """
    if shape not in SHAPES:
        raise Http404("No such shape.")
    is_list, anyway = (
        params.get(name, "").lower() not in ("", "false", "0") for name in ("limits", "anyway")
    )
    warned = check_limits(of, shape=shape, anyway=anyway or is_list)
    if is_list:
        told = "".join(f"{line}\n" for line in warned or ["Nothing is beyond the track's limits."])
        return HttpResponse(told, content_type="text/plain; charset=utf-8")
    lines = (
        json.dumps(each, ensure_ascii=False) + "\n" for each in export_answers(of, shape=shape)
    )
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
    name = f"{of.benchmark.slug}-answers-{of.pk}-{shape}.jsonl"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Beyond-Limits"] = str(len(warned))
    return response


def tables_of(of: SupportSet) -> list[ReportTable]:
    """Every table of a set."""
    return report.tables(read(of), url_of(of))


def url_of(of: SupportSet) -> str:
    """The page of a set."""
    return reverse("support-set", args=[of.benchmark.slug, of.pk])


get_set = finder(SupportSet, "rag_run", "agent_run", unblinded=True)


get_run = finder(SupportRun, "account", "created_by", "support_set", unblinded=True)


RUNS = PayingPages(
    SupportRun,
    get=get_run,
    verbs=asking_verbs(verbs.retry_failed),
    readers=READERS,
    around=("support-sets", "support-new"),
)
