"""Screens of pools: the list, building one from retrieval runs, and what is in one."""

from dataclasses import replace
from typing import Any

from django import forms
from django.db.models import Count, F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, finder, first_or_404
from corpus.lists import domain_choices
from corpus.models import Benchmark, Pool, PoolBuild, PoolEntry, RetrievalRun, Role
from corpus.pools.builds import cancel_build, start_build
from corpus.pools.services import MAX_DEPTH
from corpus.run_pages import RunPages
from corpus.texts.finding import begins_with
from corpus.versions.forms import RunsField, runs_of
from kit import htmx
from kit.lists.tables import Column, Filter, Table
from kit.runs.models import RunStatus


class PoolForm(forms.Form):
    """Which retrieval runs, how deep, under which name."""

    runs = RunsField(
        RetrievalRun.objects.none(),
        label="Retrieval runs",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one retrieval run."},
    )
    depth = forms.IntegerField(
        label="Depth",
        min_value=1,
        max_value=MAX_DEPTH,
        initial=10,
        help_text="How many passages of each list count. DREAM took 10.",
    )
    of_aspects = forms.BooleanField(
        label="For aspects without gold",
        required=False,
        help_text=(
            "Pool what the runs, and the words of the aspect, find for each aspect of which no run "
            "found gold. Agents then debate whether the passage supports that aspect."
        ),
    )
    name = forms.CharField(
        label="Name", max_length=120, required=False, help_text="Left empty, one is made up."
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["runs"].queryset = runs_of(benchmark)  # type: ignore[attr-defined]

    def clean_runs(self) -> list[RetrievalRun]:
        """Version by version, in their order of names."""
        return list(self.cleaned_data["runs"])


@require_GET
def pool_build(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """How far a build is; leads on to the pool when it is done."""
    access = enter(request.user, slug, Role.ADMIN)
    build = get_build(access, pk)
    if build.status == RunStatus.DONE and build.pool_id:
        answer = htmx.redirect(request, reverse("pool", args=[slug, build.pool_id]))
        return htmx.stop_polling(answer) if htmx.is_fragment(request) else answer
    context = RUNS.context(access, build) | {
        "systems": RetrievalRun.objects.filter(pk__in=build.runs),
        "progress_words": _progress(build),
    }
    return RUNS.show(request, "corpus/pools/build.html", context)


get_build = finder(PoolBuild, "created_by")


RUNS = RunPages(
    PoolBuild,
    get=get_build,
    verbs={"cancel": cancel_build},
    said={"cancel": "The build was stopped. Nothing of it was kept."},
)


def _progress(build: PoolBuild) -> str:
    if build.status == RunStatus.QUEUED and not build.done:
        return "Waiting to begin"
    if not build.total:
        return ""
    return f"{build.done:,} of {build.total:,} queries · {build.percent} %"


# Builds that go on or came to nothing, the newest, above the list.
_UNFINISHED = 5
READERS = (Role.ADMIN, Role.REVIEWER)
POOLS = Table(
    search=("name",),
    columns=(
        Column("name", "Pool", order=("name",)),
        Column("pairs", "Pairs", numeric=True),
        Column("from", "Made from"),
        Column("at", "Made", order=("pk",)),
    ),
    order=("-pk",),
)


def _of_query(rows: QuerySet[PoolEntry], words: str) -> QuerySet[PoolEntry]:
    return rows.filter(begins_with("query__qid", words))


def _of_duplicates(rows: QuerySet[PoolEntry], value: str) -> QuerySet[PoolEntry]:
    return rows.filter(same_text_as__isnull=value != "yes")


PAIRS = Table(
    search=_of_query,
    filters=(
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter(
            "twin",
            "Text",
            choices=(("yes", "that of an earlier passage"), ("no", "no other has it")),
            apply=_of_duplicates,
        ),
    ),
    columns=(
        Column("query", "Query", order=("query_id", "pk")),
        Column("passage", "Passage"),
        Column("aspect", "Aspect", order=("aspect", "pk")),
        Column("systems", "Ranked by"),
    ),
    order=("pk",),
)


_OF_PAIRS = replace(PAIRS, columns=tuple(each for each in PAIRS.columns if each.name != "aspect"))


@require_GET
def pools(request: HttpRequest, slug: str) -> HttpResponse:
    """Every pool of pairs."""
    access = enter(request.user, slug, *READERS)
    rows = access.benchmark.pools.annotate(pairs=Count("entries")).select_related("corpus_version")
    context = {
        "access": access,
        "table": POOLS.read(rows, request.GET),
        "has_runs": RetrievalRun.objects.filter(benchmark=access.benchmark).exists(),
        "builds": access.benchmark.pool_builds.exclude(status=RunStatus.DONE)[:_UNFINISHED],
    }
    return htmx.render(request, "corpus/pools/list.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def pool_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Choose retrieval runs and a depth, and build the pool."""
    access = enter(request.user, slug, Role.ADMIN)
    form = PoolForm(request.POST if request.method == "POST" else None, benchmark=access.benchmark)
    build = htmx.submit(form, start_build, benchmark=access.benchmark, actor=access.user)
    if build:
        return htmx.redirect(request, RUNS.url(build))
    context = {
        "access": access,
        "has_runs": RetrievalRun.objects.filter(benchmark=access.benchmark).exists(),
    }
    return htmx.render(request, "corpus/pools/new.html", context, form=form)


@require_GET
def pool(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One pool: what each system brought, what was left out, and its pairs."""
    access = enter(request.user, slug, *READERS)
    found = get_pool(access, pk)
    rows = found.entries.select_related("query__domain", "passage").defer("passage__text")
    rows = rows.annotate(twin_pid=F("same_text_as__passage__pid"))
    choices = {"domain": domain_choices(access.benchmark)}
    listed = PAIRS if found.of_aspects else _OF_PAIRS
    context = {
        "access": access,
        "pool": found,
        "counts": _counts(found),
        "table": listed.read(rows, request.GET, choices=choices),
    }
    return htmx.render(request, "corpus/pools/pool.html", context, partial="results")


def get_pool(access: Access, pk: int) -> Pool:
    """A visible pool of this benchmark, or 404."""
    rows = access.benchmark.pools.select_related("corpus_version")
    return first_or_404(rows.filter(pk=pk), "pool")


def _counts(found: Pool) -> list[tuple[str, Any]]:
    """What the builder counted, in words; empty for a pool that came with an import."""
    words = {
        "queries": "queries",
        "aspects": "aspects without gold",
        "gold_removed": "already gold, left out",
        "unknown": "ids not in the corpus",
        "without_text": "passages without text",
        "twins": "with the text of another",
        "skipped_no_answer": "without answers, set aside",
        "discarded": "discarded by the filter",
        "failed": "not seen by all models, kept",
    }
    counts = found.provenance
    return [(text, counts[name]) for name, text in words.items() if counts.get(name)]
