"""Screens of webhooks: which there are, what each was told, and what it answered."""

from django import forms
from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import enter, finder
from corpus.models import Delivery, Role, Webhook
from corpus.webhooks import services as verbs
from kit import htmx
from kit.lists.tables import Column, Filter, Table


class WebhookForm(forms.Form):
    """A new webhook."""

    url = forms.CharField(label="Address", max_length=2000, help_text="https://…")
    kinds = forms.MultipleChoiceField(
        label="Events",
        choices=[(name, label) for name, (label, _) in verbs.KINDS.items()],
        widget=forms.CheckboxSelectMultiple,
    )


DELIVERIES = Table(
    filters=(Filter("state", "State", Delivery.State.choices),),
    columns=(
        Column("event", "Event"),
        Column("state", "State"),
        Column("tries", "Tries"),
        Column("tried", "Last try"),
        Column("answer", "Answer"),
        Column("again", "Again"),
    ),
    order=("-pk",),
)


@never_cache
@require_http_methods(["GET", "POST"])
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """The list, and adding one. Its secret is on this one page only."""
    access = enter(request.user, slug, Role.ADMIN)
    is_posted = request.method == "POST"
    form = WebhookForm(request.POST if is_posted else None)
    made = htmx.submit(form, verbs.add_webhook, benchmark=access.benchmark, actor=access.user)
    waiting = Count("deliveries", filter=Q(deliveries__state=Delivery.State.WAITING))
    failed = Count("deliveries", filter=Q(deliveries__state=Delivery.State.FAILED))
    context = {
        "access": access,
        "form": WebhookForm() if made else form,
        "made": made,
        "kinds": {name: label for name, (label, _) in verbs.KINDS.items()},
        "webhooks": access.benchmark.webhooks.annotate(waiting=waiting, failed=failed),
    }
    show = htmx.invalid if is_posted and not made else htmx.render
    return show(request, "corpus/webhooks/webhooks.html", context)


@require_GET
def webhook(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What one was told, the latest first."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_webhook(access, pk)
    rows = found.deliveries.select_related("event")
    table = DELIVERIES.read(rows, request.GET)
    context = {"access": access, "webhook": found, "table": table}
    return htmx.render(request, "corpus/webhooks/webhook.html", context, partial="results")


@require_POST
def webhook_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Tell it nothing more."""
    access = enter(request.user, slug, Role.ADMIN)
    verbs.remove_webhook(webhook=get_webhook(access, pk), actor=access.user)
    messages.success(request, "The webhook is gone.")
    return htmx.redirect(request, reverse("webhooks", args=[slug]))


@require_POST
def delivery_again(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Send one again."""
    access = enter(request.user, slug, Role.ADMIN)
    delivery = get_delivery(access, pk)
    verbs.send_again(delivery=delivery, actor=access.user)
    messages.success(request, "It is sent again within a minute.")
    return htmx.redirect(request, reverse("webhook", args=[slug, delivery.webhook_id]))


get_webhook = finder(Webhook)


get_delivery = finder(Delivery, "event", at="webhook__benchmark")
