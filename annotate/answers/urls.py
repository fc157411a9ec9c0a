"""Routes of reference answers and their blind comparisons."""

from django.urls import path

from annotate.answers import comparison_views as comparing
from annotate.answers import short_views, views

_ANSWER = "b/<slug:slug>/queries/<int:pk>/answer"
_COMPARISON = "b/<slug:slug>/answers/comparisons/<int:pk>"

urlpatterns = [
    path("b/<slug:slug>/answers/", views.answers, name="answers"),
    path("b/<slug:slug>/answers/rate/", comparing.answer_rate, name="answer-rate"),
    path("b/<slug:slug>/answers/comparisons/", comparing.comparisons, name="comparisons"),
    path(f"{_COMPARISON}/", comparing.comparison, name="comparison"),
    path(f"{_COMPARISON}/close/", comparing.comparison_close, name="comparison-close"),
    path(f"{_COMPARISON}/ratings/", comparing.comparison_ratings, name="comparison-ratings"),
    path(f"{_COMPARISON}/<slug:name>.csv", comparing.comparison_table, name="comparison-table"),
    path(
        "b/<slug:slug>/queries/<int:pk>/short-answers/",
        short_views.short_answers,
        name="short-answers",
    ),
    path(f"{_ANSWER}/", views.answer, name="answer"),
    path(f"{_ANSWER}/check/", views.answer_check, name="answer-check"),
    path(f"{_ANSWER}/history/", views.answer_history, name="answer-history"),
    path(f"{_ANSWER}/unchoose/", views.answer_unchoose, name="answer-unchoose"),
    *(
        path(f"{_ANSWER}/<int:answer_pk>/{verb}/", view, name=f"answer-{verb}")
        for verb, view in (
            ("restore", views.answer_restore),
            ("choose", views.answer_choose),
            ("review", views.answer_review),
        )
    ),
]
