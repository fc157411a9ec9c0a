"""Addresses of adjudication."""

from django.urls import path

from annotate.adjudication import views

_ADJUDICATION = "b/<slug:slug>/adjudication"

urlpatterns = [
    path(f"{_ADJUDICATION}/", views.adjudication, name="adjudication"),
    path(f"{_ADJUDICATION}/next/", views.adjudication_next, name="adjudication-next"),
    path(f"{_ADJUDICATION}/undo/", views.adjudication_undo, name="adjudication-undo"),
    path(f"{_ADJUDICATION}/<slug:name>/", views.adjudicate, name="adjudicate"),
]
