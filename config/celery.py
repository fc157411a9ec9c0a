"""The Celery application; kit.runs.polling keeps its workers supplied from the database."""

import os
import warnings

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Every manage.py command makes Django's checks; they import all pages, which a worker never shows:
# half of its start and a fifth of its memory.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

# It warns of pickled messages from strangers; ours are JSON and, without a broker, in memory.
warnings.filterwarnings("ignore", category=SecurityWarning)

if os.environ.get("LOG_FORMAT") == "json":
    # Who sets up the log is us (config/settings.py); Celery would write lines of its own form.
    setup_logging.connect(lambda **_: None, weak=False)

app = Celery("assay")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
