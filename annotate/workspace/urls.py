"""Routes of the workspace: queries, aspects, gold passages, collecting."""

from django.urls import path

from annotate.workspace.views import (
    aspects,
    collecting,
    gold,
    passages,
    queries,
    remaking,
    restructuring,
    search,
    segmenting,
)

_QUERY = "b/<slug:slug>/queries/<int:pk>"
_ASPECT = "b/<slug:slug>/aspects/<int:pk>"
_PASSAGE = f"{_QUERY}/passages/<int:passage_pk>"
_COLLECT = f"{_QUERY}/collect"
_PAGE = f"{_COLLECT}/<int:page_pk>"

urlpatterns = [
    path("b/<slug:slug>/versions/<int:pk>/work/", passages.version_work, name="version-work"),
    path(f"{_QUERY}/beside/", search.passage_search, name="query-beside"),
    path(
        f"{_QUERY}/beside/<int:passage_pk>/attach/",
        search.search_attach,
        name="query-beside-attach",
    ),
    path("b/<slug:slug>/passages/", passages.passages, name="passages"),
    path("b/<slug:slug>/passages/<int:pk>/", passages.passage, name="passage"),
    path("b/<slug:slug>/queries/", queries.queries, name="queries"),
    path(f"{_QUERY}/", queries.query, name="query"),
    path(f"{_QUERY}/aspects/", aspects.aspect_add, name="aspect-add"),
    path(f"{_ASPECT}/", aspects.aspect_save, name="aspect-save"),
    path(f"{_ASPECT}/remove/", aspects.aspect_remove, name="aspect-remove"),
    path(f"{_ASPECT}/restore/", aspects.aspect_restore, name="aspect-restore"),
    path(f"{_ASPECT}/move/", aspects.aspect_move, name="aspect-move"),
    path(f"{_ASPECT}/split/", restructuring.aspect_split, name="aspect-split"),
    path(f"{_ASPECT}/merge/", restructuring.aspect_merge, name="aspect-merge"),
    path(f"{_QUERY}/scale/", restructuring.query_scale, name="query-scale"),
    path(f"{_QUERY}/history/", restructuring.aspect_history, name="aspect-history"),
    path(f"{_QUERY}/history/<int:change_pk>/undo/", restructuring.change_undo, name="change-undo"),
    path("b/<slug:slug>/audit/", gold.audit, name="audit"),
    path(f"{_QUERY}/problems/", gold.problem_tag, name="problem-tag"),
    path(f"{_QUERY}/problems/off/", gold.problem_untag, name="problem-untag"),
    path(f"{_PASSAGE}/page/", remaking.passage_remake, name="passage-remake"),
    path(f"{_PASSAGE}/assign/", gold.passage_assign, name="passage-assign"),
    path(f"{_PASSAGE}/discard/", gold.passage_discard, name="passage-discard"),
    path(f"{_PASSAGE}/undo/", gold.passage_undo, name="passage-undo"),
    path(f"{_COLLECT}/", collecting.collect, name="collect"),
    path(f"{_COLLECT}/url/", collecting.collect_url, name="collect-url"),
    path(f"{_COLLECT}/text/", collecting.collect_text, name="collect-text"),
    path(f"{_COLLECT}/file/", collecting.collect_file, name="collect-file"),
    path(f"{_COLLECT}/fetches/<int:fetch_pk>/stop/", collecting.fetch_stop, name="fetch-stop"),
    path(f"{_PAGE}/", segmenting.collect_page, name="collect-page"),
    path(f"{_PAGE}/segments/", segmenting.segment_add, name="segment-add"),
    path(f"{_PAGE}/segments/<int:passage_pk>/undo/", segmenting.segment_undo, name="segment-undo"),
    path(f"{_PAGE}/segments/<int:passage_pk>/move/", segmenting.segment_move, name="segment-move"),
]
