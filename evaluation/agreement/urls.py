"""Routes of the agreement pages."""

from django.urls import path

from evaluation.agreement import views

_AGREEMENT = "b/<slug:slug>/agreement"
urlpatterns = [
    path(f"{_AGREEMENT}/", views.agreement, name="agreement"),
    path(f"{_AGREEMENT}/<str:what>/", views.agreement, name="agreement-of"),
    path(f"{_AGREEMENT}/<str:what>/items/", views.agreement_items, name="agreement-items"),
    path(f"{_AGREEMENT}/<str:what>/<str:name>.csv", views.agreement_table, name="agreement-table"),
]
