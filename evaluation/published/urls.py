"""Routes of published tables and known systems."""

from django.urls import path

from evaluation.published import views

_BOARD = "b/<slug:slug>/leaderboard"
urlpatterns = [
    path(f"{_BOARD}/systems/", views.known_systems, name="known-systems"),
    path(f"{_BOARD}/published/", views.published_tables, name="published-tables"),
    path(f"{_BOARD}/published/<slug:name>/", views.published_table, name="published-table"),
]
