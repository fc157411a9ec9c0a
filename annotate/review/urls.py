"""Routes of second reviews and of weights scored blind."""

from django.urls import path

from annotate.review import acts, forms, views
from annotate.review import rescoring_views as rescoring
from annotate.review.points import check_aspects

_REVIEW = "b/<slug:slug>/reviews/<int:pk>"

urlpatterns = [
    path("b/<slug:slug>/reviews/", views.reviews, name="reviews"),
    path("b/<slug:slug>/queries/<int:pk>/review/", views.review_start, name="review-start"),
    path(f"{_REVIEW}/", views.review, name="review"),
    path(f"{_REVIEW}/scores/", views.review_scores, name="review-scores"),
    path(
        f"{_REVIEW}/aspects/",
        views.review_act,
        {"form_class": forms.AspectsCheckForm, "act": check_aspects},
        name="review-aspects",
    ),
    path(
        f"{_REVIEW}/weights/<int:aspect_pk>/",
        views.review_act,
        {"form_class": forms.WeightCheckForm, "act": acts.check_weight},
        name="review-weight",
    ),
    path(
        f"{_REVIEW}/passages/<int:passage_pk>/",
        views.review_act,
        {"form_class": forms.PassageCheckForm, "act": acts.check_passage},
        name="review-passage",
    ),
    path(
        f"{_REVIEW}/points/<int:point_pk>/",
        views.review_act,
        {"form_class": forms.PointForm, "act": acts.answer},
        name="review-point",
    ),
    path(
        f"{_REVIEW}/move/<slug:verb>/",
        views.review_act,
        {"form_class": forms.MoveForm, "act": acts.move},
        name="review-move",
    ),
    path("b/<slug:slug>/rescoring/", rescoring.rescoring, name="rescoring"),
    path("b/<slug:slug>/rescoring/samples/", rescoring.rescore_samples, name="rescore-samples"),
]
