"""The part of the account page on which a digest is chosen."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.digest.services import CHOICES, choose_digest, chosen
from kit import htmx

_WORDS = {"never": "Never", "daily": "Every day", "weekly": "Every week"}


class DigestForm(forms.Form):
    """How often."""

    every = forms.ChoiceField(
        label="Mail me what waits for me", choices=[(name, _WORDS[name]) for name in CHOICES]
    )


@require_http_methods(["GET", "POST"])
def digest(request: HttpRequest) -> HttpResponse:
    """The choice as it is; and choosing."""
    assert isinstance(request.user, User)
    form = DigestForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        site = request.build_absolute_uri("/").rstrip("/")
        every = form.cleaned_data["every"]
        with htmx.refusal_shown(request):
            choose_digest(user=request.user, every=every, site=site)
            messages.success(request, "Saved. Nothing is mailed while nothing waits for you.")
        return htmx.redirect(request, reverse("account"))
    if not form.is_bound:
        form = DigestForm(initial={"every": chosen(request.user)})
    context = {"form": form, "can_choose": bool(settings.EMAIL_URL and request.user.email)}
    return htmx.render(request, "annotate/digest/digest.html", context, form=form)
