"""The setup checklist of a benchmark: how far each step is, and what an admin does next."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.assignments.models import HANDED_IN
from annotate.exams.qualification import domains_without_exam
from annotate.models import Assignment, CaseStatus, EscalationCase, WorkState
from annotate.plans.services import checks_of
from annotate.voting.majority import QUOTA
from corpus.access import enter
from corpus.benchmarks.overview import passages_counted
from corpus.models import Benchmark, CorpusVersion, Judgment, Membership, PoolEntry, Query, Role
from evaluation.checklist.now import running, waits
from evaluation.models import ReleaseState
from kit import htmx
from kit.health.checks import failing
from kit.runs.models import OVER, RunStatus
from kit.templatetags.figures import number as n

_WORDS = {
    "done": "Done",
    "waits": "Needs you",
    "goes": "Under way",
    "unbegun": "Not started",
}
TEMPLATE = "evaluation/checklist/checklist.html"
_ACCEPTED = (WorkState.ACCEPTED, WorkState.ANSWERED)


@dataclass(frozen=True)
class Step:
    """A step with how far it is, `done` of `total` (0: nothing is there yet).

    `url` is where its rows are. `act` says what an admin has to do for it to go on, at `act_url`,
    and `why`.
    """

    label: str
    note: str
    url: str
    done: int = 0
    total: int = 0
    act: str = ""
    act_url: str = ""
    why: str = ""

    @property
    def state(self) -> str:
        """done, waits (for an admin), goes (on by itself or by others' work), or unbegun."""
        if self.total and self.done >= self.total:
            return "done"
        return "waits" if self.act else "goes" if self.total else "unbegun"

    @property
    def words(self) -> str:
        """The state for people."""
        return _WORDS[self.state]


@require_GET
def checklist(request: HttpRequest, slug: str) -> HttpResponse:
    """A part of the overview, for admins; `?brief=1` is what the home page says of it, `?running=1`
    the work that runs, which is asked for again while it does."""
    access = enter(request.user, slug, Role.ADMIN)
    runs = list(running(access.benchmark))
    now = {
        "access": access,
        "runs": runs,
        "is_live": any(run.status != RunStatus.PAUSED for run, _ in runs),
    }
    if "running" in request.GET:
        return htmx.render(request, TEMPLATE, now, partial="running")
    steps = list(steps_of(access.benchmark))
    context = now | {
        "steps": steps,
        "failing": failing(),
        "next": next((step for step in steps if step.act), None),
    }
    if "brief" in request.GET:
        return htmx.render(request, TEMPLATE, context, partial="brief")
    context["waits"] = list(waits(access.benchmark))
    return htmx.render(request, TEMPLATE, context, partial="part")


def steps_of(benchmark: Benchmark) -> Iterator[Step]:
    """Every step in its order; about a dozen queries, whatever the size of the benchmark."""

    def at(name: str) -> str:
        return reverse(name, args=[benchmark.slug])

    queries = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True)
    by_domain = Counter(dict(queries.order_by().values_list("domain").annotate(Count("pk"))))
    total = by_domain.total()
    yield _data(benchmark, total, at("queries"), at("imports"))
    # How many annotators each domain has, by its key.
    members = Membership.objects.filter(benchmark=benchmark).with_domains()
    voters = Counter(
        domain for each in members if Role.ANNOTATOR in each.roles for domain in each.domain_ids()
    )
    yield _people(benchmark, voters, at("people"))
    pairs = PoolEntry.objects.filter(pool__benchmark=benchmark).count()
    note = (
        f"{_of(pairs, 'pair')} of query and passage to judge" if pairs else "No pairs to judge yet"
    )
    act = (
        ("Build a pool", at("pool-new"), "Agents debate its pairs.") if total and not pairs else ()
    )
    yield Step("Pools", note, at("pools"), pairs, pairs, *act)
    yield _debates(benchmark, pairs, at("debate-runs"), at("debate-run-new"))
    yield _checks(benchmark, at("label-checks"), at("qualification-rules"))
    yield _disputes(benchmark, voters, at("disputes"), at("people"))
    yield from _queries(benchmark, total, at("queries"), at("assignments"), at("reviews"))
    yield _release(benchmark, at("releases"))


def _data(benchmark: Benchmark, queries: int, url: str, imports: str) -> Step:
    if not queries:
        why = "Everything else needs queries and passages."
        return Step("Data", "Nothing is imported yet", url, 0, 0, "Import", imports, why)
    passages = passages_counted(CorpusVersion.objects.current(benchmark))
    gold = Judgment.objects.original().filter(query__domain__benchmark=benchmark).count()
    counted = f"{_of(passages, 'passage')}, " if passages is not None else ""
    return Step(
        "Data", f"{_of(queries, 'query', 'queries')}, {counted}{_of(gold, 'label')}", url, 1, 1
    )


def _people(benchmark: Benchmark, voters: Counter[int], url: str) -> Step:
    rows = Membership.objects.filter(benchmark=benchmark).values_list("roles", flat=True)
    roles = Counter(role for each in rows for role in each)
    annotators, reviewers = roles[Role.ANNOTATOR], roles[Role.REVIEWER]
    found = f"{_of(annotators, 'annotator')}, {_of(reviewers, 'reviewer')}"
    if annotators and reviewers:
        return Step("People", found, url, 1, 1)
    missing = "reviewers" if annotators else "annotators"
    return Step("People", found, url, 0, 0, f"Add {missing}", url, f"There are no {missing} yet.")


