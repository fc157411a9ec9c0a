"""Routes of the corpus room's screens."""

from django.urls import path

from corpus.benchmarks import record_views as record
from corpus.benchmarks import views as benchmarks
from corpus.cleaning import report_views as report
from corpus.cleaning import views as cleaning
from corpus.computing import views as computations
from corpus.endpoints import views as endpoints
from corpus.imports import views as imports
from corpus.judgments import views as judgments
from corpus.pools import views as pools
from corpus.quotas import views as quotas
from corpus.reranking import beside
from corpus.reranking import views as reranking
from corpus.runs import views as runs
from corpus.texts import views as documents
from corpus.versions import views as versions
from corpus.webhooks import views as webhooks
from corpus.wordings import views as wordings

_HERE = "b/<slug:slug>"
_PERSON = f"{_HERE}/people/<int:pk>"
_IMPORT = f"{_HERE}/import/<int:pk>"
_RUNS = f"{_HERE}/retrieval"
_COMPUTED = f"{_RUNS}/compute/<int:pk>"
_RERANK = f"{_HERE}/reranks/<int:pk>"
_EXPANSION = f"{_HERE}/expansions/<int:pk>"
_BUILD = f"{_HERE}/pools/builds/<int:pk>"
_VERSION = f"{_HERE}/versions/<int:pk>"
_TEXT = f"{_VERSION}/passages/<int:passage_pk>"
_CLEANING = f"{_HERE}/cleaning/<int:pk>"
_FOUND = f"{_CLEANING}/violations"
_ONE = f"{_FOUND}/<int:violation_pk>"
urlpatterns = [
    path("home/corpus/", benchmarks.home_fragment, name="corpus-home"),
    path(
        "invitations/<int:pk>/<slug:verb>/", benchmarks.invitation_answer, name="invitation-answer"
    ),
    path("benchmarks/new/", benchmarks.benchmark_new, name="benchmark-new"),
    path(f"{_HERE}/", benchmarks.benchmark, name="benchmark"),
    path(f"{_HERE}/archive/", benchmarks.archive, name="archive"),
    path(f"{_HERE}/licences/", benchmarks.licences, name="licences"),
    path("record/", record.site_record, name="site-record"),
    path("record/file/", record.site_record_file, name="site-record-file"),
    path(f"{_HERE}/record/", record.record, name="record"),
    path(f"{_HERE}/record/file/", record.record_file, name="record-file"),
    path(f"{_HERE}/people/", benchmarks.people, name="people"),
    path(
        f"{_HERE}/people/invitations/<int:pk>/withdraw/",
        benchmarks.invitation_withdraw,
        name="invitation-withdraw",
    ),
    path(f"{_PERSON}/", benchmarks.person, name="person"),
    path(f"{_PERSON}/link/", benchmarks.person_link, name="person-link"),
    path(f"{_PERSON}/remove/", benchmarks.person_remove, name="person-remove"),
    path(f"{_HERE}/webhooks/", webhooks.webhooks, name="webhooks"),
    path(f"{_HERE}/webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path(f"{_HERE}/webhooks/<int:pk>/remove/", webhooks.webhook_remove, name="webhook-remove"),
    path(
        f"{_HERE}/webhooks/deliveries/<int:pk>/again/",
        webhooks.delivery_again,
        name="delivery-again",
    ),
    path(f"{_HERE}/quotas/", quotas.quotas, name="quotas"),
    path(f"{_HERE}/endpoints/", endpoints.endpoint_list, name="endpoints"),
    path(f"{_HERE}/endpoints/try/", endpoints.endpoint_try, name="endpoint-try"),
    path(f"{_HERE}/import/", imports.imports, name="imports"),
    path(f"{_IMPORT}/", imports.import_run, name="import-run"),
    *imports.RUNS.paths(_IMPORT),
    path(f"{_HERE}/documents/", documents.documents, name="documents"),
    path(f"{_HERE}/documents/<int:pk>/", documents.document, name="document"),
    path(f"{_HERE}/judgments/", judgments.judgments, name="judgments"),
    path(f"{_HERE}/gold/", judgments.gold_versions, name="gold-versions"),
    path(f"{_RUNS}/", runs.retrieval_runs, name="retrieval-runs"),
    path(f"{_RUNS}/compute/", computations.computations, name="run-computations"),
    path(f"{_COMPUTED}/", computations.computation, name="run-computation"),
    *computations.RUNS.paths(_COMPUTED),
    path(f"{_RUNS}/<int:pk>/", runs.retrieval_run, name="retrieval-run"),
    path(f"{_RUNS}/<int:pk>/<int:query_pk>/", runs.ranked_list, name="ranked-list"),
    path(
        f"{_RUNS}/<int:pk>/<int:query_pk>/beside/", beside.ranked_beside, name="ranked-list-beside"
    ),
    path(f"{_HERE}/reranks/", reranking.RUNS.listing, name="rerank-runs"),
    path(f"{_HERE}/reranks/new/", reranking.rerank_new, name="rerank-run-new"),
    path(f"{_HERE}/reranks/forecast/", reranking.RUNS.forecasting, name="rerank-forecast"),
    path(f"{_RERANK}/", reranking.rerank_run, name="rerank-run"),
    *reranking.RUNS.paths(_RERANK),
    path(f"{_HERE}/query-sources/", wordings.query_sources, name="query-sources"),
    path(f"{_HERE}/query-sources/<int:pk>/", wordings.query_source, name="query-source"),
    path(f"{_HERE}/expansions/", wordings.RUNS.listing, name="expansions"),
    path(f"{_HERE}/expansions/new/", wordings.expansion_new, name="expansion-new"),
    path(f"{_HERE}/expansions/forecast/", wordings.RUNS.forecasting, name="expansion-forecast"),
    path(f"{_EXPANSION}/", wordings.expansion, name="expansion"),
    path(f"{_EXPANSION}/queries/<int:query_pk>/", wordings.expansion_query, name="expansion-query"),
    *wordings.RUNS.paths(_EXPANSION),
    path(f"{_HERE}/pools/", pools.pools, name="pools"),
    path(f"{_HERE}/pools/new/", pools.pool_new, name="pool-new"),
    path(f"{_BUILD}/", pools.pool_build, name="pool-build"),
    *pools.RUNS.paths(_BUILD),
    path(f"{_HERE}/pools/<int:pk>/", pools.pool, name="pool"),
    path(f"{_HERE}/versions/", versions.versions, name="versions"),
    path(f"{_HERE}/versions/undo/", versions.version_undo, name="version-undo"),
    path(f"{_VERSION}/", versions.version, name="version"),
    path(f"{_VERSION}/take-up/", versions.version_make_current, name="version-take-up"),
    path(f"{_VERSION}/search/", versions.version_search, name="version-search"),
    path(f"{_TEXT}/", versions.passage_diff, name="version-passage"),
    path(f"{_HERE}/cleaning/new/", cleaning.cleaning_new, name="cleaning-new"),
    path(f"{_HERE}/cleaning/forecast/", cleaning.cleaning_forecast, name="cleaning-forecast"),
    path(f"{_CLEANING}/", cleaning.cleaning, name="cleaning"),
    *cleaning.RUNS.paths(_CLEANING),
    path(f"{_CLEANING}/pages/", cleaning.cleaning_pages, name="cleaning-pages"),
    path(f"{_CLEANING}/report/", report.cleaning_report, name="cleaning-report"),
    path(f"{_CLEANING}/report/rows/", report.cleaning_rows, name="cleaning-rows"),
    path(f"{_CLEANING}/report/<slug:name>.csv", report.cleaning_table, name="cleaning-table"),
    path(f"{_FOUND}/", cleaning.violations, name="cleaning-violations"),
    path(f"{_FOUND}/next/", cleaning.next_violation, name="cleaning-violation-next"),
    path(f"{_ONE}/", cleaning.violation, name="cleaning-violation"),
    path(f"{_ONE}/decide/", cleaning.violation_decide, name="cleaning-violation-decide"),
    path(f"{_ONE}/undo/", cleaning.violation_undo, name="cleaning-violation-undo"),
]
