"""Screens of how far a judge can be trusted."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.grading.models import GradingSample, SampleKind
from annotate.grading.services import MOST_PEOPLE, PEOPLE, SIZE, close_sample
from annotate.grading.views import get_sample as sample_of
from annotate.review.forms import SampleForm
from annotate.review.rescoring import MAX_SIZE
from corpus.access import Access, enter, enter_unblinded
from corpus.models import Role
from evaluation.agents.judging import ROLE
from evaluation.agents.models import AgentItem, AgentRun, AgentState, JudgeRun
from evaluation.agents.reading import judges
from evaluation.agents.trust import bridges, calibration, people
from evaluation.agents.trust.forms import BridgeForm
from evaluation.agents.trust.noise import tables_of
from evaluation.agents.views import JUDGES, READERS, chosen, get_judge_run
from kit import htmx
from kit.lists.csvfile import named_table_response
from kit.lists.report_tables import ReportTable
from kit.lists.tables import Column, Table
from kit.numbers import number
from llm.endpoints import chosen_endpoint

SAMPLES = Table(
    columns=(
        Column("sample", "Sample", order=("pk",)),
        Column("seed", "Seed", numeric=True),
        Column("answers", "Answers", numeric=True),
        Column("scored", "Scored", numeric=True),
        Column("grades", "Grades", numeric=True),
        Column("state", "State", order=("closed_at",)),
    ),
    order=("-pk",),
)
ANSWERS = Table(
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id", "pk")),
        Column("answer", "Answer"),
        Column("people", "People: scores and quality"),
    ),
    order=("pk",),
)


class DrawForm(SampleForm):
    """Whose answers, how many, and how many people are asked about each."""

    runs = forms.MultipleChoiceField(label="Agent runs")
    size = forms.IntegerField(
        label="Answers",
        min_value=1,
        max_value=MAX_SIZE,
        initial=SIZE,
        help_text="Drawn by domain, in proportion to its answers.",
    )
    people = forms.IntegerField(
        label="People for each answer",
        min_value=1,
        max_value=MOST_PEOPLE,
        initial=PEOPLE,
        help_text="Two or more show how far people agree among themselves.",
    )

    field_order = ("runs", "size", "people", "seed")

    def __init__(self, *args: Any, access: Access, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["runs"].choices = [(str(run.pk), run.name) for run in answered_runs(access)]


def answered_runs(access: Access) -> QuerySet[AgentRun]:
    """Runs with an answer."""
    done = AgentItem.objects.exclude(state__in=(AgentState.WAITING, AgentState.FAILED))
    return access.benchmark.agent_runs.filter(pk__in=done.values("run"))


@require_http_methods(["GET", "POST"])
def judge_samples(request: HttpRequest, slug: str) -> HttpResponse:
    """Samples that people score beside the judge; admins draw another."""
    access = enter_unblinded(request.user, slug, *READERS)
    form = DrawForm(request.POST if request.method == "POST" else None, access=access)
    if form.is_bound and not access.is_admin:
        raise PermissionDenied("Answers to score are drawn by admins.")
    if drawn := htmx.submit(form, partial(draw, access)):
        return htmx.redirect(request, reverse("judge-sample", args=[slug, drawn.pk]))
    table = SAMPLES.read(people.samples(access.benchmark), request.GET)
    context = {"access": access, "table": table}
    return htmx.render(
        request, "evaluation/agents/samples.html", context, partial="results", form=form
    )


@require_GET
def judge_sample(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The answers of one sample with what people said of them."""
    access = enter_unblinded(request.user, slug, *READERS)
    sample = get_sample(access, pk)
    table = ANSWERS.read(people.answers_in_sample(sample), request.GET)
    rows = table.rows
    context = {
        "access": access,
        "sample": people.samples(access.benchmark).get(pk=pk),
        "table": table,
        "rows": list(zip(rows, told(rows), strict=True)),
    }
    return htmx.render(request, "evaluation/agents/sample.html", context, partial="results")


@require_POST
def judge_sample_close(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Ask nobody about it any more."""
    access = enter(request.user, slug, Role.ADMIN)
    act = partial(close_sample, sample=get_sample(access, pk), access=access)
    url = reverse("judge-sample", args=[slug, pk])
    return htmx.attempt(request, act, url, "The sample is closed.")


@require_POST
def judge_bridge(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let another judge judge some of these answers again."""
    access = enter(request.user, slug, Role.ADMIN)
    run, form = get_judge_run(access, pk), BridgeForm(request.POST)
    return JUDGES.press(
        request,
        form,
        lambda **given: bridge(access, run, given),
        said="The other judge has begun.",
        back=JUDGES.url(run),
    )


@require_GET
def judge_table(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of a judge run as a file."""
    run = get_judge_run(enter_unblinded(request.user, slug, *READERS), pk)
    return named_table_response(f"{slug}-judge-{run.pk}", tables_of(run), name)


@require_GET
def agent_calibration(request: HttpRequest, slug: str) -> HttpResponse:
    """Stated confidence of answers beside what a judge says."""
    access = enter_unblinded(request.user, slug, *READERS)
    judge, _ = chosen(access.benchmark, request.GET)
    bins = bins_in(request.GET)
    found = calibration.stated(access.benchmark, judge)
    context = {
        "access": access,
        "judges": judges(access.benchmark),
        "judge": judge,
        "bins": bins,
        "most_bins": calibration.MOST_BINS,
        "states_any": calibration.states_any(found),
        "sheets": calibration.tables(found, bins),
        "charts": calibration.charts(found, bins),
        "query": urlencode({"judge": judge.pk if judge else "", "bins": bins}),
    }
    return htmx.render(request, "evaluation/agents/calibration.html", context)


@require_GET
def agent_calibration_csv(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """One table of it as a file."""
    access = enter_unblinded(request.user, slug, *READERS)
    return named_table_response(f"{slug}-agents", calibration_sheets(access, request.GET), name)


def calibration_sheets(access: Access, params: Any) -> list[ReportTable]:
    """The tables for the judge and the bins that are asked for."""
    judge, _ = chosen(access.benchmark, params)
    return calibration.tables(calibration.stated(access.benchmark, judge), bins_in(params))


def bins_in(params: Any) -> int:
    """The number of bins that is asked for, within what can be; ten by default."""
    given = number(str(params.get("bins") or "")) or calibration.BINS
    return min(given, calibration.MOST_BINS)


def bridge(access: Access, run: JudgeRun, given: dict[str, Any]) -> JudgeRun:
    """A bridge as a form or the API asks for it. Raises Refused."""
    endpoint = chosen_endpoint(given.pop("endpoint"), ROLE)
    return bridges.start_bridge(judge=run, endpoint=endpoint, actor=access.user, **given)


def draw(access: Access, *, runs: list[Any], **given: int) -> GradingSample:
    """A sample as a form or the API asks for it. Raises Refused."""
    chosen = list(answered_runs(access).filter(pk__in=runs))
    return people.draw_sample(access=access, runs=chosen, **given)


def get_sample(access: Access, pk: int) -> GradingSample:
    """A sample of agents' answers, or 404."""
    return sample_of(access, pk, SampleKind.ANSWERS)


def told(answers: Any) -> list[dict[str, Any]]:
    """Whose each answer is, and what people said of it, one line a person."""
    keys = [people.answer_key(each.origin) for each in answers]
    items = AgentItem.objects.select_related("run").in_bulk([item for item, _ in keys])
    return [
        {
            "item": items.get(item),
            "round": round,
            "grades": [each for each in answer.grades.all() if each.stands],
        }
        for answer, (item, round) in zip(answers, keys, strict=True)
    ]
