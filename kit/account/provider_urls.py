"""The way to the identity provider and back; only where one is set up."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from kit.account.provider import Begin, Callback

urlpatterns = [
    path("", login_not_required(Begin.as_view()), name="provider"),
    path("back/", login_not_required(Callback.as_view()), name="provider-callback"),
]
