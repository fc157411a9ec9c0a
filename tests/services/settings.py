"""The product's settings with a queue of one's own: tests share a broker with whoever is there."""

import os

from config.settings import *  # noqa: F403

CELERY_TASK_DEFAULT_QUEUE = os.environ["ASSAY_TEST_QUEUE"]
