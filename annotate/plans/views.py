"""Voting for admins: the plan, rejected batches, the reports; and consent for voters."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef
from django.forms import BoundField
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotate.guidelines.rendering import rendered
from annotate.models import (
    CONDITIONS,
    AttentionCheck,
    Batch,
    BatchStatus,
    Condition,
    Vote,
    VotingPlan,
)
from annotate.plans.report import NAMES, SHOWS, conditions_sheet, pay_sheet, votes_behind
from annotate.plans.services import (
    CHECKS,
    FIELDS,
    checks_of,
    choose_checks,
    give_consent,
    needs_consent,
    save_plan,
)
from annotate.voting.items import LABEL_WORDS
from annotate.voting.services import finish_abandoned
from corpus.access import Access, enter
from corpus.models import Benchmark, Membership, Role
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import table_response
from kit.lists.report_tables import ReportTable
from kit.numbers import number


class ChecksForm(forms.Form):
    """Which checks gate people's labels."""

    exam = forms.BooleanField(label=CHECKS["exam"], required=False)
    batches = forms.BooleanField(label=CHECKS["batches"], required=False)
    consent = forms.BooleanField(label=CHECKS["consent"], required=False)
    audit = forms.BooleanField(label=CHECKS["audit"], required=False)


class PlanForm(forms.ModelForm):
    """A new version of the voting plan, which replaces version `expected`."""

    expected = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    class Meta:
        model = VotingPlan
        fields = FIELDS
        labels: ClassVar = {
            "batch_size": "Items in a batch",
            "reveal": "The agents’ positions are shown",
            "needs_span": "“Relevant” needs the words of the passage that support it",
            "lease_minutes": "Minutes a vote is reserved for one person",
            "seconds_per_item": "Seconds an item is expected to take",
            "hourly_pay": "Pay per hour",
            "audit": "Agreed pairs of a new debate run that people judge blind",
            "audit_bar": "Maximum share of wrong labels in a final release",
            "consent_text": "What people agree to before they begin",
        }
        help_texts: ClassVar = {
            "batch_size": "0: no batches, every vote counts when it is given. In batches, 10 % of "
            "the items, at least one, are attention checks.",
            "hourly_pay": "Empty: nobody is paid.",
            "currency": "Three letters.",
            "audit_bar": "A share such as .05, compared with the exact upper bound (95 %) of the "
            "share that blind audits find. Empty: no limit.",
            "consent_text": "Markdown. Empty: nothing is asked. A changed text or pay asks again.",
        }
        widgets: ClassVar = {
            "consent_text": forms.Textarea(attrs={"rows": 8, "data-draft": "consent_text"})
        }

    def first(self) -> list[BoundField]:
        """What most plans set."""
        return [self[name] for name in ("expected", "batch_size", "reveal", "needs_span")]

    def advanced(self) -> list[BoundField]:
        """The rest."""
        shown = {field.name for field in self.first()}
        return [field for field in self if field.name not in shown]

    def in_force(self) -> str:
        """The advanced settings in a line, as they are chosen now."""
        chosen = {field.name: field.value() for field in self.advanced()}
        pay, currency = chosen["hourly_pay"], chosen["currency"]
        return ", ".join(
            [
                f"a place is kept {chosen['lease_minutes']} minutes",
                f"{chosen['seconds_per_item']} seconds an item",
                f"{pay} {currency} an hour" if pay else "nobody is paid",
                "consent is asked for" if chosen["consent_text"] else "no consent is asked for",
            ]
        )

    def advanced_is_wrong(self) -> bool:
        """Whether one of the advanced settings was refused."""
        return self.is_bound and any(field.errors for field in self.advanced())


TEMPLATE = "annotate/plans/voting.html"
LATEST = 50
MAX_VOTERS = 200


@require_http_methods(["GET", "POST"])
def voting(request: HttpRequest, slug: str) -> HttpResponse:
    """The plan, rejected batches, voters and reports; a POST writes a new version of the plan."""
    access = enter(request.user, slug, Role.ADMIN)
    form = PlanForm(request.POST) if request.method == "POST" else None
    if form is None:
        finish_abandoned(VotingPlan.objects.current(access.benchmark))
        return htmx.render(request, TEMPLATE, _context(access))
    if new := htmx.submit(form, save_plan, benchmark=access.benchmark, actor=access.user):
        messages.success(request, f"Version {new.version} of the plan is active.")
        return htmx.redirect(request, reverse("voting", args=[slug]))
    return htmx.invalid(request, TEMPLATE, _context(access) | {"form": form})


