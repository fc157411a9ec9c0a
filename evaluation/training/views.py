"""Screens of training data: runs, setting one up with its forecast, one run with its documents."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, enter_unblinded, finder
from corpus.lists import domain_choices
from corpus.models import Benchmark, Role
from corpus.options import fields_of
from corpus.run_pages import Kind, PayingPages, asking_verbs, runs_table, states_of
from corpus.texts.tokens import CHARACTERS
from corpus.versions.forms import RunField, runs_of
from evaluation.agents.views import READERS
from evaluation.exporters.training import FORMATS
from evaluation.training import services as verbs
from evaluation.training.exporting import archive_of, kept_back
from evaluation.training.models import DocumentKind, DocumentUse, ItemState, TrainingRun
from evaluation.training.reading import labels_now, texts_of
from evaluation.training.services import CHOICES, MOST_ASKED, ROLE, SETTINGS
from kit import htmx
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, text
from kit.lists.tables import Column, Filter, Table
from llm import endpoints
from llm.endpoints import NO_ENDPOINT, asked_for, chosen_endpoint
from llm.ledger.accounts import budget_field, endpoint_field

_WORDS: Final[dict[str, tuple[str, str]]] = {
    "depth": ("First passages that are graded", "Above 6 of 10 positive, below 4 negative."),
    "labels": (
        "Labelled passages of each kind",
        "Relevant ones as positives, irrelevant ones as negatives; they are not graded.",
    ),
    "positives": ("Maximum positives written", "0: none."),
    "negatives": ("Hard negatives that are written", "One against each of the first positives."),
    "shortest": ("Shortest written positive, in words", ""),
    "longest": ("Longest written positive, in words", ""),
    "least_chars": ("Shortest hard negative, in characters", ""),
    "likeness": (
        "A hard negative is less like its positive than",
        "Shared telling words by all of both, from 0 to 1.",
    ),
    "language": ("Language of what is written", "Texts in another one are rejected."),
    "document_chars": ("Characters shown of a passage", ""),
    "temperature": ("Temperature of the writer", "Grades are given at 0."),
}


class TrainingForm(forms.Form):
    """What is graded, taken and written, by whom, for how much."""

    first: Final = ("source", "domain", "endpoint", "positives", "negatives", "budget_usd")

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runs = runs_of(benchmark)
        self.fields["source"] = RunField(
            runs,
            label="Retrieval run",
            required=False,
            empty_label="none: nothing is graded",
            initial=runs.first(),
        )
        domains = [(each.name, each.name) for each in benchmark.domains.ready()]
        self.fields["domain"] = forms.ChoiceField(
            required=False, choices=[("", "All"), *domains], help_text="Its queries only."
        )
        self.fields["endpoint"] = endpoint_field(ROLE)
        self.fields.update(fields_of(SETTINGS, _WORDS, CHOICES, {"": "that of the query"}))
        self.fields["name"] = forms.CharField(
            max_length=190, required=False, help_text="Left empty, one is made up."
        )
        self.fields["budget_usd"] = budget_field()


class AskForm(forms.Form):
    """How many graded pairs people are asked about."""

    size = forms.IntegerField(label="Pairs", min_value=1, max_value=MOST_ASKED, initial=50)
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=1)


LIST = runs_table(
    "Training data",
    Column("model", "Model", order=("model",)),
    Column("source", "Retrieval run", order=("source__name",)),
    search=("name", "model"),
)
DOCUMENTS = Table(
    filters=(
        Filter("domain", "Domain", lookup="item__query__domain__name"),
        Filter("kind", "From", choices=tuple(DocumentKind.choices)),
        Filter("use", "Used as", choices=tuple(DocumentUse.choices)),
    ),
    columns=(
        Column("query", "Query", order=("item__query__domain__name", "item_id", "pk")),
        Column("use", "Used as", order=("use", "pk")),
        Column("kind", "From", order=("kind", "pk")),
        Column("score", "Score", order=("score", "pk"), numeric=True),
        Column("label", "Label now"),
        Column("text", "Document"),
    ),
    order=("pk",),
)


TRAINED_ON = (DocumentUse.POSITIVE, DocumentUse.NEGATIVE)


@require_http_methods(["GET", "POST"])
def training_run_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a run up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    form = TrainingForm(sent, benchmark=access.benchmark)
    return RUNS.begin(
        request,
        access,
        "evaluation/training/new.html",
        form,
        partial(start, access=access),
        missing="" if endpoints.available(verbs.ROLE) else NO_ENDPOINT,
    )


@require_GET
def training_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One run: its progress, its mixture, its documents, what people said of it."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_run(access, pk)
    related = ("item__query__domain", "passage", "judgment")
    rows = run.documents.select_related(*related)
    table = DOCUMENTS.read(rows, request.GET, choices={"domain": domain_choices(access.benchmark)})
    labels = labels_now(run, table.rows)
    texts = texts_of({each.passage_id for each in table.rows if each.passage_id})
    documents = []
    for each in table.rows:
        label = labels.get(each.pk)
        shown = texts.get(each.passage_id, "") if each.passage_id else each.whole
        why = kept_back(each, label)
        documents.append((each, shown, label, why if each.use in TRAINED_ON else ""))
    states = states_of(run.items)
    hidden = ("prompts", "domain")
    context = RUNS.context(access, run) | {
        "states": states,
        "settings": [(k, v) for k, v in run.config.items() if k not in hidden and v != ""],
        "table": table,
        "documents": documents,
        "has_failed": run.is_over and any(n for _, name, n in states if name == ItemState.FAILED),
    }
    if htmx.is_fragment(request, "results"):
        return htmx.render(request, "evaluation/training/run.html", context, partial="results")
    context |= {"sheet": mixture_of(run), "formats": list(FORMATS), "said": verbs.people_said(run)}
    if run.status == "done" and access.is_admin:
        context["ask_form"] = AskForm()
    return RUNS.show(request, "evaluation/training/run.html", context)


@require_POST
def training_ask(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Put a sample of graded pairs before people."""
    access = enter(request.user, slug, Role.ADMIN)
    run, form = get_run(access, pk), AskForm(request.POST)
    with htmx.refusal_shown(request):
        if not form.is_valid():
            raise Refused(" ".join(str(e) for each in form.errors.values() for e in each))
        count = verbs.ask_people(run=run, actor=access.user, **form.cleaned_data)
        messages.success(request, f"{count:,} pairs are before people now.")
    return htmx.redirect(request, RUNS.url(run))


