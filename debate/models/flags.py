"""What the turns of a debate were flagged with, so that a long run is searched by it."""

from django.db import models

from debate.models.debates import Debate
from debate.models.runs import DebateRun


class DebateFlag(models.Model):
    """A debate of which at least one turn carries the flag (words of debate.dream.turns)."""

    run = models.ForeignKey(DebateRun, on_delete=models.CASCADE, related_name="flags")
    debate = models.ForeignKey(Debate, on_delete=models.CASCADE, related_name="+")
    flag = models.CharField(max_length=40)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["run", "flag", "debate"], name="flag_of_run")]
        constraints = [models.UniqueConstraint(fields=["debate", "flag"], name="flag_once")]

    def __str__(self) -> str:
        return f"{self.flag} in {self.debate}"
