"""Routes of the annotate room's screens."""

from django.urls import include, path

from annotate import home
from annotate.answers import comparison_views as answer_rating
from annotate.answers import comparison_views as comparisons
from annotate.answers import views as answer_list
from annotate.answers import views as answer_versions
from annotate.answers import views as answers
from annotate.assignments import assigning
from annotate.assignments import views as work
from annotate.drafts import views as drafts
from annotate.exams import bank_views as exam_bank
from annotate.exams import views as exams
from annotate.guidelines import views as guidelines
from annotate.panels import labelling as panel_labels
from annotate.panels import labelling as spot_checks
from annotate.panels import views as panels
from annotate.review import rescoring_views as rescoring
from annotate.review import views as reviews
from annotate.workspace.views import (
    aspects,
    beside,
    carried,
    collecting,
    passages,
    queries,
    remaking,
    restructuring,
    segmenting,
)
from annotate.workspace.views import gold as audit
from annotate.workspace.views import gold as verdicts
from annotate.workspace.views import restructuring as history

_PANEL = "b/<slug:slug>/panels/<int:pk>"
_QUALIFICATION = "b/<slug:slug>/qualification"
_REVIEW = "b/<slug:slug>/reviews/<int:pk>"
_ANSWER = "b/<slug:slug>/queries/<int:pk>/answer"
_COMPARISON = "b/<slug:slug>/answers/comparisons/<int:pk>"

urlpatterns = [
    path("", include("annotate.voting.urls")),
    path("", include("annotate.batches.urls")),
    path("", include("annotate.plans.urls")),
    path("", include("annotate.feedback.urls")),
    path("", include("annotate.adjudication.urls")),
    path("b/<slug:slug>/versions/<int:pk>/work/", carried.version_work, name="version-work"),
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
    path("b/<slug:slug>/passages/", passages.passages, name="passages"),
    path("b/<slug:slug>/passages/<int:pk>/", passages.passage, name="passage"),
    path("b/<slug:slug>/queries/", queries.queries, name="queries"),
    path("b/<slug:slug>/queries/<int:pk>/", queries.query, name="query"),
    path("b/<slug:slug>/queries/<int:pk>/aspects/", aspects.aspect_add, name="aspect-add"),
    path("b/<slug:slug>/aspects/<int:pk>/", aspects.aspect_save, name="aspect-save"),
    path("b/<slug:slug>/aspects/<int:pk>/remove/", aspects.aspect_remove, name="aspect-remove"),
    path("b/<slug:slug>/aspects/<int:pk>/restore/", aspects.aspect_restore, name="aspect-restore"),
    path("b/<slug:slug>/aspects/<int:pk>/move/", aspects.aspect_move, name="aspect-move"),
    path("b/<slug:slug>/aspects/<int:pk>/split/", restructuring.aspect_split, name="aspect-split"),
    path("b/<slug:slug>/aspects/<int:pk>/merge/", restructuring.aspect_merge, name="aspect-merge"),
    path("b/<slug:slug>/queries/<int:pk>/scale/", restructuring.query_scale, name="query-scale"),
    path(
        "b/<slug:slug>/queries/<int:pk>/history/",
        history.aspect_history,
        name="aspect-history",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/history/<int:change_pk>/undo/",
        history.change_undo,
        name="change-undo",
    ),
    path("b/<slug:slug>/audit/", audit.audit, name="audit"),
    path("b/<slug:slug>/queries/<int:pk>/problems/", audit.problem_tag, name="problem-tag"),
    path("b/<slug:slug>/queries/<int:pk>/problems/off/", audit.problem_untag, name="problem-untag"),
    path(
        "b/<slug:slug>/queries/<int:pk>/passages/<int:passage_pk>/page/",
        remaking.passage_remake,
        name="passage-remake",
    ),
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
        segmenting.collect_page,
        name="collect-page",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/<int:page_pk>/segments/",
        segmenting.segment_add,
        name="segment-add",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/<int:page_pk>/segments/<int:passage_pk>/undo/",
        segmenting.segment_undo,
        name="segment-undo",
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/collect/<int:page_pk>/segments/<int:passage_pk>/move/",
        segmenting.segment_move,
        name="segment-move",
    ),
    path("b/<slug:slug>/guidelines/scale/", guidelines.weight_scale, name="weight-scale"),
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
