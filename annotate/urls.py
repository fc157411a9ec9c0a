"""Routes of the annotate room's screens."""

from django.urls import path

from annotate.views import (
    aspects,
    collecting,
    disputes,
    exam_bank,
    exams,
    guidelines,
    home,
    passages,
    queries,
    rescoring,
    reviews,
    verdicts,
    votes,
)

_QUALIFICATION = "b/<slug:slug>/qualification"
_REVIEW = "b/<slug:slug>/reviews/<int:pk>"

urlpatterns = [
    path("home/annotate/", home.annotate_home, name="annotate-home"),
    path("b/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
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
    path("b/<slug:slug>/reviews/", reviews.reviews, name="reviews"),
    path("b/<slug:slug>/queries/<int:pk>/review/", reviews.review_start, name="review-start"),
    path(f"{_REVIEW}/", reviews.review, name="review"),
    path(f"{_REVIEW}/scores/", reviews.review_scores, name="review-scores"),
    path(f"{_REVIEW}/aspects/", reviews.review_aspects, name="review-aspects"),
    path(f"{_REVIEW}/weights/<int:aspect_pk>/", reviews.review_weight, name="review-weight"),
    path(f"{_REVIEW}/passages/<int:passage_pk>/", reviews.review_passage, name="review-passage"),
    path(f"{_REVIEW}/points/<int:point_pk>/", reviews.review_point, name="review-point"),
    path(f"{_REVIEW}/move/<slug:verb>/", reviews.review_move, name="review-move"),
    path("b/<slug:slug>/rescoring/", rescoring.rescoring, name="rescoring"),
    path("b/<slug:slug>/rescoring/samples/", rescoring.rescore_samples, name="rescore-samples"),
    path(f"{_QUALIFICATION}/", exams.qualification, name="qualification"),
    path(f"{_QUALIFICATION}/domains/<int:pk>/start/", exams.exam_start, name="exam-start"),
    path(f"{_QUALIFICATION}/sittings/<int:pk>/", exams.exam, name="exam"),
    path(f"{_QUALIFICATION}/rules/", exam_bank.qualification_rules, name="qualification-rules"),
    path(f"{_QUALIFICATION}/bank/", exam_bank.exam_bank, name="exam-bank"),
    path(f"{_QUALIFICATION}/bank/<int:pk>/", exam_bank.exam_item, name="exam-item"),
    path(
        f"{_QUALIFICATION}/bank/<int:pk>/retire/",
        exam_bank.exam_item_retire,
        name="exam-item-retire",
    ),
]
