"""Routes of qualification."""

from django.urls import path

from annotate.exams import bank_views, views

_QUALIFICATION = "b/<slug:slug>/qualification"

urlpatterns = [
    path(f"{_QUALIFICATION}/", views.qualification, name="qualification"),
    path(f"{_QUALIFICATION}/domains/<int:pk>/start/", views.exam_start, name="exam-start"),
    path(f"{_QUALIFICATION}/sittings/<int:pk>/", views.exam, name="exam"),
    path(f"{_QUALIFICATION}/rules/", bank_views.qualification_rules, name="qualification-rules"),
    path(f"{_QUALIFICATION}/bank/", bank_views.exam_bank, name="exam-bank"),
    path(f"{_QUALIFICATION}/bank/<int:pk>/", bank_views.exam_item, name="exam-item"),
    path(
        f"{_QUALIFICATION}/bank/<int:pk>/retire/",
        bank_views.exam_item_retire,
        name="exam-item-retire",
    ),
]
