"""The screens that every kind of long run has: its page, a person's verbs on it, its budget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter, enter_unblinded
from corpus.models import Benchmark, Role
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Choices, Column, Filter, ListPage, Table
from kit.runs.models import RunStatus, TrackedRun
from kit.runs.moves import cancel_run, pause_run, resume_run
from kit.runs.turns import Priority
from llm.ledger.accounts import AskingRun, budget_field, set_budget, set_priority

RunT = TypeVar("RunT", bound=TrackedRun)
PaidT = TypeVar("PaidT", bound=AskingRun)


class BudgetForm(forms.Form):
    """What a run may spend."""

    budget_usd = budget_field(
        "From the next call on; empty lifts the limit. What is spent already counts."
    )


def priority_field(unsaid: str, help_text: str) -> forms.TypedChoiceField:
    """The field of every form that says whom runs go before; `unsaid` where it is left open."""
    return forms.TypedChoiceField(
        coerce=int,
        empty_value=None,
        required=False,
        choices=[("", unsaid), *Priority.choices],
        help_text=help_text,
    )


class TurnForm(BudgetForm):
    """What a run may spend, and whom it goes before."""

    priority = priority_field(
        "as the benchmark’s, or by its size",
        "Beside runs that wait for the same workers or endpoint. Who waits longer goes up, so "
        "none waits for ever.",
    )


def page_of(run: TrackedRun) -> str:
    """The address of a run's page; "" for a kind that has none."""
    if not run.page_route:
        return ""
    slug = run.scope.partition("#")[0]  # of what stands apart in the record, too
    keys = [run.serializable_value(run.page_key)] if run.page_key else []
    return reverse(run.page_route, args=[slug, *keys])


def asking_verbs(retry: Callable[..., object] | None = None) -> dict[str, Callable[..., object]]:
    """What a person does to a run that asks models."""
    resume = partial(resume_run, pause_reason="")
    verbs: dict[str, Callable[..., object]] = {
        "pause": pause_run,
        "resume": resume,
        "cancel": cancel_run,
    }
    return verbs | ({"retry": retry} if retry else {})


def states_of(rows: Any) -> list[tuple[str, str, int]]:
    """(what people call it, its name, how many) for every state that items of a run can have."""
    counts = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
    labels = rows.model._meta.get_field("state").choices
    return [(label, name, counts.get(name, 0)) for name, label in labels]


def runs_table(
    noun: str, *columns: Column, counted: str = "Queries", search: Sequence[str] = (), **more: Any
) -> Table:
    """Runs of a kind, the newest first: their name, what is told of that kind, how far they are."""
    columns = (
        Column("name", noun, order=("name",)),
        *columns,
        Column("status", "Status", order=("status",)),
        Column("queries", counted, numeric=True),
        Column("at", "Started", order=("created_at",)),
    )
    return Table(search=tuple(search), columns=columns, order=("-pk",), **more)


def items_table(states: Choices, *columns: Column) -> Table:
    """The queries of a run with their states."""
    return Table(
        filters=(
            Filter("domain", "Domain", lookup="query__domain__name"),
            Filter("state", "State", choices=tuple(states)),
        ),
        columns=(
            Column("query", "Query", order=("query__domain__name", "query_id")),
            Column("state", "State", order=("state",)),
            *columns,
            Column("error", "What came up"),
        ),
        order=("pk",),
    )


@dataclass(frozen=True)
class Kind(Generic[RunT]):
    """What the list of a kind of run, setting one up, and what one would take are made of.

    `rows` are those of a benchmark in the `table` of the page `template`; `start` takes `access`
    and what a form or a body of the API gives, or refuses; `forecast_of` says what a run by the
    parameters of an address would take, None where there is nothing to run on; `words` are those
    of llm/forecast.html.
    """

    table: Table
    template: str
    rows: Callable[[Benchmark], QuerySet[RunT]]
    start: Callable[..., RunT]
    forecast_of: Callable[[Access, Any], dict[str, Any] | None]
    words: Mapping[str, str]


