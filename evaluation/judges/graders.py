"""Cards of who judges generated answers: graders of them, and judges of what they cite."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any, Final, TypeVar

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Length
from django.urls import reverse

from annotate.models import AnswerGrade, SentenceGrade, SpotCheck, SupportLabel, Vote
from corpus.models import Benchmark, Judgment, Source
from debate.models import Debate
from evaluation.agents.models import AnswerVerdict, VerdictState
from evaluation.judges.card import BINARY, POINTS, Card, Measure, Seen, changed
from evaluation.judges.exchange import LEADERBOARD, NUGGETS, QRELS
from evaluation.rag.grading import with_order
from evaluation.rag.models import Grade, GradeRun, GradeState, JudgingRun
from evaluation.rag.people import said_by_people
from evaluation.rag.protocol.answering import Harness
from evaluation.support.models import SupportRun, SupportState, SupportVerdict
from evaluation.support.reading import claim_of
from kit.runs.models import RunStatus
from kit.stats.proportions import Proportion

_STRINGS: Final = "exact strings"
# Fully, partly, not.
_SUPPORT: Final = (0.0, 1.0, 2.0)
_RunT = TypeVar("_RunT", bound=JudgingRun)
_Values = dict[Any, object]


def grader_cards(benchmark: Benchmark) -> list[Card]:
    """Of finished gradings, by grader and harness, the newest first."""
    rows = benchmark.grade_runs.filter(GradeRun.plain(), status=RunStatus.DONE)
    rows = rows.select_related("rag_run", "account").order_by("-pk")
    keys = (((run.endpoint, run.grader, run.rag_run.harness), run) for run in rows)
    return list(map(_grader_card, _grouped(keys)))


def citation_cards(benchmark: Benchmark) -> list[Card]:
    """Of finished judgings of citations, by judge, the newest first."""
    rows = benchmark.support_runs.filter(SupportRun.plain(), status=RunStatus.DONE)
    rows = rows.select_related("account").order_by("-pk")
    keys = (((run.endpoint, run.judge), run) for run in rows)
    return list(map(_citation_card, _grouped(keys)))


# What people and models say of a query, by kind: where its query stands, and when it was said.
# Answers that nobody judged yet say nothing of how they are to be judged.
_SAID: Final[Sequence[tuple[QuerySet[Any], str, str]]] = (
    (Judgment.objects.exclude(source=Source.ORIGINAL), "query", "created_at"),
    (SupportLabel.objects.all(), "aspect__query", "created_at"),
    (Vote.objects.all(), "case__query", "created_at"),
    (SpotCheck.objects.all(), "item__case__query", "created_at"),
    (AnswerGrade.objects.all(), "answer__query", "created_at"),
    (SentenceGrade.objects.all(), "item__query", "created_at"),
    (Debate.objects.all(), "query", "run__created_at"),
    (AnswerVerdict.objects.exclude(state=VerdictState.WAITING), "query", "run__created_at"),
    (Grade.objects.exclude(state=GradeState.WAITING), "answer__query", "run__created_at"),
    (
        SupportVerdict.objects.exclude(state=SupportState.WAITING),
        "claim__answer__query",
        "run__created_at",
    ),
)


def seen_before(benchmark: Benchmark, first: datetime) -> set[int]:
    """Queries of which anybody, people or models, had labelled, graded, debated or judged anything
    here by then, of whatever kind; the original gold is left out."""
    return {
        key
        for rows, query, at in _SAID
        for key in rows.filter(**{f"{query}__domain__benchmark": benchmark, f"{at}__lt": first})
        .order_by()
        .values_list(query, flat=True)
        .distinct()
    }


def _grouped(rows: Iterable[tuple[Hashable, _RunT]]) -> list[list[_RunT]]:
    found: dict[Hashable, list[_RunT]] = {}
    for key, run in rows:
        found.setdefault(key, []).append(run)
    return list(found.values())


def _grader_card(runs: Sequence[GradeRun]) -> Card:
    newest = runs[0]
    counts = Grade.objects.filter(run__in=runs).aggregate(
        graded=Count("pk", filter=Q(state=GradeState.GRADED)),
        failed=Count("pk", filter=Q(state__in=(GradeState.UNREADABLE, GradeState.FAILED))),
    )
    grades = _last_grades(runs)
    measures = []
    is_short = newest.rag_run.harness == Harness.SHORT
    if seen := _seen_by_people(newest, grades):
        named = ("true or false", BINARY) if is_short else ("0 to 100", POINTS)
        measures.append(Measure(*named, seen))
    if is_short and (seen := _seen_as_strings(grades)):
        measures.append(Measure("true or false", BINARY, seen, _STRINGS))
    return Card(
        key=f"answers-{newest.pk}",
        kind="Grader of generated answers",
        name=newest.grader,
        url=reverse("grade-run", args=[newest.benchmark.slug, newest.pk]),
        practice=newest.practice,
        model=newest.model,
        verdicts=counts["graded"],
        failed=counts["failed"],
        usd=sum(float(run.spent_usd) for run in runs),
        measures=measures,
        swap=_turned(runs, newest.benchmark.grade_runs.all(), _ordered_values),
        again=_asked_again(runs, _grade_values),
        files=[(kind, newest.grader) for kind in (LEADERBOARD, QRELS, NUGGETS)],
    )


def _last_grades(runs: Sequence[GradeRun]) -> dict[tuple[int, str], Grade]:
    """What a grader said last of each text that answers a query: however many systems gave it, and
    however often it was graded, it is one item."""
    rows = Grade.objects.filter(run__in=runs, state=GradeState.GRADED).defer("said", "error")
    rows = rows.select_related("answer").order_by("run_id", "pk")
    return {(each.answer.query_id, each.answer.text.strip()): each for each in rows}


def _seen_by_people(newest: GradeRun, grades: Mapping[tuple[int, str], Grade]) -> list[Seen]:
    """Grades beside what people said of the same words; what says nothing is wrong by rule."""
    said = said_by_people(newest.benchmark, newest.rag_run.harness)
    first = _first_used(newest, newest.benchmark.grade_runs.all())
    seen = seen_before(newest.benchmark, first) if said else set()
    return [
        Seen(
            (query, text, person),
            query,
            min(max(round(grade.value or 0.0), 0.0), POINTS[-1]),
            mark,
            len(text),
            query not in seen,
        )
        for (query, text), grade in grades.items()
        if grade.answer.is_informed
        for person, mark in said.get((query, text), {}).items()
    ]


def _seen_as_strings(grades: Mapping[tuple[int, str], Grade]) -> list[Seen]:
    return [
        Seen(
            key,
            key[0],
            grade.value or 0.0,
            float(grade.answer.accuracy),
            sum(map(len, grade.answer.answers)),
        )
        for key, grade in grades.items()
        if grade.answer.accuracy is not None
    ]


def _first_used(newest: JudgingRun, runs: Iterable[JudgingRun]) -> datetime:
    return min(run.created_at for run in runs if run.config["prompt"] == newest.config["prompt"])


def _turned(
    runs: Sequence[_RunT], known: QuerySet[_RunT], values: Callable[[_RunT], _Values]
) -> Proportion:
    """Values that are others in a run that saw the same in the other order."""
    turned = list(known.filter(~known.model.plain(), status=RunStatus.DONE).order_by("pk"))
    seen, other = _Values(), _Values()
    for run in runs:
        for each in turned:
            if each.about == run.about and each.endpoint == run.endpoint and _alike(run, each):
                seen |= values(run)
                other |= values(each)
    return changed(seen, other)


def _alike(one: JudgingRun, other: JudgingRun) -> bool:
    """Whether both ask one model in one way, but for the order."""
    asked = [{"replicate": 0, **run.config, "swapped": True} for run in (one, other)]
    return one.model == other.model and asked[0] == asked[1]


def _asked_again(runs: Sequence[_RunT], values: Callable[[_RunT], _Values]) -> Proportion:
    """Values that change between two runs of one judge over the same that asked anew."""
    for one, other in combinations(runs, 2):
        if one.about == other.about and one.replicate != other.replicate:
            return changed(values(one), values(other))
    return Proportion(0, 0)


def _grade_values(run: GradeRun) -> _Values:
    """Grades that were asked for: what says nothing has none of these."""
    grades = _last_grades([run]).items()
    return {key: each.value for key, each in grades if each.answer.is_informed}


def _ordered_values(run: GradeRun) -> _Values:
    """The same of answers that were held against several true ones."""
    several = with_order(run.rag_run)
    return {key: value for key, value in _grade_values(run).items() if key[0] in several}


def _citation_card(runs: Sequence[SupportRun]) -> Card:
    newest = runs[0]
    verdicts = SupportVerdict.objects.filter(run__in=runs)
    counts = verdicts.aggregate(
        judged=Count("pk", filter=Q(state=SupportState.JUDGED)),
        failed=Count("pk", filter=Q(state__in=(SupportState.UNREADABLE, SupportState.FAILED))),
    )
    seen = _seen_citations(newest, verdicts)
    return Card(
        key=f"citations-{newest.pk}",
        kind="Judge of citations",
        name=newest.judge,
        url=reverse("support-run", args=[newest.benchmark.slug, newest.pk]),
        practice=newest.practice,
        model=newest.model,
        verdicts=counts["judged"],
        failed=counts["failed"],
        usd=sum(float(run.spent_usd) for run in runs),
        measures=[Measure("support", _SUPPORT, seen)] if seen else [],
        swap=_turned(runs, newest.benchmark.support_runs.all(), _support_values),
        again=_asked_again(runs, _support_values),
        files=[(LEADERBOARD, newest.judge)],
    )


def _seen_citations(newest: SupportRun, verdicts: QuerySet[SupportVerdict]) -> list[Seen]:
    """What was said last of each citation beside each person's own verdict, given before machines'
    were shown; its length is that of the passage."""
    grades = SentenceGrade.objects.standing().filter(
        item__sample__benchmark=newest.benchmark, first__isnull=False
    )
    people: dict[int, list[tuple[int, int]]] = {}
    for origin, person, first in grades.order_by("pk").values_list(
        "item__origin", "grader", "first"
    ):
        people.setdefault(claim_of(origin), []).append((person, first or 0))
    first_used = _first_used(newest, newest.benchmark.support_runs.all())
    before = seen_before(newest.benchmark, first_used) if people else set()
    rows = verdicts.filter(state=SupportState.JUDGED, claim__in=list(people))
    columns = ("claim", "claim__answer__query", "value", "length")
    rows = rows.annotate(length=Length("claim__passage__text")).order_by("run", "pk")
    last = {row[0]: row for row in rows.values_list(*columns)}
    return [
        Seen((claim, person), query, value, first, length or 0, query not in before)
        for claim, query, value, length in last.values()
        for person, first in people[claim]
    ]


def _support_values(run: SupportRun) -> _Values:
    return dict(run.verdicts.filter(state=SupportState.JUDGED).values_list("claim", "value"))
