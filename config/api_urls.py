"""The API: one schema, one page, and each room's routes."""

from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from kit.schema import KeptSchema

# The schema and its page hold nothing of anybody's; every other route asks who is there.
urlpatterns = [
    path(
        "schema/",
        login_not_required(SpectacularAPIView.as_view(generator_class=KeptSchema)),
        name="api-schema",
    ),
    path(
        "docs/",
        login_not_required(SpectacularSwaggerSplitView.as_view(url_name="api-schema")),
        name="api-docs",
    ),
    path("", include("corpus.api")),
    path("", include("annotate.api")),
    path("", include("annotate.api_aspects")),
    path("", include("annotate.api_audit")),
    path("", include("annotate.api_collecting")),
    path("", include("annotate.api_guidelines")),
    path("", include("annotate.api_work")),
    path("", include("annotate.api_drafts")),
    path("", include("annotate.api_beside")),
    path("", include("annotate.api_voting")),
    path("", include("annotate.api_batches")),
    path("", include("annotate.api_panels")),
    path("", include("annotate.api_reviews")),
    path("", include("annotate.api_rescoring")),
    path("", include("annotate.api_adjudication")),
    path("", include("annotate.api_feedback")),
    path("", include("annotate.api_qualification")),
    path("", include("annotate.api_answers")),
    path("", include("annotate.api_comparisons")),
    path("", include("annotate.api_carried")),
    path("", include("debate.api_trials")),
    path("", include("debate.api")),
    path("", include("debate.api_adoption")),
    path("", include("debate.api_hints")),
    path("", include("debate.api_runs")),
    path("", include("debate.api_answers")),
    path("", include("debate.api_calls")),
    path("", include("evaluation.api")),
    path("", include("evaluation.api_experiments")),
    path("", include("evaluation.api_agreement")),
    path("", include("evaluation.api_before_after")),
    path("", include("evaluation.api_leaderboard")),
]
