"""All routes, as they are where an identity provider is set up."""

from django.urls import include, path

from config.urls import handler500 as handler500
from config.urls import urlpatterns as usual

urlpatterns = [path("sign-in/provider/", include("kit.account.provider_urls")), *usual]
