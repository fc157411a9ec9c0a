"""Verdicts on passages: assign to an aspect, discard with a reason, take back."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from annotate.forms import DiscardForm
from annotate.models import Aspect
from annotate.services import gold, remaking
from annotate.views.loaders import enter_query, get_domain_passage
from annotate.views.numbers import number
from annotate.views.queries import WORKSPACE, workspace, workspace_url
from corpus.access import Access
from corpus.models import Passage, Query
from kit import htmx
from kit.errors import Refused


@require_POST
def passage_assign(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage supports one aspect of the query."""
    access, query = enter_query(request.user, slug, pk)
    passage = get_domain_passage(query, passage_pk)
    wanted = number(request.POST.get("aspect", "")) or 0
    aspect = Aspect.objects.filter(query=query, pk=wanted).present().first()

    def assign() -> str:
        if aspect is None:
            raise Refused("This aspect is gone. Choose another one.")
        gold.assign_passage(query=query, passage=passage, aspect=aspect, actor=access.user)
        return f"supports a{aspect.k}"

    return _decide(request, access, query, passage, assign)


@require_POST
def passage_discard(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """The passage is no gold, for one of four reasons."""
    access, query = enter_query(request.user, slug, pk)
    passage = get_domain_passage(query, passage_pk)
    form = DiscardForm(request.POST)

    def discard() -> str:
        if not form.is_valid():
            raise Refused("Choose why the passage is discarded.")
        data = form.cleaned_data
        gold.discard_passage(query=query, passage=passage, actor=access.user, **data)
        return f"discarded: {gold.DiscardReason(data['reason']).label.lower()}"

    return _decide(request, access, query, passage, discard)


@require_POST
def passage_undo(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """Take the verdict back; the passage is open again."""
    access, query = enter_query(request.user, slug, pk)
    passage = get_domain_passage(query, passage_pk)

    def undo() -> str:
        remaking.take_back(query=query, passage=passage, actor=access.user)
        return ""

    return _decide(request, access, query, passage, undo)


def _decide(
    request: HttpRequest, access: Access, query: Query, passage: Passage, verb: Callable[[], str]
) -> HttpResponse:
    try:
        said = verb()
    except Refused as refusal:
        messages.warning(request, refusal.message)
        said = ""
    here = None if said else passage.pk
    if not htmx.is_fragment(request):
        url = workspace_url(access, query)
        return htmx.redirect(request, f"{url}?passage={here}" if here else url)
    context = workspace(access, query, open_pk=here)
    context |= {"said": said, "decided": passage, "hx_oob": True}
    return htmx.render(request, WORKSPACE, context, partial="verdict")
