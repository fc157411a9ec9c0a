"""Routes of the annotate room's screens."""

from django.urls import include, path

from annotate import home
from annotate.adjudication import views as adjudication
from annotate.assignments import assigning
from annotate.assignments import views as work
from annotate.batches import views as batches
from annotate.drafts import views as drafts
from annotate.feedback import views as feedback
from annotate.guidelines import views as guidelines
from annotate.plans import views as voting
from annotate.voting import disputes
from annotate.voting import views as votes
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

_BATCH = "b/<slug:slug>/vote/batches/<int:pk>"

urlpatterns = [
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
    path("", include("annotate.review.urls")),
    path("", include("annotate.panels.urls")),
    path("", include("annotate.exams.urls")),
    path("", include("annotate.answers.urls")),
]
