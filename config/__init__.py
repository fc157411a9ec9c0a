"""Settings, routes and entry points: names the rooms by string, is imported by none of them."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
