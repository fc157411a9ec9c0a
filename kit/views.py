"""Signing in, and the home page whose parts the rooms serve."""

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from rest_framework.authtoken.models import Token

from kit import htmx
from kit.signin import choose_password, find_link, use_link


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """My work: fragments that each room serves, named by URL in the template."""
    return htmx.render(request, "home.html")


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Sign a person in once.

    Looking at the link does not use it up (mail programs look at links); the button does.
    """
    if request.method == "POST":
        user = use_link(token)
        if user is not None:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            messages.success(request, f"You are signed in as {user.get_username()}.")
            return redirect("home")
    link = find_link(token)
    status = 200 if link else 404
    return htmx.render(request, "kit/sign_in_link.html", {"link": link}, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Choose or change the password, so that one can come back without a link; see the token."""
    assert isinstance(request.user, User)
    kind = PasswordChangeForm if request.user.has_usable_password() else SetPasswordForm
    form = kind(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        choose_password(user=request.user, password=form.cleaned_data["new_password1"])
        update_session_auth_hash(request, request.user)
        messages.success(request, "Your password is set. Use it to sign in from now on.")
        return htmx.redirect(request, reverse("account"))
    context = {"form": form, "token": Token.objects.filter(user=request.user).first()}
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "kit/account.html", context)


@require_POST
def account_token(request: HttpRequest) -> HttpResponse:
    """Make a new API token; the old one stops working."""
    assert isinstance(request.user, User)
    Token.objects.filter(user=request.user).delete()
    Token.objects.create(user=request.user)
    messages.success(request, "Here is your new token. The old one no longer works.")
    return htmx.redirect(request, reverse("account"))
