"""People beside the judge: answers that experts score blind, and how far both agree.

The rows of people's work are those of `annotate/grading`; an answer of a run is named there by its
`origin`, which nobody who scores is shown.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Q, QuerySet

from annotate.answers.report import coefficient_row
from annotate.grading.models import AnswerGrade, GradedAnswer, GradingSample, SampleKind
from annotate.grading.services import PEOPLE, POINTS, SCORES, SEED, SIZE, open_sample
from corpus.access import Access
from corpus.models import Benchmark
from evaluation.agents.judging import answers_of, aspects_of
from evaluation.agents.models import AgentItem, AgentRun, JudgeRun
from evaluation.agents.protocol.judging import completeness_of
from evaluation.agents.reading import verdicts_by
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.stats.agreement import cohen_kappa, krippendorff_alpha
from kit.stats.kappa import WEIGHTS, Weights
from kit.stats.means import mean
from kit.stats.predicted import corrected_mean, strata_by_grade
from kit.stats.ratings import from_triples
from kit.stats.results import Estimate

_ORIGIN: Final = "agent"
# What is compared: its name, and its whole scale.
MEASURES: Final[dict[str, tuple[str, Sequence[float]]]] = {
    "aspects": ("Aspects: 0, .5 or 1", SCORES),
    "completeness": ("Completeness: 1 to 5", tuple(POINTS)),
    "quality": ("Quality: 1 to 5", tuple(POINTS)),
}
ON_POINTS: Final = ("completeness", "quality")


def draw_sample(
    *,
    access: Access,
    runs: Sequence[AgentRun],
    size: int = SIZE,
    seed: int = SEED,
    people: int = PEOPLE,
) -> GradingSample:
    """Ask experts about answers of these runs, drawn by domain in proportion; as `open_sample`."""
    if not runs:
        raise Refused("Choose a run whose answers people are to score.", field="runs")
    rows = [row for run in runs for row in answers_of(run)]
    aspects = aspects_of([row["query"].pk for row in rows])
    answers = [
        GradedAnswer(
            query=row["query"],
            origin=origin_of(row["item"].pk, row["round"]),
            text=answer["text"],
        )
        for row in rows
        if row["query"].pk in aspects and (answer := row["item"].answer_after(row["round"]))
    ]
    return open_sample(access=access, answers=answers, size=size, seed=seed, people=people)


def origin_of(item: int, round: int) -> str:
    """How an answer of a run is named among those that people score."""
    return f"{_ORIGIN}:{item}:{round}"


def answer_key(origin: str) -> tuple[int, int]:
    """The item and the round that an origin names."""
    _, item, number = origin.split(":")
    return int(item), int(number)


def samples(benchmark: Benchmark) -> QuerySet[GradingSample]:
    """Samples of agents' answers, newest first, with how far they are."""
    stands = Q(answers__grades__stands=True)
    rows = GradingSample.objects.filter(benchmark=benchmark, kind=SampleKind.ANSWERS)
    return rows.annotate(
        drawn=Count("answers", distinct=True),
        scored=Count("answers", filter=stands, distinct=True),
        given=Count("answers__grades", filter=stands, distinct=True),
    )


def answers_in_sample(sample: GradingSample) -> QuerySet[GradedAnswer]:
    """What was drawn, with what people said."""
    return sample.answers.select_related("query__domain").prefetch_related("grades__grader")


@dataclass(frozen=True)
class Beside:
    """What judge and people said of the same answers.

    `people` are labels by (item, person), `pairs` of the judge and a person by the same, both by
    measure; an item is an answer, or one aspect of it. `unjudged` counts grades of answers that the
    judge has no verdict on.
    """

    answers: int
    unjudged: int
    people: dict[str, dict[tuple[Hashable, int], float]]
    pairs: dict[str, dict[tuple[Hashable, int], tuple[float, float]]]

    def kappa(self, measure: str, weights: Weights = "quadratic") -> Estimate:
        """Weighted kappa of judge and people; an item is one score of one person."""
        scale, pairs = MEASURES[measure][1], self.pairs[measure].items()
        both = ((0, "judge"), (1, "people"))
        triples = [(at, name, pair[side]) for at, pair in pairs for side, name in both]
        return cohen_kappa(from_triples(triples, categories=scale, scores=scale), weights)

    def alpha(self, measure: str) -> Estimate:
        """How far people agree among themselves, on interval level."""
        scale, labels = MEASURES[measure][1], self.people[measure].items()
        triples = [(item, person, label) for (item, person), label in labels]
        given = from_triples(triples, categories=scale, scores=scale)
        return krippendorff_alpha(given, "interval")


