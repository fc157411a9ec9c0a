"""Routes of the evaluation room's screens."""

from django.urls import include, path

from evaluation.agreement import views as agreement
from evaluation.checklist import views as checklist
from evaluation.experiments import views as experiments
from evaluation.finding import views as finding
from evaluation.holes import views as holes
from evaluation.published import views as published
from evaluation.releases import views as releases

_HERE = "b/<slug:slug>"
_AGREED = f"{_HERE}/agreement"
_EXPERIMENT = f"{_HERE}/experiments/<int:pk>"
_TABLES = f"{_HERE}/leaderboard/published"
_RELEASE = f"{_HERE}/releases/<int:pk>"
_SINCE = f"{_RELEASE}/since/<int:older>"
_PUSH = f"{_HERE}/pushes/<int:pk>"
urlpatterns = [
    path(f"{_HERE}/checklist/", checklist.checklist, name="checklist"),
    path(f"{_HERE}/find/", finding.find, name="find"),
    path(f"{_AGREED}/", agreement.agreement, name="agreement"),
    path(f"{_AGREED}/<str:what>/", agreement.agreement, name="agreement-of"),
    path(f"{_AGREED}/<str:what>/items/", agreement.agreement_items, name="agreement-items"),
    path(f"{_AGREED}/<str:what>/<str:name>.csv", agreement.agreement_table, name="agreement-table"),
    path("", include("evaluation.leaderboard.urls")),
    path("", include("evaluation.agents.urls")),
    path("", include("evaluation.agents.trust.urls")),
    path("", include("evaluation.rag.urls")),
    path("", include("evaluation.support.urls")),
    path(f"{_HERE}/leaderboard/systems/", published.known_systems, name="known-systems"),
    path(f"{_TABLES}/", published.published_tables, name="published-tables"),
    path(f"{_TABLES}/<slug:name>/", published.published_table, name="published-table"),
    path(f"{_HERE}/holes/", holes.holes, name="holes"),
    path(f"{_HERE}/holes/growth.csv", holes.holes_csv, name="holes-csv"),
    path(f"{_HERE}/holes/debate/", holes.holes_debate, name="holes-debate"),
    path(f"{_HERE}/experiments/", experiments.experiment_list, name="experiments"),
    path(f"{_EXPERIMENT}/", experiments.experiment_detail, name="experiment"),
    path(f"{_EXPERIMENT}/runs.csv", experiments.experiment_csv, name="experiment-csv"),
    path(f"{_EXPERIMENT}/delete/", experiments.experiment_delete, name="experiment-delete"),
    path(f"{_HERE}/releases/", releases.release_list, name="releases"),
    path(f"{_RELEASE}/", releases.release_detail, name="release"),
    *releases.RUNS.paths(_RELEASE),
    path(f"{_RELEASE}/push/", releases.release_push, name="release-push"),
    path(f"{_PUSH}/", releases.push_detail, name="push"),
    *releases.PUSHES.paths(_PUSH),
    path(f"{_SINCE}/", releases.release_diff, name="release-diff"),
    path(f"{_SINCE}/changelog/", releases.release_changelog, name="release-changelog"),
    path(f"{_RELEASE}/archive/", releases.release_archive, name="release-archive"),
    path(f"{_RELEASE}/files/<path:path>", releases.release_file, name="release-file"),
]
