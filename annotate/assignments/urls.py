"""Routes of assignments, the queue and progress."""

from django.urls import path

from annotate.assignments import views

_QUERY = "b/<slug:slug>/queries/<int:pk>"

urlpatterns = [
    path("b/<slug:slug>/queue/", views.queue, name="queue"),
    path("b/<slug:slug>/queue/next/", views.claim_next, name="queue-next"),
    path(f"{_QUERY}/claim/", views.query_claim, name="query-claim"),
    path(f"{_QUERY}/release/", views.query_release, name="query-release"),
    path(f"{_QUERY}/submit/", views.query_submit, name="query-submit"),
    path(f"{_QUERY}/take-back/", views.query_take_back, name="query-take-back"),
    path(f"{_QUERY}/time/", views.query_time, name="query-time"),
    path("b/<slug:slug>/assignments/", views.assignments, name="assignments"),
    path("b/<slug:slug>/assignments/<int:pk>/", views.assignment, name="assignment"),
    path(
        "b/<slug:slug>/assignments/<int:pk>/take-away/",
        views.assignment_take_away,
        name="assignment-take-away",
    ),
    path("b/<slug:slug>/progress/", views.progress, name="progress"),
]
