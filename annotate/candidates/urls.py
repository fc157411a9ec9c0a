"""Addresses of candidates for gold of aspects."""

from django.urls import path

from annotate.candidates import views

urlpatterns = [
    path("b/<slug:slug>/candidates/", views.candidates, name="candidates"),
    path("b/<slug:slug>/candidates/<int:pk>/", views.candidate, name="candidate"),
]
