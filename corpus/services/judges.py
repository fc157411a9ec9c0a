"""Who gave a label: told by the event of its recording, for labels keep no person."""

from collections.abc import Iterable
from dataclasses import dataclass

from corpus.models import Judgment
from corpus.services.judgments import LABELLED, first_row
from kit.models import Event


@dataclass(frozen=True)
class Giver:
    """Keys of who judged, and of who let the label stand again by taking another one back."""

    judge: int | None = None
    restored_by: int | None = None


def givers(labels: Iterable[Judgment]) -> dict[int, Giver]:
    """By the labels' keys who gave them, in one query; nobody where a machine or an import did.

    A label that an undo restored is a row of its own, recorded by whoever undid; who judged
    stands in the event of the row it began as.
    """
    firsts = {each.pk: first_row(each) for each in labels}
    rows = Event.objects.filter(
        target_type=Judgment._meta.label_lower,
        target_id__in={str(key) for pair in firsts.items() for key in pair},
        verb=LABELLED,
        actor__isnull=False,
    )
    actors = {int(key): actor for key, actor in rows.values_list("target_id", "actor")}
    return {
        pk: Giver(actors.get(first), actors.get(pk) if pk != first else None)
        for pk, first in firsts.items()
    }
