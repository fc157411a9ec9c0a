"""Counts of a run, read from its debates so that they are right after any reload."""

from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Count, Max
from django.utils import timezone

from corpus.models import Query
from debate.models import Debate, DebateRun, DebateStatus
from kit.stats.proportions import Proportion, proportion

# Over how much of the past the pace is measured.
_PACE = timedelta(minutes=2)
# What failures are told apart by: their class where debates keep one, else their words.
_FIELDS = {each.name for each in Debate._meta.get_fields()}
FAILURE_CLASS = "error_class" if "error_class" in _FIELDS else "error"
# Outcomes that have a place of their own on screens; a run of another kind may have others.
_KNOWN = {
    DebateStatus.WAITING,
    DebateStatus.AGREED,
    DebateStatus.ESCALATED,
    DebateStatus.UNREADABLE,
    DebateStatus.FAILED,
    DebateStatus.SKIPPED_NO_ANSWER,
}


# Those without a verdict, for which somebody or something is to blame.
BROKEN_STATUSES = (DebateStatus.UNREADABLE, DebateStatus.REFUSED, DebateStatus.FAILED)


@dataclass(frozen=True)
class Figures:
    """How many debates of a run ended how."""

    total: int
    agreed_1: int
    agreed_later: int
    escalated: int
    unreadable: int
    failed: int
    skipped: int
    waiting: int

    @property
    def finished(self) -> int:
        """Debates with an outcome."""
        return self.total - self.waiting

    @property
    def decided(self) -> int:
        """Debates that ended in agreement or in dispute: what the escalation ratio is of."""
        return self.agreed_1 + self.agreed_later + self.escalated

    @property
    def escalation(self) -> Proportion:
        """Escalated over decided debates (docs/protocol.md 6.9) with Wilson's 95 % interval."""
        return proportion(self.escalated, self.decided)

    @property
    def escalation_ratio(self) -> float | None:
        """Escalated over decided debates; None before the first."""
        return self.escalation.value


@dataclass
class Outcomes:
    """Counts of a run or of one domain: by status, agreements by round, relevant ones found."""

    name: str = ""
    by_status: dict[str, int] = field(default_factory=dict)
    agreed: dict[int, int] = field(default_factory=dict)
    relevant: int = 0

    def add(self, status: str, round: int | None, label: int | None, count: int) -> None:
        """Count `count` more debates that ended so."""
        self.by_status[status] = self.by_status.get(status, 0) + count
        if status == DebateStatus.AGREED and round:
            self.agreed[round] = self.agreed.get(round, 0) + count
        if label == 1:
            self.relevant += count

    def open_after(self, round: int) -> int:
        """Pairs without agreement after that round: agreed later, disputed, or ruled on."""
        later = sum(count for number, count in self.agreed.items() if number > round)
        lasting = (DebateStatus.ESCALATED, DebateStatus.ADJUDICATED)
        return later + sum(self.by_status.get(status, 0) for status in lasting)

    @property
    def total(self) -> int:
        """All pairs."""
        return sum(self.by_status.values())

    @property
    def agreed_in(self) -> list[tuple[int, int]]:
        """(round, agreements) in order."""
        return sorted(self.agreed.items())

    @property
    def others(self) -> list[tuple[str, int]]:
        """(status, pairs) of outcomes that only other kinds of runs have."""
        return sorted((each, n) for each, n in self.by_status.items() if each not in _KNOWN)

    def figures(self) -> Figures:
        """The same as the names that the API and the command use."""
        first = self.agreed.get(1, 0)
        count = self.by_status.get
        return Figures(
            total=self.total,
            agreed_1=first,
            agreed_later=sum(self.agreed.values()) - first,
            escalated=count(DebateStatus.ESCALATED, 0),
            unreadable=count(DebateStatus.UNREADABLE, 0),
            failed=count(DebateStatus.FAILED, 0),
            skipped=count(DebateStatus.SKIPPED_NO_ANSWER, 0),
            waiting=count(DebateStatus.WAITING, 0),
        )


@dataclass(frozen=True)
class FailureClass:
    """Debates that ended without an answer for the same reason; `words` are those of one."""

    status: str
    name: str
    words: str
    count: int


def figures(run: DebateRun) -> Figures:
    """The run's counts in one query, which an index answers without the rows."""
    counted = run.debates.order_by().values_list("status", "round", "label")
    found = Outcomes()
    for row in counted.annotate(count=Count("pk")):
        found.add(*row)
    return found.figures()


def outcomes(run: DebateRun) -> tuple[Outcomes, list[Outcomes]]:
    """The counts of the run and of each domain (the shape of DREAM's Table 8).

    Grouped by query, in the order of the index that holds all of it: joining 120,000 pairs to
    their domains in the database costs three times as much as joining their queries here.
    """
    columns = ("status", "round", "label", "query_id")
    domains = dict(
        Query.objects.filter(domain__benchmark=run.benchmark_id)
        .order_by()
        .values_list("pk", "domain__name")
    )
    whole, by_domain = Outcomes(), dict[str, Outcomes]()
    counted = run.debates.order_by().values_list(*columns).annotate(count=Count("pk"))
    for status, round, label, query, count in counted:
        name = domains[query]
        whole.add(status, round, label, count)
        by_domain.setdefault(name, Outcomes(name)).add(status, round, label, count)
    return whole, [by_domain[name] for name in sorted(by_domain)]


def failure_classes(run: DebateRun) -> list[FailureClass]:
    """Unreadable, refused and failed debates by what they met with, the most frequent first."""
    broken = run.debates.filter(status__in=BROKEN_STATUSES)
    counted = (
        broken.order_by()
        .values_list("status", FAILURE_CLASS)
        .annotate(words=Max("error"), count=Count("pk"))
    )
    return [FailureClass(*row) for row in counted.order_by("-count", "status", FAILURE_CLASS)[:50]]


def seconds_left(run: DebateRun, waiting: int) -> float | None:
    """How long the waiting pairs take at the pace of the last two minutes.

    None while nothing ended in that time, or where nothing goes on.
    """
    if run.status != "running" or not waiting:
        return None
    now = timezone.now()
    began = max(now - _PACE, run.started_at or now - _PACE)
    ended = run.debates.filter(ended_at__gte=began).count()
    return waiting * (now - began).total_seconds() / ended if ended else None


def flag_counts(run: DebateRun) -> list[tuple[str, int]]:
    """(flag, debates with a turn that carries it), the most frequent first."""
    counted = run.flags.order_by().values_list("flag").annotate(count=Count("pk"))
    return list(counted.order_by("-count", "flag"))
