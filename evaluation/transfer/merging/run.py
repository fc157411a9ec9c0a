"""A merge from its first query to its last.

`there` is a copy of the file, which nobody sees. Query by query its rows are held against those of
here: by what they are about and the moment they were given. New ones are added; none of here is
changed but for the standing label, by the same precedence as always (corpus/judgments/services.py).
Where both weigh the same and differ, ours stands, theirs waits, and a conflict is listed. A row
that is there already is passed over, so that merging twice changes nothing.
"""

from collections.abc import Callable

from django.contrib.auth.models import User
from django.db import models, transaction

from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Query
from corpus.texts.indexing import Pace
from evaluation.transfer.claims import give
from evaluation.transfer.merging.aspects import merge_aspects, merge_gold
from evaluation.transfer.merging.history import merge_history
from evaluation.transfer.merging.labels import merge_labels
from evaluation.transfer.merging.panels import merge_panels
from evaluation.transfer.merging.reviews import merge_reviews
from evaluation.transfer.merging.rows import Rows, Told, What
from evaluation.transfer.merging.votes import merge_votes
from evaluation.transfer.models import Choice, MergeConflict
from kit.errors import Refused


class Merge:
    """One file's benchmark `there`, merged into `here`; `told` is what came of it.

    With `is_trial` everything is done and undone, query by query.
    """

    def __init__(
        self,
        here: Benchmark,
        there: Benchmark,
        *,
        digest: str,
        actor: User | None,
        is_trial: bool = False,
    ) -> None:
        self._there, self._is_trial = there, is_trial
        self.told = Told(here, digest, actor)

    def run(self, step: Callable[[int, int], object] = lambda *_: None) -> What:
        """Every query after the other, each in a transaction of its own; the report."""
        for stranger, person in self.told.claimed.items():
            try:
                with transaction.atomic():
                    give(self._there, stranger, person)
            except Refused as refusal:
                self.told.leave(f"the claim of {stranger.username}", str(refusal))
        rows = Query.objects.filter(domain__benchmark=self._there).select_related("domain")
        # No cursor stays open: SQLite would keep what it saw, and refuse to write after others.
        keys = list(rows.order_by("pk").values_list("pk", flat=True))
        pace = Pace(1)
        for done, key in enumerate(keys, start=1):
            theirs = rows.get(pk=key)
            ours = self._query(theirs)
            if ours is not None:
                of_query = Rows(self.told, ours, theirs)
                with pace.writing():
                    lock_queries([ours.pk])
                    _merge(of_query)
                    transaction.set_rollback(self._is_trial)
            step(done, len(keys))
        return self.told.report

    def _query(self, theirs: Query) -> Query | None:
        about = {"domain__benchmark": self.told.here, "domain__name": theirs.domain.name}
        ours = Query.objects.filter(qid=theirs.qid, **about).select_related("domain__benchmark")
        found = ours.first()
        if found is None:
            self.told.leave(str(theirs.qid), "a query that is not here")
        elif found.text != theirs.text:
            self.told.leave(str(theirs.qid), "its text is another one here")
            return None
        return found


def _merge(rows: Rows) -> None:
    """All kinds, what others lead to first."""
    merge_aspects(rows)
    merge_labels(rows)
    merge_gold(rows)
    merge_reviews(rows)
    merge_votes(rows)
    merge_panels(rows)
    merge_history(rows)
    rows.link()


def open_conflicts(benchmark: Benchmark) -> models.QuerySet[MergeConflict]:
    """Conflicts that nobody has chosen in."""
    rows = benchmark.merge_conflicts.filter(choice=Choice.OPEN)
    return rows.select_related("query__domain", "passage")
