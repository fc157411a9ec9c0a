"""The debate room's part of the home page."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.models import Membership, Role
from debate.models import DebateRun
from kit import htmx
from kit.runs.models import RunStatus


@require_GET
def home_fragment(request: HttpRequest) -> HttpResponse:
    """Runs that go on, wait or failed in benchmarks where the person is admin."""
    assert isinstance(request.user, User)  # signing in is required everywhere
    memberships = Membership.objects.live().filter(user=request.user)
    benchmarks = [m.benchmark_id for m in memberships if Role.ADMIN in m.roles]
    runs = DebateRun.objects.filter(benchmark_id__in=benchmarks).exclude(
        status__in=(RunStatus.DONE, RunStatus.CANCELLED)
    )
    context = {"runs": runs.select_related("benchmark", "account")[:10]}
    return htmx.render(request, "debate/home.html", context)
