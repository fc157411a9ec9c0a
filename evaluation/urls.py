"""Routes of the evaluation room's screens."""

from django.urls import path

from evaluation.agreement import views as agreement
from evaluation.experiments import views as experiments
from evaluation.holes import views as holes
from evaluation.leaderboard import before_after_views as before_after
from evaluation.leaderboard import noise_views as noise
from evaluation.leaderboard import views as leaderboard
from evaluation.published import views as published
from evaluation.releases import diffs as release_diffs
from evaluation.releases import downloads
from evaluation.releases import views as releases

_ONE = "b/<slug:slug>/releases/<int:pk>"
_EXPERIMENT = "b/<slug:slug>/experiments/<int:pk>"
_AGREEMENT = "b/<slug:slug>/agreement"
_BOARD = "b/<slug:slug>/leaderboard"
urlpatterns = [
    path(f"{_AGREEMENT}/", agreement.agreement, name="agreement"),
    path(f"{_AGREEMENT}/<str:what>/", agreement.agreement, name="agreement-of"),
    path(f"{_AGREEMENT}/<str:what>/items/", agreement.agreement_items, name="agreement-items"),
    path(
        f"{_AGREEMENT}/<str:what>/<str:name>.csv", agreement.agreement_table, name="agreement-table"
    ),
    path(f"{_BOARD}/", leaderboard.leaderboard, name="leaderboard"),
    path(f"{_BOARD}/runs.csv", leaderboard.leaderboard_csv, name="leaderboard-csv"),
    path(f"{_BOARD}/refresh/", leaderboard.leaderboard_refresh, name="leaderboard-refresh"),
    path(f"{_BOARD}/progress/", leaderboard.leaderboard_progress, name="leaderboard-progress"),
    path(f"{_BOARD}/compare/", leaderboard.leaderboard_compare, name="leaderboard-compare"),
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
    path(f"{_BOARD}/runs/<int:pk>/", leaderboard.leaderboard_run, name="leaderboard-run"),
    path(
        f"{_BOARD}/runs/<int:pk>/<int:query_pk>/",
        leaderboard.leaderboard_query,
        name="leaderboard-query",
    ),
    path(f"{_BOARD}/noise/", noise.noise_checks, name="noise-checks"),
    path(f"{_BOARD}/noise/<int:pk>/", noise.noise_check, name="noise-check"),
    path(f"{_BOARD}/systems/", published.known_systems, name="known-systems"),
    path(f"{_BOARD}/published/", published.published_tables, name="published-tables"),
    path(f"{_BOARD}/published/<slug:name>/", published.published_table, name="published-table"),
    path("b/<slug:slug>/holes/", holes.holes, name="holes"),
    path("b/<slug:slug>/holes/growth.csv", holes.holes_csv, name="holes-csv"),
    path("b/<slug:slug>/holes/debate/", holes.holes_debate, name="holes-debate"),
    path("b/<slug:slug>/experiments/", experiments.experiment_list, name="experiments"),
    path(f"{_EXPERIMENT}/", experiments.experiment_detail, name="experiment"),
    path(f"{_EXPERIMENT}/runs.csv", experiments.experiment_csv, name="experiment-csv"),
    path(f"{_EXPERIMENT}/delete/", experiments.experiment_delete, name="experiment-delete"),
    path("b/<slug:slug>/releases/", releases.release_list, name="releases"),
    path(f"{_ONE}/", releases.release_detail, name="release"),
    path(f"{_ONE}/cancel/", releases.release_cancel, name="release-cancel"),
    path(f"{_ONE}/retry/", releases.release_retry, name="release-retry"),
    path(f"{_ONE}/since/<int:older>/", release_diffs.release_diff, name="release-diff"),
    path(
        f"{_ONE}/since/<int:older>/changelog/",
        release_diffs.release_changelog,
        name="release-changelog",
    ),
    path(f"{_ONE}/archive/", downloads.release_archive, name="release-archive"),
    path(f"{_ONE}/files/<path:path>", downloads.release_file, name="release-file"),
]
