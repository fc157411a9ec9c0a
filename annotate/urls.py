"""Routes of the annotate room's screens: those of each noun, and its part of the home page."""

from django.urls import include, path

from annotate import home

urlpatterns = [
    # Routes are tried in turn: what people ask for most stands before the rest.
    path("", include("annotate.voting.urls")),
    path("", include("annotate.workspace.urls")),
    path("home/annotate/", home.annotate_home, name="annotate-home"),
    path("", include("annotate.adjudication.urls")),
    path("", include("annotate.answers.urls")),
    path("", include("annotate.assignments.urls")),
    path("", include("annotate.candidates.urls")),
    path("", include("annotate.batches.urls")),
    path("", include("annotate.digest.urls")),
    path("", include("annotate.drafts.urls")),
    path("", include("annotate.exams.urls")),
    path("", include("annotate.feedback.urls")),
    path("", include("annotate.grading.urls")),
    path("", include("annotate.guidelines.urls")),
    path("", include("annotate.panels.urls")),
    path("", include("annotate.plans.urls")),
    path("", include("annotate.review.urls")),
]
