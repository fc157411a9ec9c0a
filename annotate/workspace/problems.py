"""Tagging what is wrong with old gold, and counting it (docs/protocol.md 3.1 step 9)."""

from typing import Any, Final

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.models import GoldPassage, Problem, ProblemTag
from annotate.rights import lock_for_writing, record
from annotate.voting.majority import REMADE
from annotate.workspace.gold import DiscardReason
from annotate.workspace.models import SAME_PAIR
from corpus.models import Benchmark, Judgment, Passage, Query, Source
from kit.errors import Refused

# A discarded passage has the problem that its reason names; nobody has to say it twice.
OF_REASON: Final[dict[str, str]] = {
    DiscardReason.TOPIC_ONLY: Problem.IRRELEVANT,
    DiscardReason.IRRELEVANT: Problem.IRRELEVANT,
    DiscardReason.NOISE: Problem.NOISE,
    DiscardReason.FRAGMENT: Problem.BROKEN,
}
# A query's gold as a whole can only be incomplete; a passage can have the other problems.
OF_QUERY: Final = (Problem.INCOMPLETE,)
OF_PASSAGE: Final = (Problem.IRRELEVANT, Problem.NOISE, Problem.BROKEN)
VERDICTS: Final = (
    ("undecided", "Undecided"),
    ("assigned", "Assigned"),
    ("remade", "Merged or trimmed"),
    *((f"{reason.value}", f"Discarded: {reason.label.lower()}") for reason in DiscardReason),
)


def tag_problem(
    *, query: Query, problem: str, actor: User, passage: Passage | None = None, note: str = ""
) -> ProblemTag:
    """Say that the query's old gold, or one of its passages, has a problem; once is enough."""
    if problem not in (OF_QUERY if passage is None else OF_PASSAGE):
        raise Refused("Choose one of the listed problems.", field="problem")
    original = Judgment.objects.original().filter(query=query, passage=passage)
    if passage is not None and not original.exists():
        raise Refused("Only original gold is tagged.", field="passage")
    try:
        with lock_for_writing(query, actor):
            tag = ProblemTag.objects.create(
                query=query, passage=passage, problem=problem, note=note.strip(), created_by=actor
            )
            _record(tag, actor, "tag problem")
    except IntegrityError:
        return ProblemTag.objects.standing().get(query=query, passage=passage, problem=problem)
    return tag


def untag_problem(
    *, query: Query, problem: str, actor: User, passage: Passage | None = None
) -> None:
    """Take a tag off again; one that is not there is no error."""
    with lock_for_writing(query, actor):
        rows = ProblemTag.objects.standing().select_for_update(of=("self",))
        for tag in rows.filter(query=query, passage=passage, problem=problem):
            ProblemTag.objects.filter(pk=tag.pk).update(ended_at=timezone.now())
            _record(tag, actor, "untag problem")


def audited(benchmark: Benchmark) -> QuerySet[Judgment]:
    """The original positives of the benchmark."""
    rows = Judgment.objects.original().filter(label__gt=0)
    return rows.filter(query__domain__in=benchmark.domains.filter(is_ready=True))


def by_verdict(originals: QuerySet[Judgment], verdict: str) -> QuerySet[Judgment]:
    """Those with this verdict, one of VERDICTS."""
    if verdict == "undecided":
        return originals.exclude(_attached()).exclude(_verdict(label=0))
    if verdict == "assigned":
        return originals.filter(_attached())
    if verdict == "remade":
        return originals.filter(_verdict(label=0, provenance__rule=REMADE))
    return originals.filter(_verdict(label=0, provenance__reason=verdict))


def by_problem(originals: QuerySet[Judgment], problem: str) -> QuerySet[Judgment]:
    """Those with this problem: tagged so, discarded for it, or of a query whose gold has it."""
    pair = {"query": OuterRef("query"), "problem": problem}
    tags = ProblemTag.objects.standing().filter(**pair)
    tagged = tags.filter(Q(passage=OuterRef("passage")) | Q(passage=None))
    reasons = [reason for reason, of in OF_REASON.items() if of == problem]
    discarded = _verdict(label=0, provenance__reason__in=reasons)
    return originals.filter(Exists(tagged) | discarded if reasons else Exists(tagged))


def count_verdicts(originals: QuerySet[Judgment]) -> dict[str, int]:
    """How many originals have each verdict."""
    return {name: by_verdict(originals, name).count() for name, _ in VERDICTS}


def count_problems(originals: QuerySet[Judgment]) -> dict[str, int]:
    """How many originals have each problem; one may have several."""
    return {problem: by_problem(originals, problem).count() for problem in Problem.values}


def problems_of(query: Query) -> dict[int | None, list[str]]:
    """The tags of a query by passage; None: of its gold as a whole."""
    found: dict[int | None, list[str]] = {}
    rows = ProblemTag.objects.standing().filter(query=query)
    for passage, problem in rows.values_list("passage_id", "problem"):
        found.setdefault(passage, []).append(problem)
    return found


def _attached() -> Exists:
    return Exists(GoldPassage.objects.standing().filter(**SAME_PAIR, aspect__removed_at=None))


def _verdict(**fields: Any) -> Exists:
    labels = Judgment.objects.standing().filter(source=Source.EXPERT, **SAME_PAIR)
    return Exists(labels.filter(**fields))


def _record(tag: ProblemTag, actor: User, verb: str) -> None:
    data = {"query": tag.query_id, "passage": tag.passage_id, "problem": tag.problem}
    record(tag.query, actor, verb, tag, **data)
