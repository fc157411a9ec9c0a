"""Route of scoring answers blind."""

from django.urls import path

from annotate.grading import sentence_views, views

urlpatterns = [
    path("b/<slug:slug>/answers/grade/", views.answer_grade, name="answer-grade"),
    path("b/<slug:slug>/answers/support/", sentence_views.sentence_judge, name="sentence-judge"),
]
