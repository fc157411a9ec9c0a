"""Routes of the evaluation room's screens: those of its nouns."""

from django.urls import include, path

NOUNS = (
    "checklist",
    "finding",
    "agreement",
    "leaderboard",
    "published",
    "holes",
    "experiments",
    "releases",
)
urlpatterns = [path("", include(f"evaluation.{noun}.urls")) for noun in NOUNS]
