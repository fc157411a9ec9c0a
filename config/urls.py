"""Every route: the rooms' screens, signing in, and the API."""

from django.conf import settings
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.generic import RedirectView

from kit import views
from kit.signin import LINK_ROUTE

urlpatterns = [
    path("", views.home, name="home"),
    path(
        "sign-in/",
        auth.LoginView.as_view(template_name="kit/sign_in.html", redirect_authenticated_user=True),
        name="sign-in",
    ),
    path(LINK_ROUTE, views.sign_in_link, name="sign-in-link"),
    path("account/", views.account, name="account"),
    path("account/token/", views.account_token, name="account-token"),
    path("sign-out/", auth.LogoutView.as_view(), name="sign-out"),
    # Routes are tried in turn: what people ask for most stands before the rest.
    path("api/", include("config.api_urls")),
    path("", include("annotate.urls")),
    path("", include("corpus.urls")),
    path("", include("debate.urls")),
    path("", include("evaluation.urls")),
    path(
        "favicon.ico",
        login_not_required(RedirectView.as_view(url=f"{settings.STATIC_URL}favicon.svg")),
    ),
]