def beside(judge: JudgeRun) -> Beside:
    """Every grade that stands, beside the first verdict that this judge gave on its answer.

    Of a person who was asked about one answer in two samples, the later grade.
    """
    said = verdicts_by(judge)
    people: dict[str, dict[tuple[Hashable, int], float]] = {name: {} for name in MEASURES}
    pairs: dict[str, dict[tuple[Hashable, int], tuple[float, float]]] = {n: {} for n in MEASURES}
    answers: set[tuple[int, int]] = set()
    unjudged = 0
    for grade in grades_of(judge.benchmark):
        key, who = answer_key(grade.answer.origin), grade.grader_id
        verdict = next((each for each in said.get(key, ()) if each.quality is not None), None)
        unjudged += verdict is None
        if verdict is not None:
            answers.add(key)
        for measure, label in points_of(grade).items():
            people[measure][key, who] = label
            if verdict is not None:
                pairs[measure][key, who] = (getattr(verdict, measure), label)
        for name, score in grade.scores.items():
            people["aspects"][(*key, name), who] = score
            if verdict is not None and name in verdict.scores:
                pairs["aspects"][(*key, name), who] = (verdict.scores[name], score)
    return Beside(len(answers), unjudged, people, pairs)


def agreement_table(found: Beside, url: str = "") -> ReportTable:
    """Judge and people, and people among themselves."""
    rows = []
    for measure, (name, _) in MEASURES.items():
        if found.pairs[measure]:
            rows += [
                coefficient_row(
                    name, f"judge and people, {weights} κ", found.kappa(measure, weights), url
                )
                for weights in reversed(WEIGHTS)
            ]
        if len({who for _, who in found.people[measure]}) > 1:
            rows.append(coefficient_row(name, "people, α (interval)", found.alpha(measure), url))
    notes = [
        f"{found.answers:,} answers that people scored blind, by the judge's rubric. Judge and "
        "people: an item is one score of one person, beside the judge's first verdict; people's "
        "completeness follows from their scores by weight. Scores of one answer are alike, so "
        "that intervals may be too narrow.",
    ]
    if found.unjudged:
        notes.append(f"{found.unjudged:,} grades are of answers that this judge has not judged.")
    return ReportTable(
        "people",
        "Judge and people",
        ("score", "who and how", "agreement", "items", "why not"),
        tuple(rows),
        tuple(notes),
    )


def corrected_table(runs: Sequence[AgentRun], judge: JudgeRun) -> ReportTable:
    """The judge's mean over the answers of each run, and what people's sample makes of it.

    An answer is one unit, by whatever round; people's value is the mean of those who scored it.
    """
    said: dict[int, dict[tuple[int, int], dict[str, float]]] = {}
    of_run = dict(AgentItem.objects.filter(run__in=runs).order_by().values_list("pk", "run"))
    for key, rows in verdicts_by(judge).items():
        known = [row for row in rows if row.quality is not None]
        if known and key[0] in of_run:
            means = {name: _mean([getattr(row, name) for row in known]) for name in ON_POINTS}
            said.setdefault(of_run[key[0]], {})[key] = means
    given: dict[tuple[int, int], list[dict[str, float]]] = {}
    for grade in grades_of(judge.benchmark):
        given.setdefault(answer_key(grade.answer.origin), []).append(points_of(grade))
    lines: list[tuple[Cell, ...]] = []
    for run in runs:
        judged = said.get(run.pk, {})
        for name in ON_POINTS:
            pairs = [
                (judged[key][name], _mean([each[name] for each in given[key]]))
                for key in sorted(judged.keys() & given.keys())
            ]
            if pairs:
                marks = [each[name] for each in judged.values()]
                raw = _mean(marks)
                found = corrected_mean(strata_by_grade(marks, pairs))
                lines.append(
                    (
                        text(run.name),
                        text(name),
                        Cell(len(judged)),
                        Cell(raw, "coefficient"),
                        Cell(len(pairs)),
                        measured(mean([people for _, people in pairs]), "coefficient"),
                        measured(found, "coefficient"),
                    )
                )
    header = ("run", "score", "answers", "judge", "scored by people", "people alone", "corrected")
    notes = (
        "Prediction-powered inference (PPI++): people's mean over the sample, moved by what the "
        "judge says of all answers as far as both go together; by strata of its score where people "
        "scored at least ten of each. An answer is one unit; samples are drawn by chance over runs "
        "and domains. Intervals: Student's t, 95 %, with the finite "
        "population's correction; none where judge and people never differ.",
    )
    return ReportTable("corrected", "Scores corrected by people", header, tuple(lines), notes)


def in_short(found: Beside) -> str:
    """How far the judge agrees with people, in a sentence for the tables that use it."""
    if not found.answers:
        return "No person has scored answers beside this judge."
    told = [
        f"{name} {'–' if each.value is None else f'{each.value:.2f}'}{_ends(each)}"
        for name in MEASURES
        if found.pairs[name]
        for each in [found.kappa(name)]
    ]
    return f"With people, on {found.answers:,} answers, its quadratic κ is: {', '.join(told)}."


def points_of(grade: AnswerGrade) -> dict[str, float]:
    """What a person's grade says on the scales of the judge."""
    assert grade.quality is not None  # of what is scored by aspects
    completeness = completeness_of(grade.scores, grade.weights)
    return {"completeness": completeness, "quality": grade.quality}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ends(found: Estimate) -> str:
    return "" if found.low is None else f" ({found.low:.2f} to {found.high:.2f})"


def grades_of(benchmark: Benchmark) -> Iterable[AnswerGrade]:
    """What people said of agents' answers and what stands of it."""
    rows = AnswerGrade.objects.standing().filter(
        answer__sample__benchmark=benchmark, answer__origin__startswith=f"{_ORIGIN}:"
    )
    return rows.select_related("answer").order_by("pk")
