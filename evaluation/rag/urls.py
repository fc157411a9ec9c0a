"""Routes of generated answers."""

from django.urls import path

from evaluation.rag import views

_HERE = "b/<slug:slug>"
_RUN = f"{_HERE}/rag/<int:pk>"
_GRADING = f"{_HERE}/grade-runs/<int:pk>"
urlpatterns = [
    path(f"{_HERE}/rag/", views.rag_runs, name="rag-runs"),
    path(f"{_HERE}/rag/new/", views.rag_run_new, name="rag-run-new"),
    path(f"{_HERE}/rag/forecast/", views.rag_forecast, name="rag-forecast"),
    path(f"{_HERE}/rag/answers/<int:pk>/", views.rag_answer, name="rag-answer"),
    path(f"{_RUN}/", views.rag_run, name="rag-run"),
    path(f"{_RUN}/grade/", views.rag_grade, name="rag-grade"),
    path(f"{_RUN}/people/", views.rag_draw, name="rag-draw"),
    path(f"{_HERE}/rag/samples/<int:pk>/close/", views.rag_sample_close, name="rag-sample-close"),
    *views.RUNS.paths(_RUN),
    path(f"{_GRADING}/", views.grade_run, name="grade-run"),
    *views.GRADINGS.paths(_GRADING),
    path(f"{_HERE}/rag-board/", views.rag_board, name="rag-board"),
    path(f"{_HERE}/rag-board/<slug:name>.csv", views.rag_board_csv, name="rag-board-csv"),
    path(f"{_HERE}/rag-board/cells/<int:pk>/", views.rag_cell, name="rag-cell"),
]
