"""Screens of experiments: the list with its form, and one comparison with its drawing."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import enter, enter_unblinded, finder
from corpus.models import Benchmark, Role
from debate.models import DebateRun
from debate.references import references
from evaluation.experiments import services as verbs
from evaluation.experiments.models import Experiment
from kit import htmx
from kit.charts.drawing import Drawing
from kit.charts.plots import crosses, percents
from kit.lists.csvfile import table_response
from kit.lists.tables import Column, Table


class ExperimentForm(forms.Form):
    """Which runs are compared, and with whose labels."""

    name = forms.CharField(max_length=120, label="Name")
    reference = forms.ChoiceField(
        label="Reference", help_text="Whose labels count as the truth for this comparison."
    )
    runs = forms.ModelMultipleChoiceField(
        DebateRun.objects.none(),
        label="Runs",
        help_text="Runs over the same pool of pairs.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["runs"].queryset = benchmark.debate_runs.all()  # type: ignore[attr-defined]
        self.fields["reference"].choices = [  # type: ignore[attr-defined]
            (each.key, each.name) for each in references(benchmark)
        ]

    def clean_runs(self) -> list[DebateRun]:
        """The runs in the order in which they were made."""
        return list(self.cleaned_data["runs"].order_by("pk"))


READERS = (Role.ADMIN, Role.REVIEWER)
EXPERIMENTS = Table(
    search=("name",),
    columns=(Column("name", "Experiment"), Column("runs", "Runs"), Column("at", "Made")),
    order=("-pk",),
)


@require_http_methods(["GET", "POST"])
def experiment_list(request: HttpRequest, slug: str) -> HttpResponse:
    """All experiments of the benchmark, and for admins the form that makes the next."""
    roles = READERS if request.method == "GET" else (Role.ADMIN,)
    access = enter_unblinded(request.user, slug, *roles)
    sent = request.POST if request.method == "POST" else None
    form = ExperimentForm(sent, benchmark=access.benchmark)
    create = verbs.create_experiment
    if made := htmx.submit(form, create, benchmark=access.benchmark, actor=access.user):
        return htmx.redirect(request, reverse("experiment", args=[slug, made.pk]))
    rows = access.benchmark.experiments.prefetch_related("runs")
    context = {
        "access": access,
        "table": EXPERIMENTS.read(rows, request.GET),
        "has_runs": access.benchmark.debate_runs.exists(),
    }
    page, part = "evaluation/experiments/experiments.html", "results"
    return htmx.render(request, page, context, partial=part, target=part, form=form)


@require_GET
def experiment_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One comparison, measured as things stand."""
    access = enter_unblinded(request.user, slug, *READERS)
    experiment = get_experiment(access, pk)
    measures = verbs.measure(experiment)
    context: dict[str, Any] = {
        "access": access,
        "experiment": experiment,
        "sheets": verbs.sheets(experiment, measures),
        "charts": charts(measures),
        "unfinished": [each.run for each in measures if not each.run.is_over],
        "practice": any(each.run.practice for each in measures),
    }
    return htmx.render(request, "evaluation/experiments/experiment.html", context)


def charts(measures: Sequence[verbs.Measured]) -> list[Drawing]:
    """Accuracy against escalation and against cost, the runs numbered as in the table."""
    rows = [(str(number), each.run.name, each) for number, each in enumerate(measures, 1)]
    escalation = crosses(
        "escalation",
        "Balanced accuracy against the share of disputed pairs",
        ("disputed pairs", percents),
        ("balanced accuracy of the pairs a run labelled itself", percents),
        [
            (mark, name, each.found.escalation, each.found.labelled.balanced)
            for mark, name, each in rows
        ],
        limits=(0.0, 1.0),
    )
    # The practice model costs nothing: a picture of it would say so and no more.
    paid = any(each.timing.usd.value for each in measures)
    cost = crosses(
        "cost",
        "Balanced accuracy against what the models cost",
        ("dollars a pair", "{:.3g}".format),
        ("balanced accuracy over all cases", percents),
        [(mark, name, each.timing.usd, each.found.overall.balanced) for mark, name, each in rows],
        limits=(0.0, 1.0),
    )
    return [found for found in (escalation, cost if paid else None) if found]


@require_GET
def experiment_csv(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """The table as a file, or what `table` names of the others."""
    access = enter_unblinded(request.user, slug, *READERS)
    experiment = get_experiment(access, pk)
    sheets = verbs.sheets(experiment, verbs.measure(experiment))
    asked = request.GET.get("table") or sheets[0].name
    sheet = next((each for each in sheets if each.name == asked), None)
    if sheet is None:
        raise Http404("No such table.")
    name = f"{slug}-experiment-{pk}" if sheet is sheets[0] else f"{slug}-experiment-{pk}-{asked}"
    return table_response(f"{name}.csv", sheet)


@require_POST
def experiment_delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Forget a comparison."""
    access = enter(request.user, slug, Role.ADMIN)
    verbs.delete_experiment(experiment=get_experiment(access, pk), actor=access.user)
    return htmx.redirect(request, reverse("experiments", args=[slug]))


get_experiment = finder(Experiment)
