"""Addresses of voting plans and of consent."""

from django.urls import path

from annotate.plans import views

urlpatterns = [
    path("b/<slug:slug>/vote/consent/", views.consent, name="vote-consent"),
    path("b/<slug:slug>/voting/", views.voting, name="voting"),
    path("b/<slug:slug>/checks/", views.label_checks, name="label-checks"),
    path("b/<slug:slug>/voting/arms.csv", views.arms_csv, name="voting-arms"),
    path("b/<slug:slug>/voting/arms/", views.arms_items, name="voting-arms-items"),
    path("b/<slug:slug>/voting/pay.csv", views.pay_csv, name="voting-pay"),
]