class RunPages(Generic[RunT]):
    """A kind of run as screens and API share it; each kind adds its plan and its result.

    `name`, by default the route of its page, begins those of its verbs unless `acts` does; with
    `is_verb_free` they are one route with any word. `get` fetches a run of the benchmark, or
    answers 404; `verbs` are called with `run` and `actor`, `said` has the messages of
    those that succeeded.
    `around` are the routes of its list and of the form of a new one, `name` with "s" and "-new".
    With a `kind` it also has those of the list and the forecast, and their API.
    Members with one of the roles `readers` may look (empty: `get` decides); admins alone act.
    """

    def __init__(
        self,
        model: type[RunT],
        *,
        name: str = "",
        get: Callable[[Access, int], RunT],
        verbs: Mapping[str, Callable[..., object]],
        said: Mapping[str, str] | None = None,
        readers: tuple[str, ...] = (Role.ADMIN,),
        acts: str = "",
        is_verb_free: bool = False,
        around: tuple[str, str] = ("", ""),
        kind: Kind[RunT] | None = None,
    ) -> None:
        self.name = name = name or model.page_route
        self.model, self.get, self.verbs = model, get, verbs
        self._kind = kind
        self.said, self.readers = said or {}, readers
        self.list, self.new = around[0] or f"{name}s", around[1] or f"{name}-new"
        self.acts, self.is_verb_free = acts or name, is_verb_free

    def url(self, run: RunT) -> str:
        """The address of its page."""
        return page_of(run)

    @property
    def kind(self) -> Kind[RunT]:
        """What was given as such."""
        assert self._kind is not None
        return self._kind

    @method_decorator(require_GET)
    def listing(self, request: HttpRequest, slug: str) -> HttpResponse:
        """Every run of the kind, for who may read them."""
        access = enter_unblinded(request.user, slug, *self.readers)
        table = self.kind.table.read(self.kind.rows(access.benchmark), request.GET)
        return self.index(request, access, self.kind.template, table)

    @method_decorator(require_GET)
    def forecasting(self, request: HttpRequest, slug: str) -> HttpResponse:
        """What a run would take, by what the form holds; a part of the page that sets one up."""
        access = enter(request.user, slug, Role.ADMIN)
        found = self.kind.forecast_of(access, request.GET)
        return self.forecast(request, access, found, **self.kind.words)

    def context(self, access: Access, run: RunT) -> dict[str, Any]:
        """What the templates of a run read: kit/run.html, and kit/progress.html where a run stands
        on the page of something else."""
        slug = access.benchmark.slug
        return {
            "access": access,
            "run": run,
            "progress_url": self.url(run),
            **{f"{verb}_url": self._verb_url(slug, run, verb) for verb in self.verbs},
            "can_pause": run.can_pause and access.is_admin,
            "can_resume": run.can_resume and access.is_admin,
        }

    def show(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        """A page on kit/run.html, or what changes on it; polling ends with the run."""
        if not htmx.is_fragment(request):
            return htmx.render(request, template, context)
        response = htmx.render(request, template, context | {"shell": "kit/run_live.html"})
        return htmx.stop_polling(response) if context["run"].is_over else response

    def monitor(
        self,
        request: HttpRequest,
        access: Access,
        run: RunT,
        template: str,
        *,
        table: Table,
        rows: QuerySet[Any],
        choices: Mapping[str, Choices] | None = None,
        failed: tuple[str, ...] = ("failed",),
        **more: Any,
    ) -> HttpResponse:
        """The same with a list of what it works on, `rows`, which have a `state`; a search or
        another page of the list gets its rows alone (the template's part `results`). The states
        `failed` may be tried again."""
        states = states_of(rows)
        context = self.context(access, run) | {
            "states": states,
            "table": table.read(rows, request.GET, choices=choices),
            "has_failed": any(count for _, name, count in states if name in failed),
        }
        if htmx.is_fragment(request, "results"):
            return htmx.render(request, template, context | more, partial="results")
        return self.show(request, template, context | more)

    def index(
        self,
        request: HttpRequest,
        access: Access,
        template: str,
        table: ListPage[Any],
        **more: Any,
    ) -> HttpResponse:
        """Every run of the kind, on kit/runs.html."""
        context = self._around(access) | {"table": table} | more
        return htmx.render(request, template, context, partial="results")

    def begin(
        self,
        request: HttpRequest,
        access: Access,
        template: str,
        form: forms.Form,
        start: Callable[..., RunT],
        **more: Any,
    ) -> HttpResponse:
        """Setting one up on llm/new_run.html; `start` takes what the form holds, or refuses."""
        if (run := htmx.submit(form, start)) is not None:
            return htmx.redirect(request, self.url(run))
        return htmx.render(request, template, self._around(access) | more, form=form)

    def press(
        self,
        request: HttpRequest,
        form: forms.Form,
        start: Callable[..., RunT],
        *,
        said: str,
        back: str,
    ) -> HttpResponse:
        """Setting one up by a small form on another page, `back`, which says what is refused."""
        return htmx.press(request, form, start, said=said, back=back, to=self.url)

    def forecast(
        self, request: HttpRequest, access: Access, found: Mapping[str, Any] | None, **words: str
    ) -> HttpResponse:
        """What one would take, a part of that page: llm/forecast.html has the `words`."""
        context = self._around(access) | {"forecast": found} | words
        return htmx.render(request, "llm/forecast.html", context, partial="part")

    def _around(self, access: Access) -> dict[str, Any]:
        """Where its list, the form of a new one and the forecast of that are."""
        names = {
            "list_url": self.list,
            "new_url": self.new,
            "forecast_url": f"{self.name.removesuffix('-run')}-forecast",
        }
        slug = access.benchmark.slug
        urls = {key: reverse(name, args=[slug]) for key, name in names.items()}
        return urls | {"access": access, "start_url": urls["new_url"] if access.is_admin else ""}

    def act(self, request: HttpRequest, slug: str, pk: int, verb: str) -> HttpResponse:
        """Pause, resume, cancel, or what else a person may do to such a run."""
        access = enter(request.user, slug, Role.ADMIN)
        run = self.get(access, pk)
        if verb not in self.verbs:
            raise Http404("No such action.")
        with htmx.refusal_shown(request):
            self.verbs[verb](run=run, actor=access.user)
            if verb in self.said:
                messages.success(request, self.said[verb])
        return htmx.redirect(request, self.url(run))

    def paths(self, base: str) -> list[URLPattern]:
        """The routes of its verbs; `base` is the address of its page."""
        act = require_POST(self.act)
        if self.is_verb_free:
            return [path(f"{base}/<slug:verb>/", act, name=f"{self.acts}-verb")]
        return [
            path(f"{base}/{verb}/", act, {"verb": verb}, name=f"{self.acts}-{verb}")
            for verb in self.verbs
        ]

    def _verb_url(self, slug: str, run: RunT, verb: str) -> str:
        if self.is_verb_free:
            return reverse(f"{self.acts}-verb", args=[slug, run.pk, verb])
        return reverse(f"{self.acts}-{verb}", args=[slug, run.pk])


class PayingPages(RunPages[PaidT]):
    """The same of runs that pay for calls, whose budget an admin sets."""

    def context(self, access: Access, run: PaidT) -> dict[str, Any]:
        args = [access.benchmark.slug, run.pk]
        is_open = run.status not in (RunStatus.DONE, RunStatus.CANCELLED)
        return super().context(access, run) | {
            "budget_url": reverse(f"{self.acts}-budget", args=args),
            "budget_form": TurnForm(
                initial={"budget_usd": run.budget_usd, "priority": run.priority}
            ),
            "sets_budget": access.is_admin and is_open,
            "pays": True,
        }

    def paths(self, base: str) -> list[URLPattern]:
        budget = path(f"{base}/budget/", require_POST(self.budget), name=f"{self.acts}-budget")
        return [budget, *super().paths(base)]

    def budget(self, request: HttpRequest, slug: str, pk: int) -> HttpResponse:
        """Set what the run may spend, or lift the limit; and its priority, where that is given."""
        access = enter(request.user, slug, Role.ADMIN)
        run = self.get(access, pk)
        form = TurnForm(request.POST)
        with htmx.refusal_shown(request):
            if not form.is_valid():
                raise Refused(" ".join(str(e) for each in form.errors.values() for e in each))
            usd, priority = form.cleaned_data["budget_usd"], form.cleaned_data["priority"]
            with transaction.atomic():
                if usd != run.budget_usd or "priority" not in request.POST:
                    set_budget(run, usd, actor=access.user, scope=access.benchmark.slug)
                if "priority" in request.POST and priority != run.priority:
                    set_priority(run=run, priority=priority, actor=access.user)
            messages.success(request, "The budget is set; a paused run has to be resumed.")
        return htmx.redirect(request, self.url(run))
