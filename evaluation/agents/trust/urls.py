"""Routes of how far a judge can be trusted."""

from django.urls import path

from evaluation.agents.trust import views

_SAMPLES = "b/<slug:slug>/judge-samples"
_JUDGE = "b/<slug:slug>/judge-runs/<int:pk>"
_CALIBRATION = "b/<slug:slug>/agent-board/calibration"
urlpatterns = [
    path(f"{_CALIBRATION}/", views.agent_calibration, name="agent-calibration"),
    path(
        f"{_CALIBRATION}/<slug:name>.csv",
        views.agent_calibration_csv,
        name="agent-calibration-csv",
    ),
    path(f"{_JUDGE}/bridge/", views.judge_bridge, name="judge-bridge"),
    path(f"{_JUDGE}/<slug:name>.csv", views.judge_table, name="judge-table"),
    path(f"{_SAMPLES}/", views.judge_samples, name="judge-samples"),
    path(f"{_SAMPLES}/<int:pk>/", views.judge_sample, name="judge-sample"),
    path(f"{_SAMPLES}/<int:pk>/close/", views.judge_sample_close, name="judge-sample-close"),
]
