"""Routes of training data."""

from django.urls import path

from evaluation.training import views

_ALL = "b/<slug:slug>/training"
_RUN = f"{_ALL}/<int:pk>"
urlpatterns = [
    path(f"{_ALL}/", views.RUNS.listing, name="training-runs"),
    path(f"{_ALL}/new/", views.training_run_new, name="training-run-new"),
    path(f"{_ALL}/forecast/", views.RUNS.forecasting, name="training-forecast"),
    path(f"{_RUN}/", views.training_run, name="training-run"),
    path(f"{_RUN}/ask/", views.training_ask, name="training-ask"),
    path(f"{_RUN}/export/<slug:shape>/", views.training_export, name="training-export"),
    *views.RUNS.paths(_RUN),
]
