"""Routes of the page of holes."""

from django.urls import path

from evaluation.holes import views

_HOLES = "b/<slug:slug>/holes"
urlpatterns = [
    path(f"{_HOLES}/", views.holes, name="holes"),
    path(f"{_HOLES}/growth.csv", views.holes_csv, name="holes-csv"),
    path(f"{_HOLES}/debate/", views.holes_debate, name="holes-debate"),
]
