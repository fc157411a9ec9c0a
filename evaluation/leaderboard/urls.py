"""Routes of the leaderboard."""

from django.urls import path

from evaluation.leaderboard import before_after_views as before_after
from evaluation.leaderboard import noise_views as noise
from evaluation.leaderboard import views

_BOARD = "b/<slug:slug>/leaderboard"
urlpatterns = [
    path(f"{_BOARD}/", views.leaderboard, name="leaderboard"),
    path(f"{_BOARD}/runs.csv", views.leaderboard_csv, name="leaderboard-csv"),
    path(f"{_BOARD}/refresh/", views.leaderboard_refresh, name="leaderboard-refresh"),
    path(f"{_BOARD}/progress/", views.leaderboard_progress, name="leaderboard-progress"),
    path(f"{_BOARD}/compare/", views.leaderboard_compare, name="leaderboard-compare"),
    path(
        f"{_BOARD}/compare/queries.csv",
        views.leaderboard_compare_csv,
        name="leaderboard-compare-csv",
    ),
    path(f"{_BOARD}/versions/", before_after.versions_compared, name="leaderboard-versions"),
    path(
        f"{_BOARD}/versions/compared.csv",
        before_after.versions_compared_csv,
        name="leaderboard-versions-csv",
    ),
    path(
        f"{_BOARD}/versions/matched/",
        before_after.versions_matched,
        name="leaderboard-versions-matched",
    ),
    path(
        f"{_BOARD}/versions/<int:query_pk>/",
        before_after.versions_query,
        name="leaderboard-versions-query",
    ),
    path(f"{_BOARD}/runs/<int:pk>/", views.leaderboard_run, name="leaderboard-run"),
    path(
        f"{_BOARD}/runs/<int:pk>/<int:query_pk>/", views.leaderboard_query, name="leaderboard-query"
    ),
    path(f"{_BOARD}/noise/", noise.noise_checks, name="noise-checks"),
    path(f"{_BOARD}/noise/<int:pk>/", noise.noise_check, name="noise-check"),
]
