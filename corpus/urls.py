"""Routes of the corpus room's screens."""

from django.urls import path

from corpus.views import (
    benchmarks,
    computations,
    documents,
    imports,
    judgments,
    people,
    pool_builds,
    pools,
    ranked,
    runs,
)

urlpatterns = [
    path("home/corpus/", benchmarks.home_fragment, name="corpus-home"),
    path("benchmarks/new/", benchmarks.benchmark_new, name="benchmark-new"),
    path("b/<slug:slug>/", benchmarks.benchmark, name="benchmark"),
    path("b/<slug:slug>/people/", people.people, name="people"),
    path("b/<slug:slug>/people/<int:pk>/", people.person, name="person"),
    path("b/<slug:slug>/people/<int:pk>/link/", people.person_link, name="person-link"),
    path("b/<slug:slug>/people/<int:pk>/remove/", people.person_remove, name="person-remove"),
    path("b/<slug:slug>/import/", imports.imports, name="imports"),
    path("b/<slug:slug>/import/<int:pk>/", imports.import_run, name="import-run"),
    path("b/<slug:slug>/import/<int:pk>/cancel/", imports.import_cancel, name="import-cancel"),
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
    path(
        "b/<slug:slug>/retrieval/compute/<int:pk>/<slug:verb>/",
        computations.computation_verb,
        name="run-computation-verb",
    ),
    path("b/<slug:slug>/retrieval/<int:pk>/", runs.retrieval_run, name="retrieval-run"),
    path(
        "b/<slug:slug>/retrieval/<int:pk>/<int:query_pk>/", ranked.ranked_list, name="ranked-list"
    ),
    path("b/<slug:slug>/pools/", pools.pools, name="pools"),
    path("b/<slug:slug>/pools/new/", pools.pool_new, name="pool-new"),
    path("b/<slug:slug>/pools/builds/<int:pk>/", pool_builds.pool_build, name="pool-build"),
    path(
        "b/<slug:slug>/pools/builds/<int:pk>/cancel/",
        pool_builds.pool_build_cancel,
        name="pool-build-cancel",
    ),
    path("b/<slug:slug>/pools/<int:pk>/", pools.pool, name="pool"),
]
