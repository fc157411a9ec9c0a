"""Routes of the corpus room's screens."""

from django.urls import path

from corpus.benchmarks import record_views as record
from corpus.benchmarks import views as benchmarks
from corpus.benchmarks import views as people
from corpus.cleaning import report_views as cleaning_report
from corpus.cleaning import views as cleaning
from corpus.cleaning import views as violations
from corpus.computing import views as computations
from corpus.endpoints import views as endpoints
from corpus.imports import views as imports
from corpus.judgments import views as judgments
from corpus.pools import views as pool_builds
from corpus.pools import views as pools
from corpus.runs import views as ranked
from corpus.runs import views as runs
from corpus.texts import views as documents
from corpus.versions import views as current
from corpus.versions import views as versions

urlpatterns = [
    path("home/corpus/", benchmarks.home_fragment, name="corpus-home"),
    path("invitations/<int:pk>/<slug:verb>/", people.invitation_answer, name="invitation-answer"),
    path("benchmarks/new/", benchmarks.benchmark_new, name="benchmark-new"),
    path("b/<slug:slug>/", benchmarks.benchmark, name="benchmark"),
    path("b/<slug:slug>/licences/", benchmarks.licences, name="licences"),
    path("b/<slug:slug>/record/", record.record, name="record"),
    path("b/<slug:slug>/record/file/", record.record_file, name="record-file"),
    path("b/<slug:slug>/people/", people.people, name="people"),
    path("b/<slug:slug>/people/<int:pk>/", people.person, name="person"),
    path("b/<slug:slug>/people/<int:pk>/link/", people.person_link, name="person-link"),
    path(
        "b/<slug:slug>/people/invitations/<int:pk>/withdraw/",
        people.invitation_withdraw,
        name="invitation-withdraw",
    ),
    path("b/<slug:slug>/people/<int:pk>/remove/", people.person_remove, name="person-remove"),
    path("b/<slug:slug>/endpoints/", endpoints.endpoint_list, name="endpoints"),
    path("b/<slug:slug>/endpoints/try/", endpoints.endpoint_try, name="endpoint-try"),
    path("b/<slug:slug>/import/", imports.imports, name="imports"),
    path("b/<slug:slug>/import/<int:pk>/", imports.import_run, name="import-run"),
    *imports.RUNS.paths("b/<slug:slug>/import/<int:pk>"),
    path("b/<slug:slug>/documents/", documents.documents, name="documents"),
    path("b/<slug:slug>/documents/<int:pk>/", documents.document, name="document"),
    path("b/<slug:slug>/judgments/", judgments.judgments, name="judgments"),
    path("b/<slug:slug>/gold/", judgments.gold_versions, name="gold-versions"),
    path("b/<slug:slug>/retrieval/", runs.retrieval_runs, name="retrieval-runs"),
    path("b/<slug:slug>/retrieval/compute/", computations.computations, name="run-computations"),
    path(
        "b/<slug:slug>/retrieval/compute/<int:pk>/",
        computations.computation,
        name="run-computation",
    ),
    *computations.RUNS.paths("b/<slug:slug>/retrieval/compute/<int:pk>"),
    path("b/<slug:slug>/retrieval/<int:pk>/", runs.retrieval_run, name="retrieval-run"),
    path(
        "b/<slug:slug>/retrieval/<int:pk>/<int:query_pk>/", ranked.ranked_list, name="ranked-list"
    ),
    path("b/<slug:slug>/pools/", pools.pools, name="pools"),
    path("b/<slug:slug>/pools/new/", pools.pool_new, name="pool-new"),
    path("b/<slug:slug>/pools/builds/<int:pk>/", pool_builds.pool_build, name="pool-build"),
    *pool_builds.RUNS.paths("b/<slug:slug>/pools/builds/<int:pk>"),
    path("b/<slug:slug>/pools/<int:pk>/", pools.pool, name="pool"),
    path("b/<slug:slug>/versions/", versions.versions, name="versions"),
    path("b/<slug:slug>/versions/undo/", current.version_undo, name="version-undo"),
    path("b/<slug:slug>/versions/<int:pk>/", versions.version, name="version"),
    path(
        "b/<slug:slug>/versions/<int:pk>/take-up/",
        current.version_make_current,
        name="version-take-up",
    ),
    path("b/<slug:slug>/versions/<int:pk>/search/", current.version_search, name="version-search"),
    path(
        "b/<slug:slug>/versions/<int:pk>/passages/<int:passage_pk>/",
        versions.passage_diff,
        name="version-passage",
    ),
    path("b/<slug:slug>/cleaning/new/", cleaning.cleaning_new, name="cleaning-new"),
    path("b/<slug:slug>/cleaning/forecast/", cleaning.cleaning_forecast, name="cleaning-forecast"),
    path("b/<slug:slug>/cleaning/<int:pk>/", cleaning.cleaning, name="cleaning"),
    *cleaning.RUNS.paths("b/<slug:slug>/cleaning/<int:pk>"),
    path("b/<slug:slug>/cleaning/<int:pk>/pages/", cleaning.cleaning_pages, name="cleaning-pages"),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/report/",
        cleaning_report.cleaning_report,
        name="cleaning-report",
    ),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/report/rows/",
        cleaning_report.cleaning_rows,
        name="cleaning-rows",
    ),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/report/<slug:name>.csv",
        cleaning_report.cleaning_table,
        name="cleaning-table",
    ),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/violations/",
        violations.violations,
        name="cleaning-violations",
    ),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/violations/next/",
        violations.next_violation,
        name="cleaning-violation-next",
    ),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/violations/<int:violation_pk>/",
        violations.violation,
        name="cleaning-violation",
    ),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/violations/<int:violation_pk>/decide/",
        violations.violation_decide,
        name="cleaning-violation-decide",
    ),
    path(
        "b/<slug:slug>/cleaning/<int:pk>/violations/<int:violation_pk>/undo/",
        violations.violation_undo,
        name="cleaning-violation-undo",
    ),
]
