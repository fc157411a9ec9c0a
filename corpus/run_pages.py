"""The screens that every kind of long run has: its page, a person's verbs on it, its budget."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Refused
from kit.runs.models import RunStatus, TrackedRun
from llm.ledger.accounts import PayingRun, budget_field, set_budget

RunT = TypeVar("RunT", bound=TrackedRun)
PaidT = TypeVar("PaidT", bound=PayingRun)


class BudgetForm(forms.Form):
    """What a run may spend."""

    budget_usd = budget_field(
        "From the next call on; empty lifts the limit. What is spent already counts."
    )


class RunPages(Generic[RunT]):
    """A kind of run as screens and API share it; each kind adds its plan and its result.

    `name` is the route of its page, and begins those of its verbs unless `acts` does; with
    `is_verb_free` they are one route with any word. `get` fetches a run of the benchmark, or
    answers 404; `verbs` are called with `run` and `actor`, `said` has the messages of
    those that succeeded.
    Members with one of the roles `readers` may look (empty: `get` decides); admins alone act.
    """

    def __init__(
        self,
        name: str,
        *,
        get: Callable[[Access, int], RunT],
        verbs: Mapping[str, Callable[..., object]],
        said: Mapping[str, str] | None = None,
        readers: tuple[str, ...] = (Role.ADMIN,),
        acts: str = "",
        is_verb_free: bool = False,
        url: Callable[[RunT], str] | None = None,
    ) -> None:
        self.name, self.get, self.verbs = name, get, verbs
        self.said, self.readers = said or {}, readers
        self.acts, self.is_verb_free, self.url = acts or name, is_verb_free, url or self._url

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

    def _url(self, run: RunT) -> str:
        return reverse(self.name, args=[run.scope, run.pk])


class PayingPages(RunPages[PaidT]):
    """The same of runs that pay for calls, whose budget an admin sets."""

    def context(self, access: Access, run: PaidT) -> dict[str, Any]:
        args = [access.benchmark.slug, run.pk]
        is_open = run.status not in (RunStatus.DONE, RunStatus.CANCELLED)
        return super().context(access, run) | {
            "budget_url": reverse(f"{self.acts}-budget", args=args),
            "budget_form": BudgetForm(initial={"budget_usd": run.budget_usd}),
            "sets_budget": access.is_admin and is_open,
            "pays": True,
        }

    def paths(self, base: str) -> list[URLPattern]:
        budget = path(f"{base}/budget/", require_POST(self.budget), name=f"{self.acts}-budget")
        return [budget, *super().paths(base)]

    def budget(self, request: HttpRequest, slug: str, pk: int) -> HttpResponse:
        """Set what the run may spend, or lift the limit."""
        access = enter(request.user, slug, Role.ADMIN)
        run = self.get(access, pk)
        form = BudgetForm(request.POST)
        with htmx.refusal_shown(request):
            if not form.is_valid():
                raise Refused(" ".join(map(str, form.errors["budget_usd"])))
            usd = form.cleaned_data["budget_usd"]
            set_budget(run, usd, actor=access.user, scope=access.benchmark.slug)
            messages.success(request, "The budget is set; a paused run has to be resumed.")
        return htmx.redirect(request, self.url(run))
