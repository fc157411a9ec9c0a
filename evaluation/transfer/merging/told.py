"""What came of a merge: counts, what was left out and why, conflicts, events; and who is who."""

from collections import Counter
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import models

from corpus.models import Benchmark, Query
from evaluation.transfer.claims import claimed, erased_here
from evaluation.transfer.models import ConflictKind, MergeConflict
from evaluation.transfer.writing import pseudonyms
from kit import audit
from kit.account.names import ERASED

_SHOWN: Final = 1_000
What = dict[str, Any]


class Told:
    """Of one merge into `here` of the file with this digest."""

    def __init__(self, here: Benchmark, digest: str, actor: User | None) -> None:
        self.here, self.digest = here, digest
        self._actor = actor
        self.name = pseudonyms(here)
        # Whoever was erased here is somebody of here; other pseudonyms came with files.
        own = User.objects.exclude(username__startswith=ERASED).values_list("pk", flat=True)
        self._own = {self.name(pk): pk for pk in [*own, *erased_here()]}
        # Who a pseudonym is was said here: what the file says under it is theirs.
        self.claimed = claimed(here)
        self._known = {each.pk for each in self.claimed.values()}
        self.added: Counter[str] = Counter()
        self.present: Counter[str] = Counter()
        # Of there, what several queries share and this merge added.
        self.shared: set[models.Model] = set()
        self.left_out: list[What] = []
        self.conflicts: list[What] = []
        self.left_count = self.conflict_count = 0

    @property
    def report(self) -> What:
        """Counts by kind, what was left out and why, and the conflicts; the first thousand each."""
        return {
            "digest": self.digest,
            "added": dict(sorted(self.added.items())),
            "present": dict(sorted(self.present.items())),
            "left_out": self.left_out,
            "left_out_count": self.left_count,
            "conflicts": self.conflicts,
            "conflict_count": self.conflict_count,
        }

    def leave(self, what_is: str, why: str) -> None:
        """Note what was not added."""
        self.left_count += 1
        if len(self.left_out) < _SHOWN:
            self.left_out.append({"what": what_is, "why": why})

    def is_forged(self, *people: int | None) -> bool:
        """Whether a stand-in bears the pseudonym of somebody of here, whose record is here."""
        given = {pk for pk in people if pk is not None} - self._known
        return any(self.name(pk) in self._own for pk in given)

    def person(self, pk: int | None) -> int | None:
        """Who it is here, where something was said about somebody of here."""
        return None if pk is None else self._own.get(self.name(pk), pk)

    def note(self, row: models.Model, verb: str, **data: Any) -> None:
        """The event of what a merge changed."""
        data["from"] = self.digest
        scope = f"{self.here.slug}#merges"
        audit.record(actor=self._actor, verb=verb, target=row, scope=scope, data=data)

    def differ(
        self, kind: ConflictKind, query: Query, ours: str, theirs: str, **about: Any
    ) -> None:
        """List what both see differently; once, however often it is merged."""
        same = {
            "benchmark": self.here,
            "kind": kind,
            "query": query,
            "theirs": theirs,
            "ours": ours,
        }
        if MergeConflict.objects.filter(**same, **about).exists():
            return
        found = MergeConflict.objects.create(**same, **about, digest=self.digest)
        self.note(found, "list conflict", kind=kind.value)
        self.conflict_count += 1
        if len(self.conflicts) < _SHOWN:
            passage = about.get("passage")
            self.conflicts.append(
                {
                    "kind": kind.value,
                    "query": query.qid,
                    "passage": passage.pid if passage else "",
                    "ours": ours,
                    "theirs": theirs,
                }
            )
