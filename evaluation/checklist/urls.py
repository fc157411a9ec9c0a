"""The route of the setup checklist."""

from django.urls import path

from evaluation.checklist import views

urlpatterns = [path("b/<slug:slug>/checklist/", views.checklist, name="checklist")]
