"""A pool while it is built: its progress, and stopping it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter
from corpus.models import PoolBuild, RetrievalRun, Role
from corpus.services.pool_builds import cancel_build
from kit import htmx
from kit.errors import Refused
from kit.runs import RunStatus


@require_GET
def pool_build(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """How far a build is; leads on to the pool when it is done."""
    access = enter(request.user, slug, Role.ADMIN)
    build = get_build(access, pk)
    if build.status == RunStatus.DONE and build.pool_id:
        return _leave(request, reverse("pool", args=[slug, build.pool_id]))
    context = {
        "access": access,
        "tab": "retrieval-runs",
        "run": build,
        "systems": RetrievalRun.objects.filter(pk__in=build.runs),
        "progress_url": build_url(build),
        "cancel_url": reverse("pool-build-cancel", args=[slug, build.pk]),
        "cancel_question": "Stop building this pool? Nothing of it is kept.",
        "progress_words": _progress(build),
    }
    if not htmx.is_fragment(request):
        return htmx.render(request, "corpus/pools/build.html", context)
    if build.is_over:
        return _leave(request, build_url(build))
    return htmx.render(request, "kit/progress.html", context)


@require_POST
def pool_build_cancel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Stop a build; nothing of it is kept."""
    access = enter(request.user, slug, Role.ADMIN)
    build = get_build(access, pk)
    try:
        cancel_build(build=build, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "The build was stopped. Nothing of it was kept.")
    return htmx.redirect(request, build_url(build))


def get_build(access: Access, pk: int) -> PoolBuild:
    """A build of this benchmark, or 404."""
    builds = PoolBuild.objects.select_related("benchmark", "created_by")
    return get_object_or_404(builds, pk=pk, benchmark=access.benchmark)


def build_url(build: PoolBuild) -> str:
    """The page of a build."""
    return reverse("pool-build", args=[build.benchmark.slug, build.pk])


def _leave(request: HttpRequest, url: str) -> HttpResponse:
    answer = htmx.redirect(request, url)
    return htmx.stop_polling(answer) if htmx.is_fragment(request) else answer


def _progress(build: PoolBuild) -> str:
    if not build.total:
        return ""
    return f"{build.done:,} of {build.total:,} queries · {build.percent} %"
