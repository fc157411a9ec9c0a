"""Cases that are debated again with what a voter said (docs/protocol.md X07)."""

from django.db import models
from django.db.models import Q

from annotate.models import EscalationCase, Vote
from debate.runs.models import Debate

# A case is debated again so often at most: each time with one more voter's reason.
STOP = 3


class Rehearing(models.Model):
    """One debate of a case that people decided, with the reason of one more vote in its history.

    The link stands here alone: neither vote nor case knows of it, and nothing that it brings is a
    vote or a label.
    """

    debate = models.OneToOneField(Debate, on_delete=models.PROTECT, related_name="rehearing")
    case = models.ForeignKey(EscalationCase, on_delete=models.PROTECT, related_name="+")
    vote = models.ForeignKey(Vote, on_delete=models.PROTECT, related_name="+")
    number = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["case", "number"], name="rehearing_once"),
            models.UniqueConstraint(fields=["vote"], name="vote_heard_once"),
            models.CheckConstraint(
                condition=Q(number__gte=1, number__lte=STOP), name="rehearings_stop"
            ),
        ]

    def __str__(self) -> str:
        return f"rehearing {self.number} of {self.case}"