@require_GET
def training_export(request: HttpRequest, slug: str, pk: int, shape: str) -> FileResponse:
    """The data in a trainer's shape, as a zip archive."""
    run = get_run(enter(request.user, slug, Role.ADMIN), pk)
    return send_export(run, shape, request.GET)


def send_export(run: TrainingRun, shape: str, params: Mapping[str, str]) -> FileResponse:
    """The archive as an attachment, lengths by the `tokenizer` that is asked for; 404 for another
    format. Raises Refused before it is done."""
    if shape not in FORMATS:
        raise Http404("There is no such format.")
    name = f"{run.benchmark.slug}-training-{run.pk}-{shape}.zip"
    tokenizer = params.get("tokenizer", CHARACTERS)
    return FileResponse(archive_of(run, shape, tokenizer), as_attachment=True, filename=name)


def start(*, access: Access, **given: Any) -> TrainingRun:
    """A run as a form or the API asks for it. Raises Refused."""
    endpoint = chosen_endpoint(given.pop("endpoint"), verbs.ROLE)
    return verbs.start_training(
        benchmark=access.benchmark, endpoint=endpoint, actor=access.user, **given
    )


def forecast_of(access: Access, params: Any) -> dict[str, Any]:
    """The forecast for what is chosen in the form; what cannot be read is left at its default."""
    form = TrainingForm(params, benchmark=access.benchmark)
    form.is_valid()
    given = form.cleaned_data
    options = {name: each.default for name, each in verbs.SETTINGS.items()}
    options |= {name: given[name] for name in options if given.get(name) is not None}
    endpoint = asked_for(given.get("endpoint"), verbs.ROLE)
    return verbs.forecast(
        access.benchmark, given.get("source"), endpoint, options, given.get("domain") or ""
    )


def mixture_of(run: TrainingRun) -> ReportTable:
    """Documents by domain, origin and use; labels and leaks are looked at when it is exported."""
    counted = run.documents.order_by().values_list("item__query__domain__name", "kind", "use")
    counts = {(domain, kind, use): n for domain, kind, use, n in counted.annotate(n=Count("pk"))}
    uses = DocumentUse.choices
    rows = [
        (text(f"{domain}, {label}"), *(Cell(counts.get((domain, kind, use), 0)) for use, _ in uses))
        for domain in sorted({domain for domain, *_ in counts})
        for kind, label in DocumentKind.choices
        if any((domain, kind, use) in counts for use, _ in uses)
    ]
    return ReportTable(
        name="mixture",
        title="Mixture",
        header=("Domain, from", *(label.capitalize() for _, label in uses)),
        rows=tuple(rows),
        empty="Nothing was made yet.",
    )


get_run = finder(TrainingRun, "account", "created_by", "source", "corpus_version", unblinded=True)


RUNS = PayingPages(
    TrainingRun,
    kind=Kind(
        LIST,
        "evaluation/training/runs.html",
        lambda benchmark: benchmark.training_runs.select_related("account", "source"),
        start,
        forecast_of,
        {
            "what": "training data",
            "list_name": "Training data",
            "about": "At most, if no passage has a label yet. Replies that fail a check are asked "
            "for once more, and what was paid for before is not paid again.",
        },
    ),
    get=get_run,
    verbs=asking_verbs(verbs.retry_failed),
    readers=READERS,
)