def _debates(benchmark: Benchmark, pairs: int, url: str, new: str) -> Step:
    runs = benchmark.debate_runs.filter(is_trial=False).exclude(status=RunStatus.CANCELLED)
    sums = runs.aggregate(
        done=Sum("done"), total=Sum("total"), runs=Count("pk"),
        stopped=Count("pk", filter=Q(status__in=(RunStatus.PAUSED, RunStatus.FAILED))),
        under_way=Count("pk", filter=~Q(status__in=(*OVER, RunStatus.PAUSED))),
    )  # fmt: skip
    done, total = sums["done"] or 0, sums["total"] or 0
    if not sums["runs"]:
        act = ("Start a debate", new, "The pairs of a pool wait for agents.") if pairs else ()
        return Step("Debates", "No debate run yet", url, 0, 0, *act)
    found = f"{n(done)} of {n(total)} pairs debated"
    if sums["stopped"] and done < total:
        why = f"{_of(sums['stopped'], 'debate run')} stopped before the end."
        return Step("Debates", found, url, done, total, "See why", url, why)
    return Step("Debates", found + (", running" if sums["under_way"] else ""), url, done, total)


def _checks(benchmark: Benchmark, url: str, bank: str) -> Step:
    """Asked once; an exam that is asked for needs its questions."""
    chosen = checks_of(benchmark)
    if not chosen:
        why = "Nobody has said which checks people’s labels pass."
        return Step("Checks of labels", "Not chosen yet", url, 0, 0, "Choose checks", url, why)
    names = {"exam": "exam", "batches": "attention checks", "consent": "consent", "audit": "audit"}
    found = ", ".join(names[name] for name, is_on in chosen.items() if is_on) or "All turned off"
    if chosen["exam"] and (short := domains_without_exam(benchmark)):
        why = f"Nobody can vote in {', '.join(short)} before its exam has questions."
        return Step("Checks of labels", found, url, 0, 1, "Add exam questions", bank, why)
    return Step("Checks of labels", found, url, 1, 1)


def _disputes(benchmark: Benchmark, voters: Counter[int], url: str, people: str) -> Step:
    cases = EscalationCase.objects.in_benchmark(benchmark).of_voters()
    cases = cases.filter(aspect__removed_at=None)  # else nobody is asked
    rows = cases.order_by().values_list("query__domain", "query__domain__name", "status")
    total = decided = left = 0
    short: dict[str, int] = {}
    for domain, name, status, count in rows.annotate(Count("pk")):
        total += count
        decided += count if status == CaseStatus.CLOSED else 0
        left += count if status == CaseStatus.EXPERT else 0
        if status == CaseStatus.OPEN and voters[domain] < QUOTA:
            short[name] = count
    if not total:
        return Step("Disputed pairs", "None yet", url)
    found = f"{n(decided)} of {n(total)} decided"
    if short:
        why = (
            f"{_of(sum(short.values()), 'disputed pair')} in {', '.join(sorted(short))} cannot be "
            f"decided: each needs {QUOTA} voters."
        )
        return Step("Disputed pairs", found, url, decided, total, "Add voters", people, why)
    if left:
        adjudication = reverse("adjudication", args=[benchmark.slug])
        why = f"Voters left {_of(left, 'pair')} undecided."
        return Step("Disputed pairs", found, url, decided, total, "Settle", adjudication, why)
    return Step("Disputed pairs", found, url, decided, total)


def _queries(
    benchmark: Benchmark, total: int, url: str, assignments: str, reviews: str
) -> Iterator[Step]:
    rows = Assignment.objects.in_benchmark(benchmark).order_by().values_list("state")
    states = Counter(dict(rows.annotate(Count("pk"))))
    handed_in = sum(states[state] for state in HANDED_IN)
    free = total - states.total()
    found = f"{n(handed_in)} of {n(total)} submitted, {n(free)} unassigned"
    act = ("Assign", assignments, f"{_of(free, 'query', 'queries')} to assign.") if free else ()
    yield Step("Queries annotated", found, url, handed_in, total, *act)
    accepted = sum(states[state] for state in _ACCEPTED)
    back = states[WorkState.CHANGES_REQUESTED]
    sent = handed_in + back
    note = f"{n(accepted)} of {n(sent)} accepted" if sent else "No query is submitted yet"
    note += f", {n(back)} returned to their authors" if back else ""
    yield Step("Second reviews", note, reviews, accepted, sent)


def _release(benchmark: Benchmark, url: str) -> Step:
    built = benchmark.releases.filter(status=RunStatus.DONE).order_by("-pk")
    final = built.filter(state=ReleaseState.FINAL).first()
    if final is not None:
        return Step("Release", f"{final.version} is final", url, 1, 1)
    draft = built.first()
    if draft is None:
        return Step("Release", "Nothing built yet", url)
    faults = len(draft.faults)
    note = (
        f"Draft {draft.version} has {_of(faults, 'fault')}" if faults else f"Draft {draft.version}"
    )
    return Step("Release", note, url, 0, 1)


def _of(count: int, noun: str, nouns: str = "") -> str:
    return f"{n(count)} {noun if count == 1 else nouns or noun + 's'}"
