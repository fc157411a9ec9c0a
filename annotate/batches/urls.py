"""Addresses of batches."""

from django.urls import path

from annotate.batches import services, views

_BATCH = "b/<slug:slug>/vote/batches/<int:pk>"

urlpatterns = [
    path("b/<slug:slug>/vote/batches/", views.batch_take, name="vote-batches"),
    path(f"{_BATCH}/", views.batch_detail, name="vote-batch"),
    path(
        f"{_BATCH}/hand-in/",
        views.batch_end,
        {"verb": services.submit_batch},
        name="vote-batch-hand-in",
    ),
    path(
        f"{_BATCH}/return/",
        views.batch_end,
        {"verb": services.return_batch},
        name="vote-batch-return",
    ),
    path(f"{_BATCH}/<int:place>/", views.batch_item, name="vote-item"),
]
