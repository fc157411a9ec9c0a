"""Addresses of feedback to voters."""

from django.urls import path

from annotate.feedback import views

_FEEDBACK = "b/<slug:slug>/feedback"

urlpatterns = [
    path(f"{_FEEDBACK}/", views.feedback, name="feedback"),
    path(f"{_FEEDBACK}/seen/", views.feedback_seen, name="feedback-seen"),
    path(f"{_FEEDBACK}/votes/<int:pk>/", views.feedback_vote, name="feedback-vote"),
    path(f"{_FEEDBACK}/people/<int:pk>/", views.feedback_of, name="feedback-of"),
]
