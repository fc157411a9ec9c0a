"""The tools every room shares."""

from django.apps import AppConfig


class KitConfig(AppConfig):
    """Registers its rows; connects polling to Celery workers, mail, the sweeping of the disk, and
    what a sign-in leaves behind."""

    name = "kit"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from kit.account.links import mail_links
        from kit.account.sessions import note_sign_in
        from kit.database.space import give_back
        from kit.runs import polling
        from kit.runs.periodic import every

        polling.connect()
        user_logged_in.connect(note_sign_in, dispatch_uid="kit.account.sessions.note_sign_in")
        every(20, "sign-in links by mail", mail_links)
        every(10, "free pages", give_back)
