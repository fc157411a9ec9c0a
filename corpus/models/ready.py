"""Rows that an import is still writing: in the tables already, and read by nobody else."""

from typing import TypeVar

from django.db import models

M = TypeVar("M", bound=models.Model)


class ReadyManager(models.Manager[M]):
    """Only rows whose load is over; `everything` beside it holds the others too.

    The first manager of a model is what its related managers read by: `benchmark.pools` leaves
    out what this leaves out.
    """

    flag = "is_ready"

    def get_queryset(self) -> models.QuerySet[M]:
        """Leave out what is still being loaded."""
        return super().get_queryset().filter(**{self.flag: True})


class OfReadyRunManager(ReadyManager[M]):
    """The same for rows whose run says it."""

    flag = "run__is_ready"
