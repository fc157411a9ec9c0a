"""The route of the palette."""

from django.urls import path

from evaluation.finding import views

urlpatterns = [path("b/<slug:slug>/find/", views.find, name="find")]
