"""Routes of the guidelines and the weight scale."""

from django.urls import path

from annotate.guidelines import views

urlpatterns = [
    path("b/<slug:slug>/guidelines/", views.guidelines, name="guidelines"),
    path("b/<slug:slug>/guidelines/scale/", views.weight_scale, name="weight-scale"),
]
