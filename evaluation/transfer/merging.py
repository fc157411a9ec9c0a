"""What people and machines said of one benchmark elsewhere, added to what was said here.

`there` is a copy of the file, which nobody sees. Query by query its rows are held against those of
here: by what they are about and the moment they were given. New ones are added; none of here is
changed but for the standing label, by the same precedence as always (corpus/judgments/services.py).
Where both weigh the same and differ, ours stands, theirs waits, and a conflict is listed. A row
that is there already is passed over, so that merging twice changes nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import models, transaction

from annotate.models import (
    Aspect,
    CaseStatus,
    EscalationCase,
    GoldPassage,
    Review,
    ReviewPoint,
    ReviewTurn,
    SupportLabel,
    Vote,
    WeightScore,
)
from annotate.review.models import OVER
from annotate.voting.cases import settle
from annotate.voting.models import CaseKind, VoteStatus
from corpus.judgments.services import LABELLED, lock_queries, weigh, what
from corpus.models import (
    Benchmark,
    CollectedPage,
    Document,
    Judgment,
    Passage,
    Query,
    Source,
    Status,
)
from corpus.pages.services import growing_version
from corpus.texts.indexing import Pace
from evaluation.transfer import references
from evaluation.transfer.models import Choice, ConflictKind, MergeConflict
from evaluation.transfer.writing import pseudonyms
from kit import audit
from kit.account.people import ERASED
from kit.models import Event

_SHOWN: Final = 1_000
Told = dict[str, Any]


class Merge:
    """One file's benchmark `there`, merged into `here`; `report` is what came of it.

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
        self.here, self.there, self.digest = here, there, digest
        self._actor, self._is_trial = actor, is_trial
        self._names = pseudonyms(here)
        own = User.objects.exclude(username__startswith=ERASED).values_list("pk", flat=True)
        self._own = {self._names(pk) for pk in own}
        self.added: Counter[str] = Counter()
        self.present: Counter[str] = Counter()
        self.left_out: list[Told] = []
        self.conflicts: list[Told] = []
        self.left_count = self.conflict_count = 0

    @property
    def report(self) -> Told:
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

    def run(self, step: Callable[[int, int], object] = lambda *_: None) -> Told:
        """Every query after the other, each in a transaction of its own."""
        rows = Query.objects.filter(domain__benchmark=self.there).select_related("domain")
        # No cursor stays open: SQLite would keep what it saw, and refuse to write after others.
        keys = list(rows.order_by("pk").values_list("pk", flat=True))
        pace = Pace(1)
        for done, key in enumerate(keys, start=1):
            theirs = rows.get(pk=key)
            ours = self._query(theirs)
            if ours is not None:
                of_query = _OfQuery(self, ours, theirs)
                with pace.writing():
                    lock_queries([ours.pk])
                    of_query.merge()
                    transaction.set_rollback(self._is_trial)
            step(done, len(keys))
        return self.report

    def _query(self, theirs: Query) -> Query | None:
        about = {"domain__benchmark": self.here, "domain__name": theirs.domain.name}
        ours = Query.objects.filter(qid=theirs.qid, **about).select_related("domain__benchmark")
        found = ours.first()
        if found is None:
            self.leave(str(theirs.qid), "a query that is not here")
        elif found.text != theirs.text:
            self.leave(str(theirs.qid), "its text is another one here")
            return None
        return found

    def leave(self, what_is: str, why: str) -> None:
        """Note what was not added."""
        self.left_count += 1
        if len(self.left_out) < _SHOWN:
            self.left_out.append({"what": what_is, "why": why})

    def name(self, person: int) -> str:
        """Who it is, in files of this benchmark."""
        return self._names(person)

    def is_forged(self, person: int) -> bool:
        """Whether a stand-in bears the pseudonym of somebody of here, whose record is here."""
        return self._names(person) in self._own

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


