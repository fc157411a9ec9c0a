"""One query: its rows there by kind, and what each is here.

What came of a merge is told beside it: counts, what was left out and why, conflicts, events; and
who is who."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import models

from annotate.models import (
    Adjudication,
    AspectChange,
    EscalationCase,
    GoldPassage,
    ProblemTag,
    ReviewPoint,
    SupportLabel,
)
from corpus.models import Benchmark, CollectedPage, Document, Judgment, Passage, Query, Source
from corpus.pages.services import growing_version
from evaluation.transfer import references
from evaluation.transfer.claims import claimed, erased_here
from evaluation.transfer.models import ConflictKind, MergeConflict
from evaluation.transfer.references import PERSON
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


class Rows:
    """What rows of the query `theirs` are in `ours`."""

    def __init__(self, told: Told, ours: Query, theirs: Query) -> None:
        self.told, self.ours, self.theirs = told, ours, theirs
        self._passages: dict[int, Passage | None] = {}
        # What is here of a row there, by model and key.
        self._here: dict[tuple[str, int], Any] = {(Query._meta.label, theirs.pk): ours}
        self._new: dict[tuple[str, int], Any] = {}
        self._find_passages()

    def add(self, row: Any, **changes: Any) -> Any:
        """A copy of a row of there, with these values, as of the moment it was given."""
        kind = type(row)
        fields = {f.attname: getattr(row, f.attname) for f in kind._meta.concrete_fields}
        fields.pop(kind._meta.pk.attname)
        fields.pop("public_id", None)
        made = kind(**fields)
        for name, value in changes.items():
            setattr(made, name, value)
        made.save(force_insert=True)
        if "created_at" in fields:
            kind._base_manager.filter(pk=made.pk).update(created_at=row.created_at)
            made.created_at = row.created_at
        named = kind._meta.label, row.pk
        self._here[named] = self._new[named] = made
        self.told.added[str(kind._meta.verbose_name)] += 1
        return made

    def shared(self, row: Any, **changes: Any) -> Any:
        """What rows of several queries belong to: the one of that moment here, else a copy."""
        kind = type(row)
        ours = kind.objects.filter(benchmark=self.told.here, created_at=row.created_at)
        if found := ours.first():
            self.lead(row, found)
        else:
            found = self.add(row, benchmark=self.told.here, **changes)
            self.told.note(found, f"merge {kind._meta.verbose_name}", query=self.ours.pk)
            if row in self.told.shared:  # a trial adds it with every query
                self.told.added[str(kind._meta.verbose_name)] -= 1
            self.told.shared.add(row)
        return found

    def match(self, row: Any, found: Any) -> Any:
        """The row is here already."""
        self.lead(row, found)
        self.told.present[str(row._meta.verbose_name)] += 1
        return found

    def lead(self, row: Any, found: Any) -> None:
        """What leads to the row there leads to this one here."""
        self._here[type(row)._meta.label, row.pk] = found

    def leave(self, row: Any, why: str) -> None:
        """The row is not added."""
        self.told.leave(f"{row._meta.verbose_name} of {self.ours.qid}", why)

    def led(self, kind: type[models.Model], key: int | None) -> Any:
        """What is here of a row of there; None where nothing is."""
        return self._here.get((kind._meta.label, key)) if key else None

    def is_new(self, kind: type[models.Model], key: int) -> bool:
        """Whether this merge added it."""
        return (kind._meta.label, key) in self._new

    # The passages that rows are about: of the same id and text here.

    def _find_passages(self) -> None:
        named: set[int | None] = set()
        for kind, query in (
            (Judgment.objects.exclude(source=Source.ORIGINAL), "query"),
            (SupportLabel.objects.all(), "aspect__query"),
            (GoldPassage.objects.all(), "query"),
            (EscalationCase.objects.all(), "query"),
            (ReviewPoint.objects.all(), "review__query"),
            (ProblemTag.objects.all(), "query"),
            (Adjudication.objects.all(), "query"),
        ):
            named |= {*kind.filter(**{query: self.theirs}).values_list("passage", flat=True)}
        for change in AspectChange.objects.filter(query=self.theirs):
            for each in [*change.before, *change.after]:
                named |= {*each.get("passages", [])}
        theirs = Passage.objects.filter(pk__in=[key for key in named if key]).select_related(
            "version", "document"
        )
        self._theirs = {each.pk: each for each in theirs}
        pids = {each.pid for each in self._theirs.values()}
        ours = Passage.objects.filter(domain=self.ours.domain_id, pid__in=pids)
        self._by_pid = by(ours.select_related("version").order_by("pk"), lambda each: each.pid)

    def passage(self, key: int) -> Passage | None:
        """The same passage here, or brought where an expert collected it."""
        if key not in self._passages:
            theirs = self._theirs[key]
            rows = self._by_pid[theirs.pid]
            same = [each for each in rows if each.text == theirs.text]
            best = [each for each in same if each.version.name == theirs.version.name]
            found = next(iter(best or same), None)
            if found is None and not rows and theirs.document is not None:
                found = self._bring(theirs, theirs.document)
            self._passages[key] = found
        return self._passages[key]

    def _bring(self, theirs: Passage, document: Document) -> Passage | None:
        page = CollectedPage.objects.filter(document=document).first()
        if page is None or document.version_id is not None:
            return None
        about = {"benchmark": self.told.here, "sha256": page.sha256}
        kept = CollectedPage.objects.filter(**about).select_related("document").first()
        if kept is None:
            document.pk, document.domain_id = None, self.ours.domain_id
            document.save(force_insert=True)
            page.pk, page.benchmark, page.document = None, self.told.here, document
            page.save(force_insert=True)
            kept = page
        theirs.pk, theirs.document, theirs.domain_id = None, kept.document, self.ours.domain_id
        theirs.version = growing_version(self.told.here)
        theirs.save(force_insert=True)
        self.told.added["collected passage"] += 1
        return theirs

    # Keys within JSON.

    def link(self) -> None:
        """What new rows say of others in JSON names those of here; what is not here goes."""
        for (label, name), rule in references.RULES.items():
            for (of, _), made in self._new.items():
                if of != label or not isinstance(given := getattr(made, name), (dict, list)):
                    continue
                found = references.change(rule, given, key=self._key, hashed=str)
                kept = _without_nothing(rule, given, found)
                type(made)._base_manager.filter(pk=made.pk).update(**{name: kept})

    def _key(self, target: str, key: Any) -> int:
        if target == PERSON:
            return self.told.person(key) or 0 if isinstance(key, int) else 0
        if target == Passage._meta.label:
            found = self.passage(key) if key in self._theirs else None
        else:
            found = self._here.get((target, key))
        return found.pk if found else 0


def _without_nothing(rule: references.Rule, given: Any, found: Any) -> Any:
    """Without the keys, of those that the rule names, that led to something and do not here."""
    named = rule if isinstance(rule, dict) else {}
    if isinstance(given, list):
        return [
            _without_nothing(named.get("*", ""), *both) for both in zip(given, found, strict=True)
        ]
    kept = {}
    for name, each in found.items():
        if name in named and each != given[name]:
            if each == 0 or (isinstance(each, str) and not references.leads_somewhere(each)):
                continue
            each = [key for key in each if key] if isinstance(each, list) else each
        kept[name] = each
    return kept


def merge_corrected(
    rows: Rows,
    kind: type[Any],
    about: str,
    giver: str,
    *,
    places: Mapping[int, Any],
    changed: Callable[[Any], dict[str, Any]] = lambda _: {},
) -> None:
    """Rows that are never changed, of a kind where a correction supersedes the one before it.

    `about` names what a row is about, of which its `giver` has one that counts, the newest.
    `places` is what that is here, by the key of a row there; `changed` gives a row's other values.
    """
    query = f"{about}__query"
    known = {
        (getattr(each, f"{about}_id"), each.created_at): each
        for each in kind.objects.filter(**{query: rows.ours})
    }
    standing = {
        (getattr(each, f"{about}_id"), getattr(each, f"{giver}_id")): each
        for each in kind.objects.standing().filter(**{query: rows.ours})
    }
    # The newest first: an older one names what replaced it.
    theirs = list(kind.objects.filter(**{query: rows.theirs}).order_by("-pk"))
    found = {
        row.pk: known.get((here.pk, row.created_at))
        for row in theirs
        if (here := places.get(row.pk))
    }
    renamed = _renamed(rows, theirs, found, f"{about}_id", f"{giver}_id")
    for row in theirs:
        here, after = places.get(row.pk), rows.led(kind, row.superseded_by_id)
        person = getattr(row, f"{giver}_id")
        if here is None:
            rows.leave(row, "what it is about is not here")
        elif same := found[row.pk]:
            rows.match(row, same)
        elif (getattr(row, f"{about}_id"), person) in renamed:
            rows.leave(row, "who gave it has another name here")
        elif row.superseded_by_id and after is None:
            rows.leave(row, "what replaced it is not here")
        elif rows.told.is_forged(person):
            rows.leave(row, "somebody of this installation said no such thing here")
        else:
            # Where its giver has another one here the newer counts.
            other = None if after else standing.get((here.pk, person))
            _add(rows, row, changed(row) | {about: here}, after, other)


def _renamed(
    rows: Rows, theirs: Iterable[Any], found: Mapping[int, Any], about: str, giver: str
) -> set[tuple[int, int]]:
    """(about what, by whom) of rows that stand under another name here, after a claim on one side:
    what else these people said of that there would count beside it."""
    name = rows.told.name
    return {
        (getattr(row, about), getattr(row, giver))
        for row in theirs
        if (same := found.get(row.pk)) and name(getattr(same, giver)) != name(getattr(row, giver))
    }


def _add(rows: Rows, row: Any, values: dict[str, Any], after: Any, other: Any) -> None:
    """Add a row that `after` replaced, or that replaces `other` or stands behind it, whichever is
    newer; never do two stand at any moment."""
    kind = type(row)
    counts = {"stands": True} if hasattr(kind, "stands") else {}
    history = dict.fromkeys(counts, False)
    values["superseded_by"] = after or other
    made = rows.add(row, **values, **(history if other else {}))
    if other is not None and other.created_at < row.created_at:
        kind.objects.filter(pk=other.pk).update(superseded_by=made, **history)
        kind.objects.filter(pk=made.pk).update(superseded_by=None, **counts)
    rows.told.note(made, f"merge {kind._meta.verbose_name}", query=rows.ours.pk)


def by(rows: Iterable[Any], key: Callable[[Any], Any]) -> "defaultdict[Any, list[Any]]":
    """Rows in their order, by a key."""
    found: defaultdict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found
