"""Routes of the digest's screen."""

from django.urls import path

from annotate.digest import views

urlpatterns = [path("account/digest/", views.digest, name="digest")]
