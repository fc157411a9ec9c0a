"""Routes of the evaluation room's screens."""

from django.urls import include, path

from evaluation.agreement import views as agreement
from evaluation.chain import views as chains
from evaluation.checklist import views as checklist
from evaluation.experiments import views as experiments
from evaluation.finding import views as finding
from evaluation.holes import views as holes
from evaluation.judges import views as judges
from evaluation.pipelines import views as pipelines
from evaluation.published import views as published
from evaluation.releases import views as releases
from evaluation.reproduction import views as reproduction
from evaluation.training import views as training
from evaluation.transfer import views as transfers

_HERE = "b/<slug:slug>"
_AGREED = f"{_HERE}/agreement"
_EXPERIMENT = f"{_HERE}/experiments/<int:pk>"
_CHAIN = f"{_HERE}/chains/<int:pk>"
_TABLES = f"{_HERE}/leaderboard/published"
_RELEASE = f"{_HERE}/releases/<int:pk>"
_SINCE = f"{_RELEASE}/since/<int:older>"
_PIPELINE = f"{_HERE}/pipelines/<int:pk>"
_TRAINING = f"{_HERE}/training/<int:pk>"
_RERANKING = f"{_HERE}/reranks/<int:pk>"
_PUSH = f"{_HERE}/pushes/<int:pk>"
_TRANSFERS = f"{_HERE}/transfers"
urlpatterns = [
    path(f"{_HERE}/checklist/", checklist.checklist, name="checklist"),
    path("find/", finding.find_everywhere, name="find-everywhere"),
    path(f"{_HERE}/find/", finding.find, name="find"),
    path(f"{_AGREED}/", agreement.agreement, name="agreement"),
    path(f"{_AGREED}/<str:what>/", agreement.agreement, name="agreement-of"),
    path(f"{_AGREED}/<str:what>/items/", agreement.agreement_items, name="agreement-items"),
    path(f"{_AGREED}/<str:what>/<str:name>.csv", agreement.agreement_table, name="agreement-table"),
    path("", include("evaluation.leaderboard.urls")),
    path("", include("evaluation.agents.urls")),
    path("", include("evaluation.agents.trust.urls")),
    path("", include("evaluation.rag.urls")),
    path(f"{_HERE}/chains/", chains.chains, name="chains"),
    path(f"{_HERE}/chains/new/", chains.chain_new, name="chain-new"),
    path(f"{_HERE}/chains/forecast/", chains.chain_forecast, name="chain-forecast"),
    path(f"{_CHAIN}/", chains.chain, name="chain"),
    path(f"{_CHAIN}/effects.csv", chains.chain_csv, name="chain-csv"),
    path(f"{_CHAIN}/plan/", chains.chain_plan, name="chain-plan"),
    path(f"{_CHAIN}/budget/", chains.chain_budget, name="chain-budget"),
    *chains.RUNS.paths(_CHAIN),
    path(f"{_HERE}/training/", training.RUNS.listing, name="training-runs"),
    path(f"{_HERE}/training/new/", training.training_run_new, name="training-run-new"),
    path(f"{_HERE}/training/forecast/", training.RUNS.forecasting, name="training-forecast"),
    path(f"{_TRAINING}/", training.training_run, name="training-run"),
    path(f"{_TRAINING}/ask/", training.training_ask, name="training-ask"),
    path(f"{_TRAINING}/export/<slug:shape>/", training.training_export, name="training-export"),
    *training.RUNS.paths(_TRAINING),
    path("", include("evaluation.support.urls")),
    path(f"{_HERE}/leaderboard/systems/", published.known_systems, name="known-systems"),
    path(f"{_TABLES}/", reproduction.published_tables, name="published-tables"),
    path(
        f"{_HERE}/leaderboard/published.csv", reproduction.figures_csv, name="published-figures-csv"
    ),
    path(f"{_TABLES}/<slug:name>/", published.published_table, name="published-table"),
    path(f"{_HERE}/pipelines/", pipelines.pipelines, name="pipelines"),
    path(f"{_HERE}/pipelines/new/", pipelines.pipeline_new, name="pipeline-new"),
    path(f"{_HERE}/pipelines/forecast/", pipelines.RUNS.forecasting, name="pipeline-forecast"),
    path(f"{_HERE}/pipelines/<slug:name>.csv", pipelines.pipelines_csv, name="pipelines-csv"),
    path(f"{_PIPELINE}/", pipelines.pipeline, name="pipeline"),
    *pipelines.RUNS.paths(_PIPELINE),
    path(f"{_RERANKING}/means/", pipelines.rerank_means, name="rerank-means"),
    path(f"{_RERANKING}/means.csv", pipelines.rerank_means_csv, name="rerank-means-csv"),
    path(f"{_HERE}/queries/<int:pk>/wordings/", pipelines.query_wordings, name="query-wordings"),
    path(f"{_HERE}/judges/", judges.judges, name="judges"),
    path(f"{_HERE}/judges/<slug:name>.csv", judges.judges_table, name="judges-table"),
    path(f"{_HERE}/judges/files/<slug:kind>/", judges.judges_file, name="judges-file"),
    path(f"{_HERE}/holes/", holes.holes, name="holes"),
    path(f"{_HERE}/holes/growth.csv", holes.holes_csv, name="holes-csv"),
    path(f"{_HERE}/holes/next/", holes.holes_next, name="holes-next"),
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
    path(f"{_TRANSFERS}/", transfers.transfers, name="transfers"),
    path(f"{_TRANSFERS}/merge/", transfers.transfer_merge, name="transfer-merge"),
    path(f"{_TRANSFERS}/import/", transfers.transfer_import, name="transfer-import"),
    path(f"{_TRANSFERS}/people/", transfers.transfer_claim, name="transfer-people"),
    path(f"{_TRANSFERS}/<int:pk>/", transfers.transfer, name="transfer"),
    path(f"{_TRANSFERS}/<int:pk>/file/", transfers.transfer_file, name="transfer-file"),
    *transfers.RUNS.paths(f"{_TRANSFERS}/<int:pk>"),
    path(
        f"{_TRANSFERS}/conflicts/<int:pk>/",
        transfers.conflict_choose,
        name="merge-conflict",
    ),
    path(f"{_RELEASE}/archive/", releases.release_archive, name="release-archive"),
    path(f"{_RELEASE}/files/<path:path>", releases.release_file, name="release-file"),
]
