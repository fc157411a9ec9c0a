"""Screens of benchmarks: mine, a new one, and the overview of one."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import enter
from corpus.forms import BenchmarkForm
from corpus.models import Benchmark, CorpusVersion
from corpus.services.benchmarks import create_benchmark
from corpus.services.overview import domain_counts
from kit import htmx
from kit.errors import Refused
from kit.models import Event


@require_GET
def home_fragment(request: HttpRequest) -> HttpResponse:
    """The corpus room's part of the home page: the person's benchmarks."""
    benchmarks = Benchmark.objects.for_user(request.user).annotate(
        domain_count=Count("domains", filter=Q(domains__is_ready=True), distinct=True)
    )
    context = {"benchmarks": benchmarks, "may_create": _is_staff(request)}
    return htmx.render(request, "corpus/home.html", context)


@require_http_methods(["GET", "POST"])
def benchmark_new(request: HttpRequest) -> HttpResponse:
    """Staff make a benchmark and become its admin."""
    if not _is_staff(request):
        raise PermissionDenied("Only staff may create benchmarks.")
    form = BenchmarkForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        assert isinstance(request.user, User)
        try:
            made = create_benchmark(actor=request.user, **form.cleaned_data)
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            return htmx.redirect(request, reverse("benchmark", args=[made.slug]))
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "corpus/benchmark_new.html", {"form": form})


@require_GET
def benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """What the benchmark holds, by domain, and what happened last."""
    access = enter(request.user, slug)
    context = {
        "access": access,
        "tab": "benchmark",
        "domains": domain_counts(access.benchmark),
        "version": CorpusVersion.objects.current(access.benchmark),
        "events": _what_people_did(slug) if access.is_admin else [],
    }
    return htmx.render(request, "corpus/benchmark.html", context)


def _what_people_did(slug: str) -> QuerySet[Event]:
    """The latest events that have a person; the machine's are many and have pages of their own."""
    return Event.objects.filter(scope=slug, actor__isnull=False).select_related("actor")[:12]


def _is_staff(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_staff
