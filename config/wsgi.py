"""WSGI entry for gunicorn."""

import gc
import os
import sys

from django.core.wsgi import get_wsgi_application
from django.urls import resolve

from kit.turns import Turns

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = Turns(get_wsgi_application())

# Whoever holds the lock of a database asks for the interpreter after every statement; by default a
# busy thread lets it wait for 5 ms each time, and everybody else waits with it.
sys.setswitchinterval(0.0005)

# What is imported now stays for good. The collector need not walk through it again and again: each
# walk would hold up one request in a hundred for a tenth of a second.
resolve("/")
gc.collect()
gc.freeze()
