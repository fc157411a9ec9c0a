"""The tools every room shares."""

from django.apps import AppConfig


class KitConfig(AppConfig):
    """Registers Event and SignInLink; connects the sweep to Celery workers."""

    name = "kit"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kit.runs import sweep

        sweep.connect()
