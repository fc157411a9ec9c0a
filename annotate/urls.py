"""Routes of the annotate room's screens."""

from django.urls import include, path

from annotate import home
from annotate.adjudication import views as adjudication
from annotate.answers import comparison_views as answer_rating
from annotate.answers import comparison_views as comparisons
from annotate.answers import views as answer_list
from annotate.answers import views as answer_versions
from annotate.answers import views as answers
from annotate.batches import views as batches
from annotate.exams import bank_views as exam_bank
from annotate.exams import views as exams
from annotate.feedback import views as feedback
from annotate.panels import labelling as panel_labels
from annotate.panels import labelling as spot_checks
from annotate.panels import views as panels
from annotate.plans import views as voting
from annotate.review import rescoring_views as rescoring
from annotate.review import views as reviews
from annotate.voting import disputes
from annotate.voting import views as votes

_BATCH = "b/<slug:slug>/vote/batches/<int:pk>"
_PANEL = "b/<slug:slug>/panels/<int:pk>"
_QUALIFICATION = "b/<slug:slug>/qualification"
_REVIEW = "b/<slug:slug>/reviews/<int:pk>"
_ANSWER = "b/<slug:slug>/queries/<int:pk>/answer"
_COMPARISON = "b/<slug:slug>/answers/comparisons/<int:pk>"

urlpatterns = [
    path("", include("annotate.assignments.urls")),
    path("", include("annotate.drafts.urls")),
    path("", include("annotate.guidelines.urls")),
    path("", include("annotate.workspace.urls")),
    path("home/annotate/", home.annotate_home, name="annotate-home"),
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
    path("b/<slug:slug>/voting/arms/", voting.arms_items, name="voting-arms-items"),
    path("b/<slug:slug>/voting/pay.csv", voting.pay_csv, name="voting-pay"),
    path("b/<slug:slug>/feedback/", feedback.feedback, name="feedback"),
    path("b/<slug:slug>/feedback/seen/", feedback.feedback_seen, name="feedback-seen"),
    path("b/<slug:slug>/feedback/votes/<int:pk>/", feedback.feedback_vote, name="feedback-vote"),
    path("b/<slug:slug>/feedback/people/<int:pk>/", feedback.feedback_of, name="feedback-of"),
    path("b/<slug:slug>/panels/", panels.panels, name="panels"),
    path("b/<slug:slug>/panels/new/", panels.panel_new, name="panel-new"),
    path(f"{_PANEL}/", panels.panel, name="panel"),
    path(f"{_PANEL}/open/", panels.panel_open, name="panel-open"),
    path(f"{_PANEL}/close/", panels.panel_close, name="panel-close"),
    path(f"{_PANEL}/items/", panels.panel_items, name="panel-items"),
    path(f"{_PANEL}/tables/<slug:name>.csv", panels.panel_table, name="panel-table"),
    path(f"{_PANEL}/overrides/", panels.override_log, name="override-log"),
    path(f"{_PANEL}/overrides.csv", panels.override_log_csv, name="override-log-csv"),
    path(f"{_PANEL}/label/", panel_labels.panel_label, name="panel-label"),
    path(f"{_PANEL}/label/<int:item>/", panel_labels.panel_item, name="panel-item"),
    path(f"{_PANEL}/practice/<int:domain>/", panel_labels.panel_practice, name="panel-practice"),
    path(f"{_PANEL}/checks/", spot_checks.spot_checks, name="spot-checks"),
    path(f"{_PANEL}/checks/<int:item>/", spot_checks.spot_check, name="spot-check"),
    path("b/<slug:slug>/disputes/", disputes.disputes, name="disputes"),
    path("b/<slug:slug>/disputes/<int:pk>/", disputes.dispute, name="dispute"),
    path("b/<slug:slug>/reviews/", reviews.reviews, name="reviews"),
    path("b/<slug:slug>/queries/<int:pk>/review/", reviews.review_start, name="review-start"),
    path(f"{_REVIEW}/", reviews.review, name="review"),
    path(f"{_REVIEW}/scores/", reviews.review_scores, name="review-scores"),
    path(f"{_REVIEW}/aspects/", reviews.review_aspects, name="review-aspects"),
    path(f"{_REVIEW}/weights/<int:aspect_pk>/", reviews.review_weight, name="review-weight"),
    path(f"{_REVIEW}/passages/<int:passage_pk>/", reviews.review_passage, name="review-passage"),
    path(f"{_REVIEW}/points/<int:point_pk>/", reviews.review_point, name="review-point"),
    path(f"{_REVIEW}/move/<slug:verb>/", reviews.review_move, name="review-move"),
    path("b/<slug:slug>/adjudication/", adjudication.adjudication, name="adjudication"),
    path(
        "b/<slug:slug>/adjudication/next/",
        adjudication.adjudication_next,
        name="adjudication-next",
    ),
    path(
        "b/<slug:slug>/adjudication/undo/",
        adjudication.adjudication_undo,
        name="adjudication-undo",
    ),
    path("b/<slug:slug>/adjudication/<slug:name>/", adjudication.adjudicate, name="adjudicate"),
    path("b/<slug:slug>/rescoring/", rescoring.rescoring, name="rescoring"),
    path("b/<slug:slug>/rescoring/samples/", rescoring.rescore_samples, name="rescore-samples"),
    path("b/<slug:slug>/answers/", answer_list.answers, name="answers"),
    path("b/<slug:slug>/answers/rate/", answer_rating.answer_rate, name="answer-rate"),
    path("b/<slug:slug>/answers/comparisons/", comparisons.comparisons, name="comparisons"),
    path(f"{_COMPARISON}/", comparisons.comparison, name="comparison"),
    path(f"{_COMPARISON}/close/", comparisons.comparison_close, name="comparison-close"),
    path(f"{_COMPARISON}/ratings/", comparisons.comparison_ratings, name="comparison-ratings"),
    path(f"{_COMPARISON}/<slug:name>.csv", comparisons.comparison_table, name="comparison-table"),
    path(f"{_ANSWER}/", answers.answer, name="answer"),
    path(f"{_ANSWER}/check/", answers.answer_check, name="answer-check"),
    path(f"{_ANSWER}/history/", answer_versions.answer_history, name="answer-history"),
    path(f"{_ANSWER}/unchoose/", answer_versions.answer_unchoose, name="answer-unchoose"),
    *(
        path(f"{_ANSWER}/<int:answer_pk>/{verb}/", view, name=f"answer-{verb}")
        for verb, view in (
            ("restore", answer_versions.answer_restore),
            ("choose", answer_versions.answer_choose),
            ("review", answer_versions.answer_review),
        )
    ),
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
