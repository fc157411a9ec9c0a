"""Forms of signing in and of the account."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest

from kit.account.factor import accept_code
from kit.account.limits import CODES, PASSWORDS, TooMany
from kit.models import Scope

_DAYS = {30: "30 days", 90: "90 days", 365: "A year"}


class SignInForm(AuthenticationForm):
    """User name and password; `too_many` is set where a limit refused to look at them."""

    too_many: TooMany | None = None

    def clean(self) -> dict[str, Any]:
        """Count the try before the password is looked at."""
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if name is None or not password:
            return self.cleaned_data
        assert self.request is not None
        try:
            PASSWORDS.take(self.request, name)
        except TooMany as error:
            self.too_many = error
            raise forms.ValidationError(too_many_words(error)) from None
        super().clean()
        PASSWORDS.give_back(self.request, name)
        return self.cleaned_data


class PasswordForm(SetPasswordForm):
    """A new password; whoever has a password and API tokens says whether the tokens stay."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        tokens = user.api_tokens.count() if user.has_usable_password() else 0
        if tokens:
            label = f"Keep my API tokens ({tokens})"
            words = "Else they end. Leave it so where somebody may know the old password."
            self.fields["keep_tokens"] = forms.BooleanField(
                label=label, help_text=words, required=False
            )


class NewPasswordForm(PasswordForm, PasswordChangeForm):
    """The old password and a new one."""

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(user, data)
        self.request = request
        # It is one of several forms on its page.
        self.fields["old_password"].widget.attrs.pop("autofocus")

    def clean_old_password(self) -> str:
        """Guesses of the old password are counted like others."""
        return _own_password(self.request, self.user, self.cleaned_data["old_password"])


def _code_field() -> forms.CharField:
    attrs = {"autocomplete": "one-time-code", "spellcheck": "false", "autofocus": True}
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(label="Code", max_length=40, widget=widget)


class NewFactorForm(forms.Form):
    """The first code of an app that has the secret."""

    code = _code_field()


class CodeForm(forms.Form):
    """A code of the person; `too_many` is set where a limit refused to look at it."""

    too_many: TooMany | None = None
    code = _code_field()

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.request, self.user = request, user

    def clean_code(self) -> str:
        """Count the try before the code is looked at."""
        name, code = self.user.get_username(), str(self.cleaned_data["code"])
        try:
            CODES.take(self.request, name)
        except TooMany as error:
            self.too_many = error
            raise forms.ValidationError(too_many_words(error)) from None
        if not accept_code(user=self.user, code=code):
            raise forms.ValidationError("This is no code of yours, or it was used already.")
        CODES.give_back(self.request, name)
        return code


class AskForm(forms.Form):
    """Who cannot sign in."""

    name = forms.CharField(label="User name or mail address", max_length=254)


class TokenForm(forms.Form):
    """A new API token."""

    prefix = "token"
    name = forms.CharField(label="Name", max_length=80, help_text="What it is for.")
    scope = forms.ChoiceField(label="May", choices=Scope.choices, initial=Scope.READ)
    days = forms.TypedChoiceField(
        label="Expires after", choices=list(_DAYS.items()), coerce=int, initial=90
    )


class OwnForm(forms.Form):
    """What only the person may do; who has a password proves it."""

    def __init__(self, request: HttpRequest, user: User, data: Any = None, **more: Any) -> None:
        super().__init__(data, **more)
        self.request, self.user = request, user
        if user.has_usable_password():
            widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})
            self.fields["password"] = forms.CharField(
                label="Your password", strip=False, widget=widget
            )

    def clean_password(self) -> str:
        """Asked only of who has one."""
        return _own_password(self.request, self.user, self.cleaned_data["password"])


class AddressForm(OwnForm):
    """Where to send a link when the password is forgotten."""

    prefix = "mail"
    address = forms.EmailField(label="Mail address", max_length=254)

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(request, user, data, initial={"address": user.email})


def own_factor_form(request: HttpRequest, user: User, data: Any = None) -> forms.Form:
    """What a change of the second factor asks for: the password, or a code of who has none."""
    return (OwnForm if user.has_usable_password() else CodeForm)(request, user, data)


def _own_password(request: HttpRequest, user: User, password: str) -> str:
    """The password if it is the person's; raises ValidationError, also for too many tries."""
    name = user.get_username()
    try:
        PASSWORDS.take(request, name)
    except TooMany as error:
        raise forms.ValidationError(too_many_words(error)) from None
    if not user.check_password(password):
        raise forms.ValidationError("This is not your password.")
    PASSWORDS.give_back(request, name)
    return password


def too_many_words(error: TooMany) -> str:
    """When to try again, and what to do until then."""
    minutes = -(-error.seconds // 60)
    wait = "a minute" if minutes == 1 else f"{minutes} minutes"
    return (
        f"Too many tries for this name or from this address. Try again in {wait}, "
        f"at {error.until:%H:%M} UTC, or ask an admin."
    )
