"""The anchor: a bare Django page (one template, default middleware, no database)."""

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

settings.configure(
    SECRET_KEY="bench-only",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()
_PAGE = engines["django"].from_string(
    "<!doctype html><title>Bare</title><table>{% for row in rows %}"
    "<tr><td>{{ row.0 }}</td><td>{{ row.1 }}</td></tr>{% endfor %}</table>"
)


def page(request: HttpRequest) -> HttpResponse:
    """Ten rows."""
    rows = [(number, f"row {number}") for number in range(10)]
    return HttpResponse(_PAGE.render({"rows": rows}, request))


urlpatterns = [path("", page)]
application = get_wsgi_application()
