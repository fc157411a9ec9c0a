"""Routes of experiments."""

from django.urls import path

from evaluation.experiments import views

_EXPERIMENT = "b/<slug:slug>/experiments/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/experiments/", views.experiment_list, name="experiments"),
    path(f"{_EXPERIMENT}/", views.experiment_detail, name="experiment"),
    path(f"{_EXPERIMENT}/runs.csv", views.experiment_csv, name="experiment-csv"),
    path(f"{_EXPERIMENT}/delete/", views.experiment_delete, name="experiment-delete"),
]
