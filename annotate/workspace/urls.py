"""Routes of the workspace: queries, aspects, gold passages, collecting."""

from django.urls import path

from annotate.workspace.collecting import collect_file, collect_text, collect_url
from annotate.workspace.views import aspects, collecting, gold, passages, queries

_QUERY = "b/<slug:slug>/queries/<int:pk>"
_ASPECT = "b/<slug:slug>/aspects/<int:pk>"
_PASSAGE = f"{_QUERY}/passages/<int:passage_pk>"
_SEARCH = f"{_QUERY}/beside/<int:passage_pk>"
_COLLECT = f"{_QUERY}/collect"
_PAGE = f"{_COLLECT}/<int:page_pk>"
_SEGMENT = f"{_PAGE}/segments/<int:passage_pk>"
_ASSIGN, _DISCARD, _UNDO = ({"verb": verb} for verb in (gold.assign, gold.discard, gold.undo))
# The three ways to collect a page: its form, and the verb.
_URL = {"name": "url_form", "verb": collect_url}
_TEXT = {"name": "text_form", "verb": collect_text}
_FILE = {"name": "file_form", "verb": collect_file}

urlpatterns = [
    path("b/<slug:slug>/versions/<int:pk>/work/", passages.version_work, name="version-work"),
    path(f"{_QUERY}/beside/", gold.passage_search, name="query-beside"),
    path(f"{_SEARCH}/attach/", gold.search_attach, name="query-beside-attach"),
    path("b/<slug:slug>/passages/", passages.passages, name="passages"),
    path("b/<slug:slug>/passages/<int:pk>/", passages.passage, name="passage"),
    path("b/<slug:slug>/queries/", queries.queries, name="queries"),
    path(f"{_QUERY}/", queries.query, name="query"),
    path(f"{_QUERY}/aspects/", aspects.aspect_add, name="aspect-add"),
    path(f"{_ASPECT}/", aspects.aspect_save, name="aspect-save"),
    path(f"{_ASPECT}/remove/", aspects.aspect_remove, name="aspect-remove"),
    path(f"{_ASPECT}/restore/", aspects.aspect_restore, name="aspect-restore"),
    path(f"{_ASPECT}/move/", aspects.aspect_move, name="aspect-move"),
    path(f"{_ASPECT}/split/", aspects.aspect_split, name="aspect-split"),
    path(f"{_ASPECT}/merge/", aspects.aspect_merge, name="aspect-merge"),
    path(f"{_QUERY}/scale/", aspects.query_scale, name="query-scale"),
    path(f"{_QUERY}/history/", aspects.aspect_history, name="aspect-history"),
    path(f"{_QUERY}/history/<int:change_pk>/undo/", aspects.change_undo, name="change-undo"),
    path("b/<slug:slug>/audit/", gold.audit, name="audit"),
    path(f"{_QUERY}/problems/", gold.problem_tag, name="problem-tag"),
    path(f"{_QUERY}/problems/off/", gold.problem_tag, {"on": False}, name="problem-untag"),
    path(f"{_PASSAGE}/page/", gold.passage_remake, name="passage-remake"),
    path(f"{_PASSAGE}/assign/", gold.passage_verdict, _ASSIGN, name="passage-assign"),
    path(f"{_PASSAGE}/discard/", gold.passage_verdict, _DISCARD, name="passage-discard"),
    path(f"{_PASSAGE}/undo/", gold.passage_verdict, _UNDO, name="passage-undo"),
    path(f"{_COLLECT}/", collecting.collect, name="collect"),
    path(f"{_COLLECT}/url/", collecting.page_collect, _URL, name="collect-url"),
    path(f"{_COLLECT}/text/", collecting.page_collect, _TEXT, name="collect-text"),
    path(f"{_COLLECT}/file/", collecting.page_collect, _FILE, name="collect-file"),
    path(f"{_COLLECT}/fetches/<int:fetch_pk>/stop/", collecting.fetch_stop, name="fetch-stop"),
    path(f"{_PAGE}/", collecting.collect_page, name="collect-page"),
    path(f"{_PAGE}/segments/", collecting.segment_add, name="segment-add"),
    path(f"{_SEGMENT}/undo/", collecting.segment_verdict, _UNDO, name="segment-undo"),
    path(f"{_SEGMENT}/move/", collecting.segment_verdict, _ASSIGN, name="segment-move"),
]
