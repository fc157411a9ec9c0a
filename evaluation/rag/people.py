"""People beside graders: experts call short answers right or wrong, and give long ones points as
the teacher does, blind to what graders say.

They are asked as about answers of agents (annotate/grading). An answer that says nothing is wrong
by rule: nobody is asked about it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from django.db.models import Count, Max, QuerySet

from annotate.grading.models import SCALES, AnswerGrade, GradedAnswer, GradingSample, SampleKind
from annotate.grading.services import PEOPLE, SEED, SIZE, drawn_from, open_sample
from corpus.access import Access
from corpus.models import Benchmark
from evaluation.rag.models import AnswerState, RagRun
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.services import truths_of
from kit.errors import Refused
from kit.runs.models import RunStatus

_ORIGIN: Final = "rag"
KINDS: Final = (SampleKind.TRUTHS, SampleKind.LONG)
# By query and text of an answer: who said what of it, on the scale of its kind.
Said = Mapping[tuple[int, str], Mapping[int, float]]


class Mark(NamedTuple):
    """What a person said of an answer, on the scale of its kind, and the run it was drawn from."""

    run: int
    person: int
    value: float


def kind_of(harness: str) -> SampleKind:
    """What people are asked of answers of a harness."""
    return SampleKind.TRUTHS if harness == Harness.SHORT else SampleKind.LONG


def draw(
    *, access: Access, run: RagRun, size: int = SIZE, seed: int = SEED, people: int = PEOPLE
) -> GradingSample:
    """Ask experts about answers of all sources of a run, drawn by domain in proportion; as
    `open_sample`. One text that several sources gave to a query is judged once, for all."""
    if run.status != RunStatus.DONE:
        raise Refused("Answers are drawn when their run is done, and this one is not.")
    rows = run.answers.filter(state=AnswerState.ANSWERED, is_informed=True)
    found = list(rows.select_related("query__domain").order_by("pk"))
    queries = {each.query_id: each.query for each in found}
    truths = truths_of(access.benchmark, list(queries.values()), run.harness)
    answers = [
        GradedAnswer(
            query=each.query, origin=f"{_ORIGIN}:{run.pk}:{each.pk}", text=each.text, truths=known
        )
        for each in found
        if (known := [truth for truth in truths[each.query_id] if truth.strip()])
    ]
    kind = kind_of(run.harness)
    return open_sample(
        access=access, answers=answers, size=size, seed=seed, people=people, kind=kind
    )


def samples(run: RagRun) -> QuerySet[GradingSample]:
    """What was drawn of a run, newest first, with how far it is."""
    return drawn_from(f"{_ORIGIN}:{run.pk}:", *KINDS)


def marks_of(benchmark: Benchmark, harness: str) -> dict[tuple[int, str], list[Mark]]:
    """What stands of what people said of generated answers of a harness, or of another one whose
    answers are judged alike, oldest first."""
    kind = kind_of(harness)
    found: dict[tuple[int, str], list[Mark]] = {}
    columns = ("answer__query", "answer__text", "answer__origin", "grader", "scores")
    rows = _grades(benchmark).filter(answer__sample__kind=kind).order_by("created_at", "pk")
    for query, text, origin, person, scores in rows.values_list(*columns):
        mark = Mark(int(origin.split(":")[1]), person, scores[SCALES[kind].name])
        found.setdefault((query, text), []).append(mark)
    return found


def said_by_people(benchmark: Benchmark, harness: str) -> Said:
    """The same by person, whatever it was drawn from; of one person the last word."""
    marks = marks_of(benchmark, harness)
    return {at: {each.person: each.value for each in every} for at, every in marks.items()}


def last_said(benchmark: Benchmark) -> tuple[int, int, int]:
    """Others whenever people said something new, or one was said to be another."""
    people = Count("grader", distinct=True)
    told = _grades(benchmark).aggregate(n=Count("pk"), last=Max("pk"), people=people)
    return told["n"], told["last"] or 0, told["people"]


def _grades(benchmark: Benchmark) -> QuerySet[AnswerGrade]:
    return AnswerGrade.objects.standing().filter(
        answer__sample__benchmark=benchmark, answer__sample__kind__in=KINDS
    )
