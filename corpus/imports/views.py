"""Screens of imports: choosing a file, following the load, reading what came of it."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.defaultfilters import filesizeformat
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter
from corpus.importers.formats import all_formats
from corpus.imports import services as verbs
from corpus.imports.context import KINDS
from corpus.models import Benchmark, CorpusVersion, ImportRun, Role
from corpus.run_pages import RunPages
from corpus.versions.forms import FIELD, version_field
from corpus.versions.services import chosen
from kit import htmx
from kit.lists.tables import Column, Filter, Table
from kit.runs.models import RunStatus

TITLES = {name: each.title for name, each in all_formats().items()}

IMPORTS = Table(
    search=("label",),
    filters=(Filter("status", "State", choices=RunStatus.choices),),
    columns=(
        Column("file", "File", order=("label",)),
        Column("format", "Format", order=("format",)),
        Column("state", "State", order=("status",)),
        Column("when", "Started", order=("-created_at",)),
    ),
    order=("-pk",),
)


class ImportForm(forms.Form):
    """A file to import."""

    format = forms.ChoiceField(label="Format", choices=list(TITLES.items()))
    upload = forms.FileField(
        label="File",
        required=False,
        help_text="What a file of each format looks like stands below.",
    )
    stored = forms.ChoiceField(
        label="Or from the import folder",
        required=False,
        help_text="What lies there is read in place, whatever its size.",
    )
    qrels = forms.FileField(
        label="Relevance judgments (qrels)",
        required=False,
        help_text="BRIGHT, BEIR and TREC: qrels; for BRIGHT named after the domain, biology.txt.",
    )
    domain = forms.CharField(
        label="Domain of a run",
        required=False,
        max_length=80,
        help_text="Runs only, where the file is not named after its domain; or how paths are "
        "built: {run}/{domain}.run",
    )
    names = forms.CharField(
        label="Fields by other names",
        required=False,
        max_length=1000,
        help_text="JSON and parquet whose records call a field otherwise, ours first: "
        "docid=id, text=body",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.benchmark = benchmark
        help_text = "Runs only: whose ids they name. Without a choice the current one."
        self.fields.update(version_field(benchmark, help_text=help_text, initial=""))
        if FIELD in self.fields:
            field: Any = self.fields[FIELD]
            field.choices = [("", "Not a run, or the current one"), *field.choices]
        if not verbs.is_set():
            del self.fields["stored"]
            self.fields["upload"].required = True
            return
        names = [(each["name"], each["name"] + "/" * each["is_folder"]) for each in verbs.entries()]
        self.fields["stored"].choices = [("", "Nothing chosen"), *names]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Exactly one of the two is imported."""
        given = super().clean() or {}
        chosen = [name for name in ("upload", "stored") if given.get(name)]
        if len(chosen) > 1:
            self.add_error("stored", "Choose either this or a file to upload.")
        elif not chosen and "stored" in self.fields and not self.errors:
            self.add_error("upload", "Choose a file, or one from the import folder.")
        return given

    def clean_names(self) -> list[str]:
        """Each pair, as `load_benchmark --map` takes it."""
        pairs = self.cleaned_data["names"].split(",")
        return [pair.strip() for pair in pairs if pair.strip()]

    def clean_version(self) -> CorpusVersion | None:
        """The version itself, where one was chosen."""
        asked = self.cleaned_data[FIELD]
        return chosen(self.benchmark, asked) if asked else None


@require_http_methods(["GET", "POST"])
def imports(request: HttpRequest, slug: str) -> HttpResponse:
    """The imports of a benchmark, and starting one."""
    access = enter(request.user, slug, Role.ADMIN)
    posted = request.method == "POST"
    given = (request.POST, request.FILES) if posted else ()
    form = ImportForm(*given, benchmark=access.benchmark)
    run = htmx.submit(form, verbs.start_import, benchmark=access.benchmark, actor=access.user)
    if run:
        return htmx.redirect(request, RUNS.url(run))
    table = IMPORTS.read(access.benchmark.imports.all(), request.GET)
    context = {
        "access": access,
        "form": form,
        "table": table,
        "formats": all_formats(),
        "titles": TITLES,
    }
    if posted:
        return htmx.invalid(request, "corpus/imports/list.html", context)
    return htmx.render(request, "corpus/imports/list.html", context, partial="results")


@require_GET
def import_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One import: its progress, then its summary or its problems."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_import(access, pk)
    context = RUNS.context(access, run) | {
        "titles": TITLES,
        "progress_words": _progress(run),
        "counts": _counts(run),
    }
    return RUNS.show(request, "corpus/imports/run.html", context)


def get_import(access: Access, pk: int) -> ImportRun:
    """An import of this benchmark, or 404."""
    runs = ImportRun.objects.select_related("benchmark", "version", "created_by")
    return get_object_or_404(runs, pk=pk, benchmark=access.benchmark)


RUNS = RunPages(
    ImportRun,
    get=get_import,
    verbs={"cancel": verbs.cancel_import},
    said={"cancel": "The import was cancelled. Nothing of it was kept."},
    acts="import",
)


def _progress(run: ImportRun) -> str:
    """How far it came, in words: what is counted are kilobytes of the files as they lie there."""
    if run.status == RunStatus.QUEUED and not run.done:
        return "Waiting to begin"
    if not run.total:
        return ""
    done, total = (filesizeformat(count * 1024) for count in (run.done, run.total))
    if run.done < run.total:
        return f"{done} of {total} read · {run.percent} %"
    return f"{total} read" if run.is_over else f"All {total} read, now being put in place"


def _counts(run: ImportRun) -> list[dict[str, Any]]:
    """The summary's rows that count something."""
    rows = [{"kind": kind, **run.summary.get(kind, {})} for kind in KINDS]
    return [row for row in rows if any(row.get(name) for name in ("added", "present", "filled"))]
