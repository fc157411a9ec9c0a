"""Routes of search agents."""

from django.urls import path

from evaluation.agents import views

_HERE = "b/<slug:slug>"
_RUN = f"{_HERE}/agents/<int:pk>"
_JUDGE = f"{_HERE}/judge-runs/<int:pk>"
urlpatterns = [
    path(f"{_HERE}/agents/", views.agent_runs, name="agent-runs"),
    path(f"{_HERE}/agents/new/", views.agent_run_new, name="agent-run-new"),
    path(f"{_HERE}/agents/forecast/", views.RUNS.forecasting, name="agent-forecast"),
    path(f"{_HERE}/agents/traces/<int:pk>/", views.agent_trace, name="agent-trace"),
    path(f"{_RUN}/", views.agent_run, name="agent-run"),
    path(f"{_RUN}/tokens/", views.agent_tokens, name="agent-tokens"),
    path(f"{_RUN}/judge/", views.agent_judge, name="agent-judge"),
    *views.RUNS.paths(_RUN),
    path(f"{_HERE}/judge-runs/try/", views.judge_trial, name="judge-trial"),
    path(f"{_JUDGE}/", views.judge_run, name="judge-run"),
    *views.JUDGES.paths(_JUDGE),
    path(f"{_HERE}/agent-board/", views.agent_board, name="agent-board"),
    path(f"{_HERE}/agent-board/<slug:name>.csv", views.agent_board_csv, name="agent-board-csv"),
]
