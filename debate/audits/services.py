"""Blind audits of agreed pairs, and the bound on the error of agreed labels they allow."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Avg, CharField, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, Concat, Round

from annotate import keyed
from annotate.models import CaseKind, CaseStatus, EscalationCase, SupportLabel, VoteSlot
from annotate.plans.services import as_shown
from annotate.voting.cases import open_case
from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Judgment, Source, Status
from debate.escalation import ORIGIN, asked_of
from debate.models import AuditItem, AuditSample, Debate, DebateRun, DebateStatus, RunKind, Turn
from debate.runs.figures import pairs_url
from kit import audit
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.stats.proportions import Proportion, proportion, upper_bound
from kit.stats.sampling import allot_by_spread, draw

MOST = 1_000
HIGHEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Audited:
    """What people found in a sample so far; `wrong` is of the pairs that are decided.

    `bound` is the exact one-sided 95 % upper bound on the share of wrong labels among the pairs
    that could be drawn. The draw is in proportion to domain, label and grade, which makes the
    bound of a plain draw, if anything, too high; a draw by error bounds nothing by itself (None).
    """

    sample: AuditSample
    size: int
    undecided: int
    wrong: Proportion
    bound: float | None
    false_relevant: Proportion
    false_irrelevant: Proportion

    @property
    def decided(self) -> dict[int, Proportion]:
        """What was wrong, by the label that models gave."""
        return {1: self.false_relevant, 0: self.false_irrelevant}


def draw_audit(
    *, run: DebateRun, size: int, seed: int, actor: User, by_error: bool = False
) -> AuditSample:
    """Put a sample of agreed pairs before people, as cases like any other.

    They see query, answers and passage, never the agents' answers. `by_error` draws more of the
    label or grade that earlier audits are least sure of, which makes corrected figures sharper.
    Raises Refused for a run that goes on, a size outside 1 to 1,000, where nothing is left to
    draw, and by error where people have decided nothing yet.
    """
    if not 1 <= size <= MOST:
        raise Refused(f"Choose 1 to {MOST:,} pairs.", field="size")
    if not 0 <= seed <= HIGHEST_SEED:
        raise Refused("Choose a seed of at most nine digits.", field="seed")
    if not run.is_over:
        raise Refused("This run goes on; audit it when it is over.")
    return draw_sample(run=run, size=size, seed=seed, actor=actor, by_error=by_error)


def draw_sample(
    *, run: DebateRun, size: int, seed: int, actor: User | None, by_error: bool = False
) -> AuditSample:
    """Do what `draw_audit` does, for a run that ends just now too.

    As many disputes of the run are shown from the passage alone from now on, but at most every
    fourth that nobody was given yet: what has no positions after a first judgment is then not
    known to be audited.
    """
    with transaction.atomic():
        agreed = run.debates.filter(status=audited_status(run))
        strata = _strata(run, agreed.filter(is_untouched()))
        population = sum(map(len, strata.values()))
        if not population:
            words = f"No {audited_name(run)} pair of this run is left that people have not judged."
            raise Refused(words)
        sample = AuditSample.objects.create(
            run=run,
            seed=seed,
            population=population,
            left_out=agreed.count() - population,
            by_error=by_error,
            created_by=actor,
        )
        drawn = _by_error(run, strata, size, seed) if by_error else draw(strata, size, seed)
        _open_cases(sample, drawn)
        fillers = _add_fillers(sample)
        data = {"run": run.pk, "seed": seed, "population": population, "size": size}
        data |= {"fillers": fillers, "by_error": by_error}
        # A scope of its own: lists of a benchmark's events are read by people who also vote.
        scope = f"{run.benchmark.slug}#audits"
        audit.record(actor=actor, verb="draw audit", target=sample, scope=scope, data=data)
    return sample


def audited_status(run: DebateRun) -> DebateStatus:
    """What is audited of a run: what its agents agreed on, or what its models labelled.

    Of a filter the latter are the discarded pairs: nobody would see them again otherwise.
    """
    return DebateStatus.AGREED if run.kind == RunKind.DEBATE else DebateStatus.JUDGED


def audited_name(run: DebateRun) -> str:
    """The same for people: "agreed", "discarded", "labelled"."""
    return {RunKind.DEBATE: "agreed", RunKind.FILTER: "discarded"}.get(
        RunKind(run.kind), "labelled"
    )


def audited(run: DebateRun) -> list[Audited]:
    """Every audit of the run as it stands; nothing in it tells how an open case stands."""
    return [_audited(sample) for sample in run.audits.all()]


@dataclass(frozen=True)
class LeftOpen:
    """What blind audits leave open of the labels of a benchmark's runs.

    `wrong` is of all pairs that are decided; `bound` the one-sided 95 % upper bound on the share
    of wrong labels; `unaudited` names the runs of which people decided nothing.
    """

    wrong: Proportion
    bound: float
    unaudited: list[str]


def audit_bound(benchmark: Benchmark) -> LeftOpen:
    """The bound over all runs whose labels count: the sum over runs of their share of the labels
    times their own exact bound, 1 where people decided nothing of a run or there is none.

    With R audited runs each bound holds at 1 - .05 / R, so that at 95 % all hold together
    (Bonferroni). Draws by error are left out.
    """
    hits, n, shares, unaudited = 0, 0, list[tuple[int, int, int]](), list[str]()
    for run in benchmark.debate_runs.order_by("pk"):
        if run.is_provisional or not (size := _counted(run)):
            continue
        known = [each.wrong for each in audited(run) if not each.sample.by_error]
        share = size, sum(each.hits for each in known), sum(each.n for each in known)
        shares.append(share)
        hits, n = hits + share[1], n + share[2]
        if not share[2]:
            unaudited.append(run.name)
    confidence = 1 - 0.05 / max(1, len(shares) - len(unaudited))
    open_labels = sum(
        size * upper_bound(wrong, of, confidence=confidence) for size, wrong, of in shares
    )
    bound = open_labels / sum(size for size, *_ in shares) if shares else 1.0
    return LeftOpen(proportion(hits, n, exact=True), bound, unaudited)


def _counted(run: DebateRun) -> int:
    """How many of the labels that audits are of stand, or stood until people decided them here:
    the bound is on labels as the models gave them."""
    stands = Q(judgment__status=Status.STANDING) | Q(support__status=Status.STANDING)
    labels = run.debates.filter(status=audited_status(run))
    drawn = AuditItem.objects.filter(sample__run=run, case__status=CaseStatus.CLOSED)
    return labels.filter(stands | Q(pk__in=drawn.values("debate"))).count()


def audit_sheet(run: DebateRun) -> ReportTable:
    """The audits as a table of the report."""
    to, words = pairs_url(run), audited_name(run)
    return ReportTable(
        name="audits",
        title=f"Blind audit of {words} pairs",
        header=(
            *("Audit", "Drawn", "Of", "Decided", "Wrong", "Share wrong"),
            *("Wrong at most (95 %)", "Of “relevant” wrong", "Of “not relevant” wrong"),
        ),
        rows=tuple(
            (
                text(
                    f"Audit {each.sample.pk}, seed {each.sample.seed}"
                    f"{', by error' if each.sample.by_error else ''}"
                ),
                Cell(each.size),
                Cell(each.sample.population),
                Cell(each.wrong.n, url=to(audit=f"{each.sample.pk}:decided")),
                Cell(each.wrong.hits, url=to(audit=f"{each.sample.pk}:wrong")),
                percent(each.wrong, to(audit=f"{each.sample.pk}:wrong")),
                Cell(each.bound if each.wrong.n else None, "percent"),
                percent(each.false_relevant, to(audit=f"{each.sample.pk}:wrong", label=1)),
                percent(each.false_irrelevant, to(audit=f"{each.sample.pk}:wrong", label=0)),
            )
            for each in audited(run)
        ),
        notes=(
            f"Pairs that were {words}, judged by people from the passage alone, mixed among their "
            "other cases. Intervals and bound are exact (Clopper and Pearson). They hold for "
            "pairs that nobody had judged before; undecided pairs are not counted. A draw by error "
            "goes where labels are least sure, and bounds nothing by itself.",
        ),
        empty=f"No {words} pair was audited yet: how far agreement can be trusted is not known.",
    )


def audited_debates(run: DebateRun, sample: int, *, wrong: bool) -> QuerySet[AuditItem, int]:
    """Keys of the decided pairs of a sample, all or those that people labelled otherwise."""
    items = AuditItem.objects.filter(
        sample_id=sample, sample__run=run, case__status=CaseStatus.CLOSED
    )
    if wrong:
        items = items.exclude(case__label=F("label"))
    return items.values_list("debate_id", flat=True)


def is_untouched() -> Q:
    """Debates of pairs that people neither judge nor judged: a draw among others would not be
    blind."""
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    people = Judgment.objects.filter(source__in=(Source.EXPERT, Source.HUMAN), **pair)
    cases = EscalationCase.objects.filter(**pair)
    # What is asked of an aspect, too: whoever judged it has read the passage for this query.
    support = {"aspect": OuterRef("aspect_id"), "passage": OuterRef("passage_id")}
    experts = SupportLabel.objects.filter(source__in=(Source.EXPERT, Source.HUMAN), **support)
    return Q(~Exists(cases), ~Exists(people), ~Exists(experts), passage__text__isnull=False)


def grade_of(run: DebateRun, debate: str = "pk") -> Combinable:
    """The grade that a graded judge gave a pair, the rounded mean of its samples; 0 in other runs,
    where the label alone says what the models said. `debate` is the column of its key."""
    if run.kind != RunKind.GRADED:
        return Value(0)
    turns = Turn.objects.filter(debate=OuterRef(debate)).order_by().values("debate")
    return Coalesce(Subquery(turns.annotate(grade=Round(Avg("score"))).values("grade")), 0.0)


# What is alike before people look: domain, label, grade.
_Strata = dict[tuple[int, int, int], list[int]]


def _strata(run: DebateRun, debates: QuerySet[Debate]) -> _Strata:
    strata: _Strata = {}
    rows = debates.annotate(grade=grade_of(run)).order_by("pk")
    for domain, label, grade, pk in rows.values_list(
        "query__domain_id", "label", "grade", "pk"
    ).iterator():
        strata.setdefault((domain, label or 0, int(grade)), []).append(pk)
    return strata


def _by_error(run: DebateRun, strata: _Strata, size: int, seed: int) -> list[int]:
    """Of each label and grade as many as `allot_by_spread` gives it, by domain in proportion."""
    decided = AuditItem.objects.filter(sample__run=run, case__status=CaseStatus.CLOSED)
    rows = decided.annotate(grade=grade_of(run, "debate")).values_list(
        "label", "grade", "case__label"
    )
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for label, grade, people in rows:
        wrong, n = found.get((label, int(grade)), (0, 0))
        found[label, int(grade)] = wrong + (people != label), n + 1
    if not found:
        raise Refused("Draw in proportion first: people have decided nothing of this run yet.")
    by_said: dict[tuple[int, int], _Strata] = {}
    for key, pairs in strata.items():
        by_said.setdefault(key[1:], {})[key] = pairs
    sizes = {
        said: sum(map(len, parts.values())) + found.get(said, (0, 0))[1]
        for said, parts in by_said.items()
    }
    shares = allot_by_spread(sizes, found, size)
    drawn = [key for said, n in shares.items() for key in draw(by_said[said], n, seed)]
    # Mixed, so that the order of the cases says nothing of their label.
    return draw({0: drawn}, len(drawn), seed + 1)


def _open_cases(sample: AuditSample, keys: Sequence[int]) -> None:
    found = Debate.objects.select_related("query__domain__benchmark", "passage", "aspect")
    rows = found.in_bulk(keys)
    lock_queries(each.query_id for each in rows.values())  # in one order, not as they were drawn
    items = []
    for debate in (rows[key] for key in keys):
        # The pair without any position: shaped as every case is (annotate.voting.snapshot).
        case = open_case(
            origin=f"audit:{sample.pk}:{debate.pk}",
            kind=CaseKind.AUDIT,
            query=debate.query,
            passage=debate.passage,
            aspect=debate.aspect,
            snapshot=asked_of(debate) | {"practice": False, "rounds": 0, "positions": []},
        )
        if case.kind == CaseKind.AUDIT:  # else somebody opened one just now
            items.append(
                AuditItem(sample=sample, debate=debate, case=case, label=debate.label or 0)
            )
    AuditItem.objects.bulk_create(items)


def _add_fillers(sample: AuditSample) -> int:
    domains = set(sample.items.values_list("case__query__domain", flat=True))
    return add_fillers(sample.run.debates.all(), domains, f"filler of audit:{sample.pk}")


def add_fillers(debates: QuerySet[Debate], domains: Collection[int], key: str) -> int:
    """Make fillers of some of these disputes that nobody was given yet, at most every fourth, until
    there are as many in these domains as there are audited cases, whoever had them audited; drawn
    by the server's key; how many. For a caller in a transaction."""
    inside = {"query__domain__in": domains}
    audited = EscalationCase.objects.of_voters().filter(kind=CaseKind.AUDIT, **inside)
    wanted = audited.count() - Debate.objects.filter(is_decoy=True, **inside).count()
    disputed = debates.filter(
        status=DebateStatus.ESCALATED,
        is_decoy=False,
        case__kind=CaseKind.DISPUTE,
        case__status=CaseStatus.OPEN,
        case__votes_in=0,
        case__origin=Concat(Value(ORIGIN), Cast("pk", CharField())),
    )
    slots = VoteSlot.objects.filter(case__in=disputed.values("case"))
    # Who is given one of these at this moment, or a batch with it, comes before or after.
    locked = list(slots.select_for_update().values_list("case", "voter"))
    given = {case for case, voter in locked if voter is not None}
    left = [each for each in disputed.select_related("case") if each.case_id not in given]
    left.sort(key=lambda each: keyed.draw(key, each.pk))
    chosen = left[: max(0, min(wanted, len(left) // 4))]
    Debate.objects.filter(pk__in=[each.pk for each in chosen]).update(is_decoy=True)
    cases = [each.case for each in chosen if each.case is not None]
    for case in cases:
        case.snapshot = as_shown(case.snapshot, seed=0, shown=False)
    EscalationCase.objects.bulk_update(cases, ["snapshot"])
    return len(chosen)


def _audited(sample: AuditSample) -> Audited:
    rows = list(sample.items.values_list("label", "case__status", "case__label"))
    decided = [(label, found) for label, status, found in rows if status == CaseStatus.CLOSED]
    wrong = proportion(sum(label != found for label, found in decided), len(decided), exact=True)
    return Audited(
        sample=sample,
        size=len(rows),
        undecided=len(rows) - len(decided),
        wrong=wrong,
        bound=None if sample.by_error else upper_bound(wrong.hits, wrong.n),
        false_relevant=_wrong_of(decided, 1),
        false_irrelevant=_wrong_of(decided, 0),
    )


def _wrong_of(decided: Sequence[tuple[int, int | None]], label: int) -> Proportion:
    found = [people for agents, people in decided if agents == label]
    return proportion(sum(people != label for people in found), len(found), exact=True)
