"""The tools every room shares."""

from django.apps import AppConfig


class KitConfig(AppConfig):
    """Registers Event and SignInLink; connects polling to Celery workers."""

    name = "kit"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kit.runs import polling

        polling.connect()
