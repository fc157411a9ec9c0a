"""Every route: the rooms' screens, signing in, and the API."""

from django.conf import settings
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.generic import RedirectView

from corpus.benchmarks.views import home
from kit import views
from kit.account import factor_views as factor
from kit.account import people_views as people
from kit.account import views as account
from kit.account.links import LINK_ROUTE
from kit.glossary import glossary
from kit.health import views as health

urlpatterns = [
    path("", home, name="home"),
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("sign-in/new-link/", views.sign_in_ask, name="sign-in-ask"),
    path("sign-in/code/", views.sign_in_code, name="sign-in-code"),
    path(LINK_ROUTE, views.sign_in_link, name="sign-in-link"),
    path("sign-in-requests/", views.sign_in_requests, name="sign-in-requests"),
    path("sign-in-requests/<int:pk>/link/", views.sign_in_hand, name="sign-in-hand"),
    path("sign-in-requests/<int:pk>/lift/", views.sign_in_lift, name="sign-in-lift"),
    path("people/", people.people, name="site-people"),
    path("people/<int:pk>/", people.person, name="site-person"),
    path("people/<int:pk>/<slug:verb>/", people.person_verb, name="site-person-verb"),
    path("account/", account.account, name="account"),
    path("account/password/", views.choose_password_page, name="choose-password"),
    path("account/second-factor/", factor.second_factor, name="second-factor"),
    path("account/second-factor/change/", factor.second_factor_change, name="second-factor-change"),
    path("account/token/", account.account_token, name="account-token"),
    path(
        "account/token/<int:pk>/revoke/", account.account_token_revoke, name="account-token-revoke"
    ),
    path("account/decisions/<int:pk>/", account.account_decisions, name="account-decisions"),
    path("account/session/end/", account.account_session_end, name="account-session-end"),
    path("account/address/", account.account_address_ask, name="account-address-ask"),
    path("account/address/<str:said>/", account.account_address, name="account-address"),
    path("glossary/", glossary, name="glossary"),
    path("health/", health.health, name="health"),
    path("-/live", health.live, name="live"),
    path("-/ready", health.ready, name="ready"),
    path("-/metrics", health.figures, name="metrics"),
    path("csp-report/", health.csp_report, name="csp-report"),
    path(".well-known/security.txt", health.security_txt, name="security-txt"),
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
if settings.OIDC_ISSUER:
    urlpatterns.append(path("sign-in/provider/", include("kit.account.provider_urls")))
handler404 = "kit.views.not_found"
handler500 = "kit.views.server_error"
