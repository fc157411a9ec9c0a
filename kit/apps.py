"""The tools every room shares."""

from django.apps import AppConfig


class KitConfig(AppConfig):
    """Registers its rows; connects polling to Celery workers, their heartbeat, mail, the sweep of
    the disk, the watch on slow queries and endless ones, and what a sign-in leaves behind."""

    name = "kit"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in
        from django.db.backends.signals import connection_created

        from kit.account.links import mail_links
        from kit.account.sessions import note_sign_in
        from kit.database.space import give_back
        from kit.database.time_limit import watch_steps
        from kit.health.logs import watch_queries
        from kit.runs import polling, workers
        from kit.runs.periodic import every

        polling.connect()
        user_logged_in.connect(note_sign_in, dispatch_uid="kit.account.sessions.note_sign_in")
        connection_created.connect(watch_queries, dispatch_uid="kit.health.logs.watch_queries")
        connection_created.connect(watch_steps, dispatch_uid="kit.database.time_limit")
        every(workers.EVERY, "heartbeat", workers.beat)
        every(20, "sign-in links by mail", mail_links)
        every(10, "free pages", give_back)
