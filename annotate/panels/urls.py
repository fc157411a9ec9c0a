"""Routes of reference panels and their spot checks."""

from django.urls import path

from annotate.panels import labelling_views as labelling
from annotate.panels import views

_PANEL = "b/<slug:slug>/panels/<int:pk>"

urlpatterns = [
    path("b/<slug:slug>/panels/", views.panels, name="panels"),
    path("b/<slug:slug>/panels/new/", views.panel_new, name="panel-new"),
    path(f"{_PANEL}/", views.panel, name="panel"),
    path(f"{_PANEL}/open/", views.panel_open, name="panel-open"),
    path(f"{_PANEL}/close/", views.panel_close, name="panel-close"),
    path(f"{_PANEL}/items/", views.panel_items, name="panel-items"),
    path(f"{_PANEL}/tables/<slug:name>.csv", views.panel_table, name="panel-table"),
    path(f"{_PANEL}/overrides/", views.override_log, name="override-log"),
    path(f"{_PANEL}/overrides.csv", views.override_log_csv, name="override-log-csv"),
    path(f"{_PANEL}/label/", labelling.panel_label, name="panel-label"),
    path(f"{_PANEL}/label/<int:item>/", labelling.panel_item, name="panel-item"),
    path(f"{_PANEL}/practice/<int:domain>/", labelling.panel_practice, name="panel-practice"),
    path(f"{_PANEL}/checks/", labelling.spot_checks, name="spot-checks"),
    path(f"{_PANEL}/checks/<int:item>/", labelling.spot_check, name="spot-check"),
]
