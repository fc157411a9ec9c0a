"""Route of scoring answers blind."""

from django.urls import path

from annotate.grading import views

urlpatterns = [
    path("b/<slug:slug>/answers/grade/", views.answer_grade, name="answer-grade"),
]
