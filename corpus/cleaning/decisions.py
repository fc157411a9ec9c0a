"""What a person makes of the violations that a cleaning put before them."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from corpus.marcus.verify import Kind
from corpus.models import CleanedPage, CleaningRun, PageState, Violation
from kit import audit
from kit.errors import Refused
from kit.runs.models import RunStatus, wake

# A page that no worker has gone on with.
_BEFORE = (PageState.HELD, PageState.WAITING)


def queue(run: CleaningRun) -> QuerySet[Violation]:
    """Violations that wait for a person, page by page."""
    rows = Violation.objects.filter(
        page__run=run, is_violation=True, decision="", page__state=PageState.HELD
    )
    return (
        rows.select_related("page__domain")
        .defer("page__result")
        .order_by("page_id", "stage", "part", "window", "number")
    )


def decide(*, violation: Violation, decision: str, actor: User) -> Violation | None:
    """Take the agent's text, repair it from the source, or keep the original text.

    `original` settles all violations of the same text, and so does any decision about a moved
    stretch for all that moved in it: half a move would lose or double text. What was left out word
    for word on other pages of the run, too, is settled with it. After the last of a page the page
    goes back to the worker; after the last of a paused run the run goes on. Returns the next
    violation of the run behind this one, at the end the first. Raises Refused where it is decided
    already or the run is over.
    """
    if decision not in (
        Violation.Decision.ACCEPTED,
        Violation.Decision.REPAIRED,
        Violation.Decision.ORIGINAL,
    ):
        raise Refused("Decide for accepted, repaired or original.", field="decision")
    with transaction.atomic():
        alike = _alike(violation) if decision != Violation.Decision.ORIGINAL else []
        pages = _locked({violation.page_id, *(page for _, page in alike)})
        page = pages[violation.page_id]
        run = CleaningRun.objects.select_related("benchmark").get(pk=page.run_id)
        if run.is_over:
            raise Refused("This run is over; start another one to decide differently.")
        rows = _together(page, violation, decision)
        given = {"decision": decision, "decided_by": actor, "decided_at": timezone.now()}
        count = rows.update(**given)
        if page.state != PageState.HELD or not count:
            raise Refused("This was decided already.")
        # Of what was open before the pages were locked, what still is.
        more = Violation.objects.filter(
            pk__in=[pk for pk, _ in alike], decision="", page__state=PageState.HELD
        )
        count += more.update(**given)
        data = {"decision": decision, "violations": count, "place": str(violation.pk)}
        audit.record(actor, "decide cleaning violation", page, run.benchmark.slug, data)
        for each in pages.values():
            if each.state == PageState.HELD and not open_of(each).exists():
                each.state = PageState.WAITING
                each.save(update_fields=["state"])
        _go_on(run)
    return following(run, violation)


def undo(*, violation: Violation, actor: User) -> None:
    """Take a decision of one's own back, for all that it settled; the places wait again.

    Until a worker has gone on with the page: what was made of it stands, on other pages too. Raises
    Refused then, and where nobody or somebody else decided.
    """
    with transaction.atomic():
        alike = _settled_with(Violation.objects.select_related("page").get(pk=violation.pk))
        pages = _locked({violation.page_id, *alike.values_list("page_id", flat=True)})
        page = pages[violation.page_id]
        run = CleaningRun.objects.select_related("benchmark").get(pk=page.run_id)
        found = page.violations.get(pk=violation.pk)
        if found.decided_by_id is None:
            raise Refused("Nobody has decided this.")
        if found.decided_by_id != actor.pk:
            raise Refused("Somebody else has decided this: ask them to take it back.")
        if run.is_over or page.state not in _BEFORE:
            raise Refused("The page was cleaned with this decision already.")
        back = [pk for pk, each in pages.items() if each.state in _BEFORE]
        together = _settled_with(found).filter(page__in=back)
        count = together.update(decision="", decided_by=None, decided_at=None)
        CleanedPage.objects.filter(pk__in=back).update(state=PageState.HELD)
        audit.record(
            actor,
            "undo cleaning decision",
            page,
            run.benchmark.slug,
            {"decision": found.decision, "violations": count, "place": str(violation.pk)},
        )


def following(run: CleaningRun, violation: Violation) -> Violation | None:
    """The next that waits behind this one, at the end the first; None where no other waits."""
    rows = queue(run).exclude(pk=violation.pk)
    here = (violation.stage, violation.part, violation.window, violation.number)
    for each in rows.filter(page_id=violation.page_id):
        if (each.stage, each.part, each.window, each.number) > here:
            return each
    return rows.filter(page_id__gt=violation.page_id).first() or rows.first()


def last_of(run: CleaningRun, actor: User) -> Violation | None:
    """What a person decided last in a run, if it can still be taken back."""
    mine = Violation.objects.filter(page__run=run, decided_by=actor).select_related("page")
    last = mine.order_by("-decided_at", "-pk").first()
    return last if last and may_undo(last, run, actor) else None


def may_undo(violation: Violation, run: CleaningRun, actor: User) -> bool:
    """Whether a person can take the decision about this place back."""
    is_theirs = violation.decided_by_id == actor.pk
    return is_theirs and not run.is_over and violation.page.state in _BEFORE


def open_of(page: CleanedPage) -> QuerySet[Violation]:
    """What a person has still to decide about a page."""
    return page.violations.filter(is_violation=True, decision="")


def settle_as_before(page: CleanedPage, found: Sequence[Violation]) -> None:
    """Decide new violations of a page as a person did where the same words were left out.

    Nobody looked at these: an event says after which earlier ones they were settled.
    """
    dropped = [each for each in found if each.kind == Kind.DROPPED and each.is_violation]
    texts = {each.source for each in dropped if not each.decision}
    known = Violation.objects.filter(
        page__run=page.run_id, kind=Kind.DROPPED, is_violation=True, source__in=texts
    )
    known = known.exclude(decided_by=None).exclude(decision=Violation.Decision.ORIGINAL)
    latest = {each.source: each for each in known.order_by("decided_at", "pk")}
    settled: dict[str, str] = {}
    for each in dropped:
        if not each.decision and (before := latest.get(each.source)):
            each.decision, each.decided_at = before.decision, before.decided_at
            each.decided_by_id = before.decided_by_id
            settled[str(before.pk)] = before.decision
    if settled:
        audit.record(
            None, "settle as decided before", page, page.run.benchmark.slug, {"as": settled}
        )


def _alike(violation: Violation) -> list[tuple[int, int]]:
    """Key and page of each open violation on other pages where the same words were left out."""
    if violation.kind != Kind.DROPPED:
        return []
    rows = queue(violation.page.run).filter(kind=Kind.DROPPED, source=violation.source)
    return list(rows.exclude(page=violation.page_id).values_list("pk", "page_id"))


def _settled_with(violation: Violation) -> QuerySet[Violation]:
    """All that the decision about this violation settled, on any page of its run."""
    return Violation.objects.filter(
        page__run=violation.page.run_id,
        decided_by=violation.decided_by_id,
        decided_at=violation.decided_at,
        decision=violation.decision,
    ).exclude(decided_by=None)


def _locked(pages: set[int]) -> dict[int, CleanedPage]:
    """These pages by key, in one order for everybody who locks several."""
    rows = CleanedPage.objects.select_for_update().filter(pk__in=pages).order_by("pk")
    return {row.pk: row for row in rows}


def _together(page: CleanedPage, violation: Violation, decision: str) -> QuerySet[Violation]:
    """The violations that a decision about this one settles."""
    text = open_of(page).filter(stage=violation.stage, part=violation.part, window=violation.window)
    if not text.filter(pk=violation.pk).exists():
        raise Refused("This was decided already.")
    if decision == Violation.Decision.ORIGINAL:
        return text
    if violation.kind == "moved":
        return text.filter(kind="moved")
    return text.filter(pk=violation.pk)


def _go_on(run: CleaningRun) -> None:
    """Wake a run that waited for nothing else."""
    is_waited_for = run.status == RunStatus.PAUSED and not queue(run).exists()
    if is_waited_for and run.move(RunStatus.QUEUED, pause_reason=""):
        wake(run)
