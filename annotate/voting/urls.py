"""Addresses of voting and of disputes."""

from django.urls import path

from annotate.voting import disputes, views

urlpatterns = [
    path("b/<slug:slug>/vote/", views.vote, name="vote"),
    path("b/<slug:slug>/vote/undo/", views.vote_undo, name="vote-undo"),
    path("b/<slug:slug>/vote/<uuid:case>/", views.vote_case, name="vote-case"),
    path("b/<slug:slug>/disputes/", disputes.disputes, name="disputes"),
    path("b/<slug:slug>/disputes/<uuid:case>/", disputes.dispute, name="dispute"),
]
