"""Routes of support."""

from django.urls import path

from evaluation.support import views

_HERE = "b/<slug:slug>/support"
_SET = f"{_HERE}/<int:pk>"
_RUN = "b/<slug:slug>/support-runs/<int:pk>"
urlpatterns = [
    path(f"{_HERE}/", views.support_sets, name="support-sets"),
    path(f"{_HERE}/import/", views.support_import, name="support-import"),
    path(f"{_HERE}/new/", views.support_new, name="support-new"),
    path(f"{_HERE}/forecast/", views.support_forecast, name="support-forecast"),
    path(f"{_SET}/", views.support_set, name="support-set"),
    path(f"{_SET}/judge/", views.support_judge, name="support-judge"),
    path(f"{_SET}/draw/", views.support_draw, name="support-draw"),
    path(f"{_SET}/answers/<slug:shape>.jsonl", views.support_export, name="support-export"),
    path(f"{_SET}/<slug:name>.csv", views.support_table, name="support-table"),
    path(
        f"{_HERE}/samples/<int:pk>/close/", views.support_sample_close, name="support-sample-close"
    ),
    path(f"{_RUN}/", views.support_run, name="support-run"),
    *views.RUNS.paths(_RUN),
]
