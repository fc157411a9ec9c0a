"""Routes of releases."""

from django.urls import path

from evaluation.releases import views

_ONE = "b/<slug:slug>/releases/<int:pk>"
_PUSH = "b/<slug:slug>/pushes/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/releases/", views.release_list, name="releases"),
    path(f"{_ONE}/", views.release_detail, name="release"),
    *views.RUNS.paths(_ONE),
    path(f"{_ONE}/push/", views.release_push, name="release-push"),
    path(f"{_PUSH}/", views.push_detail, name="push"),
    *views.PUSHES.paths(_PUSH),
    path(f"{_ONE}/since/<int:older>/", views.release_diff, name="release-diff"),
    path(f"{_ONE}/since/<int:older>/changelog/", views.release_changelog, name="release-changelog"),
    path(f"{_ONE}/archive/", views.release_archive, name="release-archive"),
    path(f"{_ONE}/files/<path:path>", views.release_file, name="release-file"),
]
