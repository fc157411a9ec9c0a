"""Routes of the debate room's screens."""

from django.urls import path

from debate.adoption import views as adoption
from debate.answers import views as answers
from debate.hints import views as hints
from debate.rehearings import views as rehearings
from debate.results import views as debates
from debate.runs import views as runs
from debate.spending import views as calls
from debate.trials import views as prompts

_RUN = "b/<slug:slug>/debates/<int:pk>"
_ANSWERS = "b/<slug:slug>/answers/runs"
_SPENDING = "b/<slug:slug>/spending"
_PAIR = f"{_RUN}/pairs/<int:debate>"
urlpatterns = [
    path(f"{_SPENDING}/", calls.call_list, name="spending"),
    path(f"{_SPENDING}/calls.csv", calls.call_csv, name="calls-csv"),
    path(f"{_SPENDING}/calls/<int:pk>/", calls.call_detail, name="call"),
    path(f"{_SPENDING}/totals/", calls.call_totals, name="call-totals"),
    path(f"{_SPENDING}/totals/<slug:name>.csv", calls.call_totals_csv, name="call-totals-csv"),
    path("b/<slug:slug>/debates/", runs.run_list, name="debate-runs"),
    path("b/<slug:slug>/debates/new/", runs.run_new, name="debate-run-new"),
    path(f"{_RUN}/", debates.run_detail, name="debate-run"),
    path(f"{_RUN}/adoption/", adoption.adoption, name="debate-run-adoption"),
    path(f"{_RUN}/adoption/undo/", adoption.adoption_undo, name="debate-run-unadopt"),
    path(f"{_RUN}/keep/", adoption.filter_keep, name="debate-run-keep"),
    path(f"{_RUN}/spending/", runs.run_spending, name="debate-run-spending"),
    path(f"{_RUN}/report/", debates.run_report, name="debate-run-report"),
    path(f"{_RUN}/report/<slug:name>.csv", debates.report_csv, name="debate-run-table"),
    path(f"{_RUN}/rehearing/", rehearings.rehearing_start, name="debate-run-rehear"),
    path(
        "b/<slug:slug>/disputes/<uuid:case>/rehearings/",
        rehearings.case_rehearings,
        name="case-rehearings",
    ),
    path(f"{_RUN}/audits/", debates.audit_draw, name="debate-run-audit"),
    path(f"{_RUN}/canaries/", prompts.canaries_start, name="debate-run-canaries"),
    path("b/<slug:slug>/prompts/", prompts.prompt_list, name="prompts"),
    path("b/<slug:slug>/prompts/<int:pk>/adopt/", prompts.prompt_adopt, name="prompt-adopt"),
    path("b/<slug:slug>/trials/<int:pk>/", prompts.trial_detail, name="trial"),
    path("b/<slug:slug>/trials/<int:pk>/cancel/", prompts.trial_cancel, name="trial-cancel"),
    path("b/<slug:slug>/panels/<int:pk>/reasons/", hints.panel_hints, name="panel-hints"),
    *hints.RUNS.paths("b/<slug:slug>/hint-runs/<int:pk>"),
    path(f"{_RUN}/pairs/", debates.debate_list, name="debates"),
    path(f"{_RUN}/pairs.csv", debates.debate_csv, name="debates-csv"),
    path(f"{_PAIR}/", debates.debate_detail, name="debate"),
    path(f"{_PAIR}/requeue/", runs.debate_requeue, name="debate-requeue"),
    path(f"{_RUN}/requeue/", runs.run_requeue, name="debate-run-requeue"),
    path(f"{_ANSWERS}/", answers.answer_runs, name="answer-runs"),
    path(f"{_ANSWERS}/new/", answers.answer_run_new, name="answer-run-new"),
    path(f"{_ANSWERS}/forecast/", answers.answer_forecast, name="answer-forecast"),
    path(f"{_ANSWERS}/<int:pk>/", answers.answer_run, name="answer-run"),
    path(f"{_ANSWERS}/<int:pk>/choose/", answers.answer_run_choose, name="answer-run-choose"),
    path(
        "b/<slug:slug>/queries/<int:pk>/answer/generate/",
        answers.answer_generate,
        name="answer-generate",
    ),
    *answers.RUNS.paths(f"{_ANSWERS}/<int:pk>"),
    *runs.RUNS.paths(_RUN),
]
