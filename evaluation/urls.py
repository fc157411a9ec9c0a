"""Routes of the evaluation room's screens."""

from django.urls import path

from evaluation.views import agreement, downloads, experiments, releases

_ONE = "b/<slug:slug>/releases/<int:pk>"
_EXPERIMENT = "b/<slug:slug>/experiments/<int:pk>"
_AGREEMENT = "b/<slug:slug>/agreement"
urlpatterns = [
    path(f"{_AGREEMENT}/", agreement.agreement, name="agreement"),
    path(f"{_AGREEMENT}/<str:what>/", agreement.agreement, name="agreement-of"),
    path(f"{_AGREEMENT}/<str:what>/items/", agreement.agreement_items, name="agreement-items"),
    path(
        f"{_AGREEMENT}/<str:what>/<str:name>.csv", agreement.agreement_table, name="agreement-table"
    ),
    path("b/<slug:slug>/experiments/", experiments.experiment_list, name="experiments"),
    path(f"{_EXPERIMENT}/", experiments.experiment_detail, name="experiment"),
    path(f"{_EXPERIMENT}/runs.csv", experiments.experiment_csv, name="experiment-csv"),
    path(f"{_EXPERIMENT}/delete/", experiments.experiment_delete, name="experiment-delete"),
    path("b/<slug:slug>/releases/", releases.release_list, name="releases"),
    path(f"{_ONE}/", releases.release_detail, name="release"),
    path(f"{_ONE}/cancel/", releases.release_cancel, name="release-cancel"),
    path(f"{_ONE}/retry/", releases.release_retry, name="release-retry"),
    path(f"{_ONE}/archive/", downloads.release_archive, name="release-archive"),
    path(f"{_ONE}/files/<path:path>", downloads.release_file, name="release-file"),
]
