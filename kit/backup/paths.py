"""Paths in rows that were written in another data folder."""

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models import F, Value
from django.db.models.functions import Concat, Substr


def move_paths(kind: type[models.Model], field: str, before: Path) -> None:
    """Let this field of all rows name the same files in the data folder of this installation."""
    if before == settings.ASSAY_DATA:
        return
    rows = kind._default_manager.filter(**{f"{field}__startswith": f"{before}/"})
    rest = Substr(F(field), len(str(before)) + 1)
    rows.update(**{field: Concat(Value(str(settings.ASSAY_DATA)), rest)})
