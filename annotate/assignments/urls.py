"""Routes of assignments, the queue and progress."""

from django.urls import path

from annotate.assignments import services, views

_QUERY = "b/<slug:slug>/queries/<int:pk>"
# A verb of the holder, and how the query is called then.
_CLAIM = {"verb": services.claim_query, "done": "yours"}
_RELEASE = {"verb": services.unassign_query, "done": "free again; what you wrote stays"}
_TAKE_BACK = {"verb": services.take_back, "done": "yours to write in again"}

urlpatterns = [
    path("b/<slug:slug>/queue/", views.queue, name="queue"),
    path("b/<slug:slug>/queue/next/", views.claim_next, name="queue-next"),
    path(f"{_QUERY}/claim/", views.query_move, _CLAIM, name="query-claim"),
    path(f"{_QUERY}/release/", views.query_move, _RELEASE, name="query-release"),
    path(f"{_QUERY}/submit/", views.query_submit, name="query-submit"),
    path(f"{_QUERY}/take-back/", views.query_move, _TAKE_BACK, name="query-take-back"),
    path(f"{_QUERY}/time/", views.query_time, name="query-time"),
    path("b/<slug:slug>/assignments/", views.assignments, name="assignments"),
    path("b/<slug:slug>/assignments/<int:pk>/", views.assignment, name="assignment"),
    path(
        "b/<slug:slug>/assignments/<int:pk>/take-away/",
        views.assignment_take_away,
        name="assignment-take-away",
    ),
    path("b/<slug:slug>/progress/", views.progress, name="progress"),
    path("b/<slug:slug>/progress/<str:what>.csv", views.progress_csv, name="progress-csv"),
]