@require_http_methods(["GET", "POST"])
def label_checks(request: HttpRequest, slug: str) -> HttpResponse:
    """Which checks gate people's labels: all of them are advised where nobody has chosen."""
    access = enter(request.user, slug, Role.ADMIN)
    is_posted, current = request.method == "POST", checks_of(access.benchmark)
    form = ChecksForm(
        request.POST if is_posted else None, initial=current or dict.fromkeys(CHECKS, True)
    )
    who = {"benchmark": access.benchmark, "actor": access.user}
    if htmx.submit(form, choose_checks, **who):
        messages.success(request, "The checks are set; every release says which were on.")
        return htmx.redirect(request, reverse("benchmark", args=[slug]))
    context = {"access": access, "is_new": not current}
    return htmx.render(request, "annotate/plans/checks.html", context, form=form)


@require_http_methods(["GET", "POST"])
def consent(request: HttpRequest, slug: str) -> HttpResponse:
    """The terms of voting, with time and pay; a POST consents to the version that was read."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    plan = VotingPlan.objects.current(access.benchmark)
    if request.method == "POST":
        version = number(request.POST.get("version", ""))
        try:
            give_consent(plan=plan, access=access, version=-1 if version is None else version)
            return htmx.redirect(request, reverse("vote", args=[slug]))
        except Refused as refusal:
            messages.warning(request, refusal.message)
    items = plan.batch_size or 10
    context = {
        "access": access,
        "plan": plan,
        "body": rendered(plan.consent_text),
        "is_asked": needs_consent(plan, access),
        "items": items,
        "minutes": plan.minutes(items),
        "pay": plan.pay(items),
    }
    return htmx.render(request, "annotate/plans/consent.html", context)


@require_GET
def arms_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The table of arms as a file."""
    access = enter(request.user, slug, Role.ADMIN)
    return _as_file(slug, conditions_sheet(access.benchmark))


@require_GET
def arms_items(request: HttpRequest, slug: str) -> HttpResponse:
    """The votes behind a number of the table of conditions; 404 for what it does not count."""
    access = enter(request.user, slug, Role.ADMIN)
    arm, show = wanted_votes(request.GET)
    votes, kept_back = votes_behind(access, arm, show)
    page = Paginator(votes, LATEST).get_page(request.GET.get("page", "1"))
    context = {
        "access": access,
        "words": f"{NAMES[Condition(arm)]}: {SHOWS[show][0].lower()}",
        "kept_back": kept_back,
        "total": len(votes),
        "rows": [
            (vote, *map(LABEL_WORDS.get, (vote.first_label, vote.label, vote.truth)))
            for vote in page
        ],
        "page": page,
        "query": f"arm={arm}&show={show}",
    }
    return htmx.render(request, "annotate/plans/arms_items.html", context)


def wanted_votes(params: Mapping[str, str]) -> tuple[str, str]:
    """Condition and kind of votes that a link asks for; 404 for unknown ones."""
    arm, show = params.get("arm", ""), params.get("show", "all")
    if arm not in CONDITIONS or show not in SHOWS:
        raise Http404("The table counts no such votes.")
    return arm, show


@require_GET
def pay_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The table of time and pay as a file."""
    access = enter(request.user, slug, Role.ADMIN)
    plan = VotingPlan.objects.current(access.benchmark)
    return _as_file(slug, pay_sheet(access.benchmark, plan))


def _as_file(slug: str, sheet: ReportTable) -> HttpResponseBase:
    return table_response(f"{slug}-{sheet.name}.csv", sheet)


def _voters(benchmark: Benchmark) -> Any:
    """(key, name, standing votes) of everybody who votes here, by name; members only.

    Labels that experts give for a panel are no votes.
    """
    members = Membership.objects.filter(benchmark=benchmark, user=OuterRef("voter"))
    votes = Vote.objects.of_voters(benchmark).filter(Exists(members))
    counted = votes.order_by("voter__username").values_list("voter", "voter__username")
    return counted.annotate(n=Count("pk"))[:MAX_VOTERS]


def _context(access: Access) -> dict[str, Any]:
    plan = VotingPlan.objects.current(access.benchmark)
    slug = access.benchmark.slug
    arms = conditions_sheet(access.benchmark, reverse("voting-arms-items", args=[slug]))
    pay = pay_sheet(access.benchmark, plan)
    ended = Batch.objects.filter(plan__benchmark=access.benchmark)
    counts = dict(ended.order_by().values_list("status").annotate(n=Count("pk")))
    rejected = ended.filter(status=BatchStatus.REJECTED).select_related("voter")
    return {
        "access": access,
        "plan": plan,
        "form": PlanForm(instance=plan, initial={"expected": plan.version}),
        "counts": [(label, counts.get(value, 0)) for value, label in BatchStatus.choices],
        "rejected": rejected.order_by("-ended_at")[:LATEST],
        "voters": _voters(access.benchmark),
        "checks": AttentionCheck.objects.usable(access.benchmark).count(),
        "sheets": [
            (arms, reverse("voting-arms", args=[slug])),
            (pay, reverse("voting-pay", args=[slug])),
        ],
    }
