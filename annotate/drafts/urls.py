"""Routes of my drafts."""

from django.urls import path

from annotate.drafts import views

urlpatterns = [
    path("drafts/", views.drafts, name="drafts"),
    path("drafts/<int:pk>/discard/", views.draft_discard, name="draft-discard"),
]
