"""Routes of the annotate room's screens."""

from django.urls import path

from annotate.views import (
    aspects,
    assigning,
    beside,
    collecting,
    disputes,
    drafts,
    guidelines,
    home,
    passages,
    queries,
    verdicts,
    votes,
    work,
)

urlpatterns = [
    path("home/annotate/", home.annotate_home, name="annotate-home"),
    path("b/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
    path("drafts/", drafts.drafts, name="drafts"),
    path("drafts/<int:pk>/discard/", drafts.draft_discard, name="draft-discard"),
    path("b/<slug:slug>/queue/", work.queue, name="queue"),
    path("b/<slug:slug>/queue/next/", work.claim_next, name="queue-next"),
    path("b/<slug:slug>/queries/<int:pk>/claim/", work.query_claim, name="query-claim"),
    path("b/<slug:slug>/queries/<int:pk>/release/", work.query_release, name="query-release"),
    path("b/<slug:slug>/queries/<int:pk>/submit/", work.query_submit, name="query-submit"),
    path("b/<slug:slug>/queries/<int:pk>/take-back/", work.query_take_back, name="query-take-back"),
    path("b/<slug:slug>/queries/<int:pk>/time/", work.query_time, name="query-time"),
    path("b/<slug:slug>/queries/<int:pk>/beside/", beside.beside, name="query-beside"),
    path(
        "b/<slug:slug>/queries/<int:pk>/beside/<int:passage_pk>/attach/",
        beside.beside_attach,
        name="query-beside-attach",
    ),
    path("b/<slug:slug>/assignments/", assigning.assignments, name="assignments"),
    path("b/<slug:slug>/assignments/<int:pk>/", assigning.assignment, name="assignment"),
    path(
        "b/<slug:slug>/assignments/<int:pk>/take-away/",
        assigning.assignment_take_away,
        name="assignment-take-away",
    ),
    path("b/<slug:slug>/progress/", assigning.progress, name="progress"),
    path("b/<slug:slug>/vote/", votes.vote, name="vote"),
    path("b/<slug:slug>/vote/undo/", votes.vote_undo, name="vote-undo"),
    path("b/<slug:slug>/vote/<int:pk>/", votes.vote_case, name="vote-case"),
    path("b/<slug:slug>/disputes/", disputes.disputes, name="disputes"),
    path("b/<slug:slug>/disputes/<int:pk>/", disputes.dispute, name="dispute"),
    path("b/<slug:slug>/passages/", passages.passages, name="passages"),
    path("b/<slug:slug>/passages/<int:pk>/", passages.passage, name="passage"),
    path("b/<slug:slug>/queries/", queries.queries, name="queries"),
    path("b/<slug:slug>/queries/<int:pk>/", queries.query, name="query"),
    path("b/<slug:slug>/queries/<int:pk>/aspects/", aspects.aspect_add, name="aspect-add"),
    path("b/<slug:slug>/aspects/<int:pk>/", aspects.aspect_save, name="aspect-save"),
    path("b/<slug:slug>/aspects/<int:pk>/remove/", aspects.aspect_remove, name="aspect-remove"),
    path("b/<slug:slug>/aspects/<int:pk>/restore/", aspects.aspect_restore, name="aspect-restore"),
    path("b/<slug:slug>/aspects/<int:pk>/move/", aspects.aspect_move, name="aspect-move"),
    path(
        "b/<slug:slug>/queries/<int:pk>/passages/<int:passage_pk>/assign/",
        verdicts.passage_assign,
        name="passage-assign",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/passages/<int:passage_pk>/discard/",
        verdicts.passage_discard,
        name="passage-discard",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/passages/<int:passage_pk>/undo/",
        verdicts.passage_undo,
        name="passage-undo",
    ),
    path("b/<slug:slug>/queries/<int:pk>/collect/", collecting.collect, name="collect"),
    path("b/<slug:slug>/queries/<int:pk>/collect/url/", collecting.collect_url, name="collect-url"),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/text/", collecting.collect_text, name="collect-text"
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/file/", collecting.collect_file, name="collect-file"
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/fetches/<int:fetch_pk>/stop/",
        collecting.fetch_stop,
        name="fetch-stop",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/<int:page_pk>/",
        collecting.collect_page,
        name="collect-page",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/<int:page_pk>/segments/",
        collecting.segment_add,
        name="segment-add",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/<int:page_pk>/segments/<int:passage_pk>/undo/",
        collecting.segment_undo,
        name="segment-undo",
    ),
]