class _OfQuery:
    """One query: its rows there by kind, and what each is here."""

    def __init__(self, merge: Merge, ours: Query, theirs: Query) -> None:
        self.merge_of, self.ours, self.theirs = merge, ours, theirs
        self._passages: dict[int, Passage | None] = {}
        # What is here of a row there, by model and key.
        self._here: dict[tuple[type[models.Model], int], Any] = {}
        self._new: set[tuple[type[models.Model], int]] = set()
        self._find_passages()

    def merge(self) -> None:
        """All kinds, what others lead to first."""
        self._merge_aspects()
        self._merge_labels(
            Judgment, Judgment.objects.filter(query=self.theirs).exclude(source=Source.ORIGINAL)
        )
        self._merge_labels(SupportLabel, SupportLabel.objects.filter(aspect__query=self.theirs))
        self._merge_gold()
        self._merge_reviews()
        self._merge_votes()
        self._link_labels()

    # What rows are here.

    def _add(self, row: Any, **changes: Any) -> Any:
        """A copy of a row of there, with these values, as of the moment it was given."""
        kind, moment, key = type(row), row.created_at, row.pk
        fields = {f.attname: getattr(row, f.attname) for f in kind._meta.concrete_fields}
        fields.pop(kind._meta.pk.attname)
        fields.pop("public_id", None)
        made = kind(**fields)
        for name, value in changes.items():
            setattr(made, name, value)
        made.save(force_insert=True)
        kind._base_manager.filter(pk=made.pk).update(created_at=moment)
        made.created_at = moment
        self._here[kind, key] = made
        self._new.add((kind, key))
        self.merge_of.added[str(kind._meta.verbose_name)] += 1
        return made

    def _match(self, row: Any, found: Any) -> Any:
        self._here[type(row), row.pk] = found
        self.merge_of.present[str(row._meta.verbose_name)] += 1
        return found

    def _leave(self, row: Any, why: str) -> None:
        self.merge_of.leave(f"{row._meta.verbose_name} of {self.ours.qid}", why)

    def _led(self, kind: type[models.Model], key: int | None) -> Any:
        return self._here.get((kind, key)) if key else None

    def _find_passages(self) -> None:
        """The passages that rows are about: of the same id and text here."""
        named: set[int | None] = set()
        for kind, query in (
            (Judgment.objects.exclude(source=Source.ORIGINAL), "query"),
            (SupportLabel.objects.all(), "aspect__query"),
            (GoldPassage.objects.all(), "query"),
            (EscalationCase.objects.all(), "query"),
            (ReviewPoint.objects.all(), "review__query"),
        ):
            named |= {*kind.filter(**{query: self.theirs}).values_list("passage", flat=True)}
        theirs = Passage.objects.filter(pk__in=[key for key in named if key]).select_related(
            "version", "document"
        )
        self._theirs = {each.pk: each for each in theirs}
        pids = {each.pid for each in self._theirs.values()}
        ours = Passage.objects.filter(domain=self.ours.domain_id, pid__in=pids)
        self._by_pid = _by(ours.select_related("version").order_by("pk"), lambda each: each.pid)

    def _passage(self, key: int) -> Passage | None:
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
        about = {"benchmark": self.merge_of.here, "sha256": page.sha256}
        kept = CollectedPage.objects.filter(**about).select_related("document").first()
        if kept is None:
            document.pk, document.domain_id = None, self.ours.domain_id
            document.save(force_insert=True)
            page.pk, page.benchmark, page.document = None, self.merge_of.here, document
            page.save(force_insert=True)
            kept = page
        theirs.pk, theirs.document, theirs.domain_id = None, kept.document, self.ours.domain_id
        theirs.version = growing_version(self.merge_of.here)
        theirs.save(force_insert=True)
        self.merge_of.added["collected passage"] += 1
        return theirs

    # Aspects, with their gold and reviews.

    def _merge_aspects(self) -> None:
        ours = list(Aspect.objects.filter(query=self.ours).order_by("pk"))
        by_moment = _by(ours, lambda each: each.created_at)
        had_some, last = bool(ours), max((each.k for each in ours), default=0)
        brought = []
        for row in Aspect.objects.filter(query=self.theirs).order_by("pk"):
            if same := by_moment[row.created_at]:
                self._match_aspect(row, same.pop(0))
                continue
            stands = row.removed_at is None
            changes: Told = {"query": self.ours}
            if had_some:
                last += 1
                changes["k"] = last
                changes["removed_at"] = row.removed_at or row.created_at
            made = self._add(row, **changes)
            self.merge_of.note(made, "merge aspect", query=self.ours.pk)
            if had_some and stands:
                brought.append(row)
        if brought:
            present = [each.content for each in ours if each.removed_at is None]
            self.merge_of.differ(
                ConflictKind.ASPECTS,
                self.ours,
                " · ".join(present),
                " · ".join(each.content for each in brought),
            )

    def _match_aspect(self, row: Aspect, found: Aspect) -> None:
        self._match(row, found)
        said = [_of_aspect(each) for each in (found, row)]
        if said[0] != said[1]:
            self.merge_of.differ(ConflictKind.ASPECT, self.ours, *said, aspect=found)

    def _merge_gold(self) -> None:
        rows = GoldPassage.objects.filter(query=self.ours)
        known = {(each.aspect_id, each.passage_id, each.created_at): each for each in rows}
        standing = {each.passage_id: each for each in rows if each.ended_at is None}
        for row in GoldPassage.objects.filter(query=self.theirs).order_by("pk"):
            aspect, passage = self._led(Aspect, row.aspect_id), self._passage(row.passage_id)
            if passage is None:
                self._leave(row, "its passage is not here")
                continue
            if found := known.get((aspect.pk, passage.pk, row.created_at)):
                self._match(row, found)
                continue
            ended, other = row.ended_at, standing.get(passage.pk)
            if ended is None and (other is not None or aspect.removed_at is not None):
                ended = row.created_at
                if other is not None and other.aspect_id != aspect.pk:
                    said = [f"a{other.aspect.k}", f"a{aspect.k}"]
                    self.merge_of.differ(ConflictKind.GOLD, self.ours, *said, passage=passage)
            made = self._add(
                row,
                query=self.ours,
                aspect=aspect,
                passage=passage,
                ended_at=ended,
                judgment=self._led(Judgment, row.judgment_id),
                ended_by=self._led(Judgment, row.ended_by_id),
            )
            self.merge_of.note(made, "merge gold", query=self.ours.pk)

    def _merge_reviews(self) -> None:
        known = {each.created_at: each for each in Review.objects.filter(query=self.ours)}
        for row in Review.objects.filter(query=self.theirs).order_by("pk"):
            if found := known.get(row.created_at):
                self._match(row, found)
            elif row.status not in OVER:
                self._leave(row, "it goes on there")
            else:
                made = self._add(row, query=self.ours)
                self.merge_of.note(made, "merge review", query=self.ours.pk)
        points = ReviewPoint.objects.filter(review__query=self.theirs).order_by("pk")
        for point in points:
            review = self._led(Review, point.review_id)
            if (Review, point.review_id) in self._new:
                passage = self._passage(point.passage_id) if point.passage_id else None
                self._add_plain(
                    point, review=review, aspect=self._led(Aspect, point.aspect_id), passage=passage
                )
        for said in ReviewTurn.objects.filter(review__query=self.theirs).order_by("pk"):
            if (Review, said.review_id) in self._new:
                review = self._led(Review, said.review_id)
                self._add_plain(said, review=review, point=self._led(ReviewPoint, said.point_id))
        self._merge_scores()

    def _add_plain(self, row: Any, **changes: Any) -> None:
        """A copy of a row that comes with another one."""
        kind, key = type(row), row.pk
        moment = getattr(row, "created_at", None)
        row.pk = None
        row._state.adding = True
        for name, value in changes.items():
            setattr(row, name, value)
        row.save(force_insert=True)
        if moment and any(f.name == "created_at" for f in kind._meta.concrete_fields):
            kind._base_manager.filter(pk=row.pk).update(created_at=moment)
        self._here[kind, key] = row
        self.merge_of.added[str(kind._meta.verbose_name)] += 1

    def _merge_scores(self) -> None:
        rows = WeightScore.objects.filter(aspect__query=self.ours)
        known = {(each.aspect_id, each.created_at): each for each in rows}
        for row in WeightScore.objects.filter(aspect__query=self.theirs).order_by("-pk"):
            aspect, review = self._led(Aspect, row.aspect_id), self._led(Review, row.review_id)
            if found := known.get((aspect.pk, row.created_at)):
                self._match(row, found)
            elif review is None:
                self._leave(row, "its review or sample is not here")
            elif self.merge_of.is_forged(row.scorer_id):
                self._leave(row, "somebody of this installation gave no such score here")
            else:
                after = self._led(WeightScore, row.superseded_by_id)
                made = self._add(row, aspect=aspect, review=review, task=None, superseded_by=after)
                self.merge_of.note(made, "merge score", query=self.ours.pk)

    # Labels of pairs, and of the support of aspects.

    def _merge_labels(self, kind: type[Any], theirs: models.QuerySet[Any]) -> None:
        about = {"query": self.ours} if kind is Judgment else {"aspect__query": self.ours}
        ours = list(kind.objects.filter(**about).exclude(source=Source.ORIGINAL).order_by("pk"))
        known = _by(ours, _identity)
        standing = {_pair(each): each for each in ours if each.status == Status.STANDING}
        rows = list(theirs.order_by("pk"))
        places = {row.pk: self._place(row) for row in rows}
        changed: list[tuple[Any, Any]] = []
        for row in rows:
            place = places[row.pk]
            if place is None:
                continue
            if same := known[(*place, *_said(row))]:
                self._match(row, same.pop(0))
                continue
            # Whether it stands is said below: two of a pair must not, not even for a moment.
            status = Status.TRIAL if row.status == Status.TRIAL else Status.SUPERSEDED
            names = ("query_id", "passage_id") if kind is Judgment else ("aspect_id", "passage_id")
            made = self._add(
                row,
                **dict(zip(names, place, strict=True)),
                status=status,
                superseded_by=None,
                provenance={**row.provenance, "merged": self.merge_of.digest},
            )
            changed.append((row, made))
        history = {
            self._here[kind, row.pk].pk
            for row in rows
            if row.status != Status.STANDING and (kind, row.pk) in self._here
        }
        for row, made in changed:
            if row.status == Status.STANDING:
                self._stand(made, standing.get(_pair(made)), history)
            elif after := self._led(kind, row.superseded_by_id):
                made.superseded_by = after
                made.save(update_fields=["superseded_by"])
            self._note_label(row, made)
        self._list_withdrawn(kind, rows, standing, places)

    def _list_withdrawn(
        self, kind: type[Any], rows: list[Any], ours: dict[Any, Any], places: dict[int, Any]
    ) -> None:
        """One side took a label back that the other still has, and has none in its place."""
        theirs = {places[row.pk] for row in rows if row.status == Status.STANDING}
        is_pair = kind is Judgment
        what_kind = ConflictKind.LABEL if is_pair else ConflictKind.SUPPORT
        for row in rows:
            found = self._led(kind, row.pk)
            if found is None or (kind, row.pk) in self._new:
                continue
            place = _pair(found)
            is_here, is_there = found.status == Status.STANDING, row.status == Status.STANDING
            said = [_in_words(found) if stands else "taken back" for stands in (is_here, is_there)]
            other = theirs if is_here else ours
            if is_here != is_there and place not in other:
                self.merge_of.differ(what_kind, self.ours, *said, passage=found.passage)

    def _place(self, row: Any) -> tuple[int, int] | None:
        """What a label is about, here."""
        passage = self._passage(row.passage_id)
        if passage is None:
            self._leave(row, "its passage is not here, or has another text")
            return None
        if isinstance(row, Judgment):
            return self.ours.pk, passage.pk
        return self._led(Aspect, row.aspect_id).pk, passage.pk

    def _stand(self, made: Any, ours: Any, history: set[int]) -> None:
        """Let their standing label count, wait, or be history, as the module says."""
        if ours is None or ours.pk in history or weigh(made) > weigh(ours):
            if ours is not None:
                type(ours).objects.filter(pk=ours.pk).update(status=Status.SUPERSEDED)
            made.status = Status.STANDING
            made.save(update_fields=["status"])
            if ours is not None:
                type(ours).objects.filter(pk=ours.pk).update(superseded_by=made)
                self.merge_of.note(ours, "label superseded by merge", by=made.pk)
            return
        if weigh(made) == weigh(ours) and made.label != ours.label:
            made.status = Status.TRIAL
            made.save(update_fields=["status"])
            is_pair = isinstance(made, Judgment)
            self.merge_of.differ(
                ConflictKind.LABEL if is_pair else ConflictKind.SUPPORT,
                self.ours,
                _in_words(ours),
                _in_words(made),
                passage=made.passage,
                **({"judgment": made} if is_pair else {"support": made, "aspect": made.aspect}),
            )
            return
        made.superseded_by = ours
        made.save(update_fields=["superseded_by"])

    def _note_label(self, row: Any, made: Any) -> None:
        """Who gave it is in the event of its recording, as of every label."""
        given = Event.objects.filter(
            target_type=row._meta.label_lower, target_id=str(row.pk), verb=LABELLED
        ).first()
        data = {**what(made), "from": self.merge_of.digest}
        actor = given.actor if given else None
        scope = self.merge_of.here.slug
        audit.record(actor=actor, verb=LABELLED, target=made, scope=scope, data=data)

    def _link_labels(self) -> None:
        """What their labels say of cases and votes names those of here; of debates, nothing."""
        for kind, key in self._new:
            if kind not in (Judgment, SupportLabel):
                continue
            made = self._here[kind, key]
            rule = references.RULES[kind._meta.label, "provenance"]
            found = references.change(rule, made.provenance, key=self._key, hashed=str)
            kept = {name: value for name, value in found.items() if value not in (0, "debate:0")}
            if isinstance(kept.get("votes"), list):
                kept["votes"] = [vote for vote in kept["votes"] if vote]
            kind.objects.filter(pk=made.pk).update(provenance=kept)

    def _key(self, target: str, key: int) -> int:
        found = (each for (kind, pk), each in self._here.items() if pk == key)
        return next((each.pk for each in found if each._meta.label == target), 0)

    # Cases and votes.

    def _merge_votes(self) -> None:
        cases = EscalationCase.objects.filter(query=self.theirs).order_by("pk")
        for row in cases:
            passage = self._passage(row.passage_id)
            if passage is None:
                self._leave(row, "its passage is not here, or has another text")
                continue
            aspect = self._led(Aspect, row.aspect_id)
            about = {"query": self.ours, "passage": passage, "aspect": aspect}
            panel = row.kind == CaseKind.REFERENCE
            ours = EscalationCase.objects.filter(**about)
            of_kind = ours.filter(kind=CaseKind.REFERENCE)
            found = (of_kind if panel else ours.exclude(kind=CaseKind.REFERENCE)).first()
            if found is not None:
                self._match(row, found)
            else:
                found = self._add_case(row, about)
            self._merge_votes_of(row, found)

    def _add_case(self, row: EscalationCase, about: Told) -> EscalationCase:
        """A case that is not here, with as many slots as it still needs votes."""
        made: EscalationCase = self._add(
            row,
            **about,
            origin=f"{references.GONE}:there:{row.pk}",
            judgment=self._led(Judgment, row.judgment_id),
            support=self._led(SupportLabel, row.support_id),
        )
        made.origin = f"{references.GONE}:{made.pk}"
        made.save(update_fields=["origin"])
        is_open = made.status == CaseStatus.OPEN
        spare = made.slots.order_by("-place")[: row.votes_in if is_open else None]
        made.slots.filter(pk__in=[each.pk for each in spare]).delete()
        self.merge_of.note(made, "merge case", query=self.ours.pk)
        return made

    def _merge_votes_of(self, row: EscalationCase, case: EscalationCase) -> None:
        ours = Vote.objects.filter(case=case)
        known = {(self.merge_of.name(each.voter_id), each.created_at): each for each in ours}
        mine = {each.voter_id: each for each in ours if each.status == VoteStatus.STANDING}
        added = 0
        for vote in Vote.objects.filter(case=row).order_by("-pk"):
            name = self.merge_of.name(vote.voter_id)
            if found := known.get((name, vote.created_at)):
                self._match(vote, found)
                continue
            if self.merge_of.is_forged(vote.voter_id):
                self._leave(vote, "somebody of this installation gave no such vote here")
                continue
            earlier = mine.get(vote.voter_id) if vote.status == VoteStatus.STANDING else None
            if earlier is not None:  # its giver corrected it there
                Vote.objects.filter(pk=earlier.pk).update(status=VoteStatus.SUPERSEDED)
            made = self._add(
                vote,
                case=case,
                batch=None,
                superseded_by=self._led(Vote, vote.superseded_by_id),
                link="",
            )
            if earlier is not None:
                Vote.objects.filter(pk=earlier.pk).update(superseded_by=made)
            self.merge_of.note(made, "merge vote", case=case.pk)
            added += vote.status == VoteStatus.STANDING and earlier is None
        if added and (EscalationCase, row.pk) not in self._new:
            count = ours.filter(status=VoteStatus.STANDING).count()
            EscalationCase.objects.filter(pk=case.pk).update(votes_in=count)
            case.refresh_from_db()
            if case.status == CaseStatus.OPEN:
                settle(case)


def _by(rows: Iterable[Any], key: Callable[[Any], Any]) -> "defaultdict[Any, list[Any]]":
    found: defaultdict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


def _pair(label: Any) -> tuple[int, int]:
    """What a label is about."""
    first = label.query_id if isinstance(label, Judgment) else label.aspect_id
    return first, label.passage_id


def _said(label: Any) -> tuple[Any, ...]:
    return label.source, label.label, label.created_at


def _identity(label: Any) -> tuple[Any, ...]:
    return (*_pair(label), *_said(label))


def _in_words(label: Any) -> str:
    practice = ", practice model" if label.practice else ""
    return f"{label.label} ({label.source}{practice})"


def _of_aspect(aspect: Aspect) -> str:
    removed = ", removed" if aspect.removed_at else ""
    return f"{aspect.content} (weight {aspect.weight}{removed})"


def open_conflicts(benchmark: Benchmark) -> models.QuerySet[MergeConflict]:
    """Conflicts that nobody has chosen in."""
    rows = benchmark.merge_conflicts.filter(choice=Choice.OPEN)
    return rows.select_related("query__domain", "passage")
