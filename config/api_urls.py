"""The API: one schema, one page, and each room's routes."""

from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from config.api_page import ApiPage
from kit.schema import KeptSchema

# The schema and its page hold nothing of anybody's; every other route asks who is there.
urlpatterns = [
    path("", include("annotate.voting.api")),  # first: routes are tried in turn
    path(
        "schema/",
        login_not_required(SpectacularAPIView.as_view(generator_class=KeptSchema)),
        name="api-schema",
    ),
    path("docs/", login_not_required(ApiPage.as_view()), name="api-docs"),
    path("", include("kit.account.api")),
    path("", include("corpus.benchmarks.api")),
    path("", include("corpus.imports.api")),
    path("", include("corpus.cleaning.api")),
    path("", include("corpus.computing.api")),
    path("", include("evaluation.pipelines.api")),  # before any verb of a reranking
    path("", include("corpus.reranking.api")),
    path("", include("corpus.wordings.api")),
    path("", include("corpus.endpoints.api")),
    path("", include("corpus.quotas.api")),
    path("", include("corpus.webhooks.api")),
    path("", include("corpus.pools.api")),
    path("", include("corpus.texts.api")),
    path("", include("corpus.judgments.api")),
    path("", include("corpus.runs.api")),
    path("", include("corpus.versions.api")),
    path("", include("annotate.workspace.api.gold")),
    path("", include("annotate.workspace.api.aspects")),
    path("", include("annotate.workspace.api.collecting")),
    path("", include("annotate.grading.api")),
    path("", include("annotate.guidelines.api")),
    path("", include("annotate.assignments.api")),
    path("", include("annotate.digest.api")),
    path("", include("annotate.drafts.api")),
    path("", include("annotate.batches.api")),
    path("", include("annotate.plans.api")),
    path("", include("annotate.panels.api")),
    path("", include("annotate.review.api")),
    path("", include("annotate.adjudication.api")),
    path("", include("annotate.candidates.api")),
    path("", include("annotate.feedback.api")),
    path("", include("annotate.exams.api")),
    path("", include("annotate.answers.api")),
    path("", include("debate.audits.api")),
    path("", include("debate.rehearings.api")),
    path("", include("debate.trials.api")),
    path("", include("debate.results.api")),
    path("", include("debate.adoption.api")),
    path("", include("debate.hints.api")),
    path("", include("debate.runs.api")),
    path("", include("debate.answers.api")),
    path("", include("debate.spending.api")),
    path("", include("evaluation.releases.api")),
    path("", include("evaluation.experiments.api")),
    path("", include("evaluation.agreement.api")),
    path("", include("evaluation.leaderboard.api")),
    path("", include("evaluation.holes.api")),
    path("", include("evaluation.published.api")),
    path("", include("evaluation.reproduction.api")),
    path("", include("evaluation.agents.trust.api")),  # before the verbs of judge runs
    path("", include("evaluation.agents.api")),
    path("", include("evaluation.agents.doors")),
    path("", include("evaluation.rag.api")),
    path("", include("evaluation.chain.api")),
    path("", include("evaluation.judges.api")),
    path("", include("evaluation.training.api")),
    path("", include("evaluation.support.api")),
    path("", include("evaluation.transfer.api")),
]
