"""Routes of the annotate room's screens."""

from django.urls import path

from annotate.views import (
    aspects,
    batches,
    collecting,
    disputes,
    guidelines,
    home,
    passages,
    queries,
    verdicts,
    votes,
    voting,
)

_BATCH = "b/<slug:slug>/vote/batches/<int:pk>"
urlpatterns = [
    path("home/annotate/", home.annotate_home, name="annotate-home"),
    path("b/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
    path("b/<slug:slug>/vote/", votes.vote, name="vote"),
    path("b/<slug:slug>/vote/undo/", votes.vote_undo, name="vote-undo"),
    path("b/<slug:slug>/vote/<int:pk>/", votes.vote_case, name="vote-case"),
    path("b/<slug:slug>/vote/consent/", batches.consent, name="vote-consent"),
    path("b/<slug:slug>/vote/batches/", batches.batch_take, name="vote-batches"),
    path(f"{_BATCH}/", batches.batch_detail, name="vote-batch"),
    path(f"{_BATCH}/hand-in/", batches.batch_hand_in, name="vote-batch-hand-in"),
    path(f"{_BATCH}/return/", batches.batch_return, name="vote-batch-return"),
    path(f"{_BATCH}/<int:place>/", batches.batch_item, name="vote-item"),
    path("b/<slug:slug>/voting/", voting.voting, name="voting"),
    path("b/<slug:slug>/voting/arms.csv", voting.arms_csv, name="voting-arms"),
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
