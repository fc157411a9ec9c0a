"""Figures as others printed them, and ours compared with them."""

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.lists import is_key
from corpus.models import CorpusVersion
from evaluation.experiments.models import Experiment
from evaluation.leaderboard.views import version_of
from evaluation.metrics.profiles import PROFILES, STRICT
from evaluation.published import services as published
from evaluation.published.ours import compare_with_ours
from evaluation.scores.services import enter_scored
from kit import htmx


@require_GET
def published_table(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One table with our figures; runs of ours may be compared with systems of other names."""
    access = enter_scored(request.user, slug)
    table = published.tables().get(name)
    if table is None:
        raise Http404("No such table.")
    asked = zip(request.GET.getlist("system"), request.GET.getlist("run"), strict=False)
    # The last choice for a system counts; an empty one takes it back.
    pairs = {system: run for system, run in asked if system}
    pairs = {system: run for system, run in pairs.items() if run}
    version, experiment = version_of(request, access), experiment_of(request.GET, access)
    profile = request.GET.get("profile", "")
    profile = profile if profile in PROFILES else STRICT.name
    versions = CorpusVersion.objects.choices(access.benchmark) if table.metric else []
    rows = compare_with_ours(
        table,
        access.benchmark,
        list(pairs.items()),
        version=version,
        profile=profile,
        experiment=experiment if table.is_of_debates else None,
    )
    context = {
        "access": access,
        "table": table,
        "rows": rows,
        "matched": any(row.run for row in rows),
        "names": _names(table, access, version, experiment),
        "pairs": list(pairs.items()),
        "version": version,
        "versions": versions if len(versions) > 1 else [],
        "profile": profile,
        "profiles": list(PROFILES) if table.metric else [],
        "experiment": experiment,
        "experiments": experiments_for(access) if table.is_of_debates else [],
    }
    return htmx.render(request, "evaluation/published/published_table.html", context)


def experiment_of(given: Mapping[str, str], access: Access) -> Experiment | None:
    """The experiment that an address names, else the newest; None for who may see none."""
    found = experiments_for(access)
    asked = given.get("experiment", "")
    return next((each for each in found if is_key(asked) and each.pk == int(asked)), None) or next(
        iter(found), None
    )


def reads_experiments(access: Access) -> bool:
    """Whether this person may read what machines did here."""
    return not access.is_voter and (access.is_admin or access.is_reviewer)


def experiments_for(access: Access) -> list[Experiment]:
    """The experiments that this person may read, the newest first."""
    if not reads_experiments(access):
        return []
    return list(access.benchmark.experiments.order_by("-pk"))


def _names(
    table: published.PublishedTable,
    access: Access,
    version: CorpusVersion | None,
    experiment: Experiment | None,
) -> list[str]:
    """Names of our runs that can be compared with a system of this table."""
    if table.is_of_debates:
        runs = experiment.runs.order_by("pk") if experiment else []
        return [run.name for run in runs]
    key = version.key if version else None
    found = access.benchmark.retrieval_runs.filter(corpus_version=key)
    return list(found.values_list("name", flat=True)) if table.metric else []


@require_GET
def known_systems(request: HttpRequest, slug: str) -> HttpResponse:
    """The systems of DREAM/BRIDGE, and the runs here that bear their names."""
    access = enter(request.user, slug)
    systems = published.systems_with_runs(access.benchmark)
    context = {
        "access": access,
        "systems": systems,
        "here": sum(run is not None for _, run in systems),
    }
    return htmx.render(request, "evaluation/published/systems.html", context)
