"""The card of each judge: agents' judges, models that label pairs, graders of generated answers.

A card holds the agreement with people on items that the author of the judge's prompt never saw:
queries of which nobody had labelled or graded anything, and no model said anything, when the prompt
was first used here.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from math import log
from typing import Any, Final

from django.db.models import Count, Min, Q, QuerySet
from django.db.models.functions import Length
from django.urls import reverse

from annotate.models import AnswerGrade, CaseStatus, Vote
from corpus.models import Benchmark
from debate.models import AuditItem, Debate, DebateRun, RunKind
from evaluation.agents.models import AnswerVerdict, JudgeRun, VerdictState
from evaluation.agents.protocol.measures import calibration_error, spread
from evaluation.agents.reading import all_judges, is_same, verdicts_by
from evaluation.agents.trust.people import ON_POINTS, answer_key, grades_of, points_of
from evaluation.agents.trust.repeating import repeated
from evaluation.judges.orders import judges_of
from evaluation.metrics.alignment import partial_correlation
from evaluation.rag.models import Grade, GradeRun, GradeState
from evaluation.rag.people import said_by_people
from evaluation.rag.protocol.answering import Harness
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.runs.models import RunStatus
from kit.stats.agreement import cohen_kappa
from kit.stats.kappa import Weights
from kit.stats.proportions import Proportion, proportion
from kit.stats.ratings import from_triples
from kit.stats.results import Estimate

BINARY: Final = (0.0, 1.0)
# Of long answers; a grader may give any whole number.
POINTS: Final = tuple(float(n) for n in range(101))
_BINS: Final = 5
_PEOPLE, _STRINGS = "people", "exact strings"
_Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class Seen:
    """One item that a judge and a person gave a value: of which query, how long its text is, and
    whether the author of the judge's prompt never saw it."""

    key: _Key
    query: int
    judge: float
    other: float
    length: int
    is_held_out: bool = True


@dataclass(frozen=True)
class Measure:
    """What a judge says on one scale, beside others who are called `beside`."""

    name: str
    scale: Sequence[float]
    seen: Sequence[Seen]
    beside: str = _PEOPLE

    def kappa(self, *, held_out: bool) -> Estimate:
        """Cohen's kappa, quadratic on scales of more than two values."""
        weights: Weights = "quadratic" if len(self.scale) > 2 else "unweighted"
        kept = [each for each in self.seen if each.is_held_out or not held_out]
        both = ((e.key, (("the judge", e.judge), (self.beside, e.other))) for e in kept)
        triples = [(key, who, value) for key, pair in both for who, value in pair]
        return cohen_kappa(from_triples(triples, categories=self.scale, scores=self.scale), weights)

    @property
    def length_bias(self) -> float | None:
        """Correlation of the judge's values with the logarithm of the length, what both owe to the
        others' values taken out: above 0 it favours long texts."""
        if len(self.seen) < 4:
            return None
        columns = zip(*((e.judge, log(1 + e.length), e.other) for e in self.seen), strict=True)
        return partial_correlation(*columns)

    @property
    def calibration(self) -> float | None:
        """Mean distance of the judge's and others' values, both from 0 to 1, over bins of equal
        count by the judge's value."""
        low, width = min(self.scale), max(self.scale) - min(self.scale)
        pairs = [((e.judge - low) / width, (e.other - low) / width) for e in self.seen]
        return calibration_error(pairs, _BINS)


@dataclass(frozen=True)
class Card:
    """One judge. `swap` are values that change when what it is shown changes its order, `again`
    those that change when it is asked again, `sigma` the mean spread of repetitions."""

    key: str
    kind: str
    name: str
    url: str
    practice: bool
    model: str
    verdicts: int
    failed: int
    usd: float
    measures: Sequence[Measure] = field(default_factory=tuple)
    swap: Proportion = field(default_factory=lambda: Proportion(0, 0))
    again: Proportion = field(default_factory=lambda: Proportion(0, 0))
    sigma: float | None = None


def cards_of(benchmark: Benchmark) -> list[Card]:
    """Every judge that has said anything, by kind; one that is shown aspects swapped has none of
    its own."""
    return [
        *map(_agent_card, judges_of(benchmark)),
        *(_label_card(benchmark, runs) for runs in _labellers(benchmark)),
        *(_grader_card(runs) for runs in _graders(benchmark)),
    ]


def table_of(card: Card) -> ReportTable:
    """The card as a table: a figure a row."""
    rows: list[tuple[Cell, ...]] = []
    for each in card.measures:
        n, beside = Cell(len(each.seen)), text(each.beside)
        for held_out, words in ((True, "held out"), (False, "all items")):
            if each.beside == _PEOPLE or not held_out:
                found = each.kappa(held_out=held_out)
                rows.append(
                    (text(f"κ, {each.name}, {words}"), measured(found, "coefficient"),
                     Cell(found.n_items), text(found.reason or each.beside))
                )  # fmt: skip
        for words, value in (
            ("length bias", each.length_bias),
            ("calibration error", each.calibration),
        ):
            rows.append((text(f"{words}, {each.name}"), Cell(value, "coefficient"), n, beside))
    for words, share, why in (
        ("changes when the order is swapped", card.swap, "not tried"),
        ("changes when asked again", card.again, "not repeated"),
    ):
        rows.append((text(words), percent(share), Cell(share.n), text("" if share.n else why)))
    if card.sigma is not None:
        sigma = Cell(card.sigma, "coefficient")
        rows.append((text("mean sigma of repetitions"), sigma, Cell(None), text("quality")))
    said = card.verdicts + card.failed
    usd = Cell(card.usd / card.verdicts if card.verdicts else None, "usd")
    failed = percent(proportion(card.failed, said))
    rows += [
        (text("without a verdict"), failed, Cell(said), text("")),
        (text("dollars a verdict"), usd, Cell(card.verdicts), text("")),
    ]
    practice = "The practice model judges by shared words; nothing of this is to be read."
    notes = (practice,) if card.practice else ()
    title = f"{card.kind}: {card.name}"
    header = ("figure", "value", "items", "beside, or why not")
    return ReportTable(card.key, title, header, tuple(rows), notes)


def _queries(*rows: tuple[QuerySet[Any], str]) -> set[int]:
    """The queries that stand in such columns."""
    return {key for some, name in rows for key in
            some.order_by().values_list(name, flat=True).distinct()}  # fmt: skip


def _changed(one: Mapping[Hashable, object], other: Mapping[Hashable, object]) -> Proportion:
    """Values that both have, and that are not the same."""
    shared = one.keys() & other.keys()
    return proportion(sum(one[key] != other[key] for key in shared), len(shared))


# Judges of agents' answers.


def _agent_card(judge: JudgeRun) -> Card:
    benchmark = judge.benchmark
    said = verdicts_by(judge)
    seen_before = _seen_answers(judge)
    measures: dict[str, list[Seen]] = {name: [] for name in ON_POINTS}
    for grade in grades_of(benchmark):
        key = answer_key(grade.answer.origin)
        verdict = next((each for each in said.get(key, ()) if each.quality is not None), None)
        if verdict is None:
            continue
        for name, value in points_of(grade).items():
            measures[name].append(
                Seen(
                    (*key, grade.grader_id),
                    grade.answer.query_id,
                    float(getattr(verdict, name)),
                    float(value),
                    len(grade.answer.text),
                    grade.answer.query_id not in seen_before,
                )
            )
    runs = [each for each in _same_judge(judge) if is_same(each, judge)]
    rows = AnswerVerdict.objects.filter(run__in=runs).exclude(state=VerdictState.WAITING)
    failed = rows.filter(state=VerdictState.FAILED).count()
    items = repeated(row for verdicts in said.values() for row in verdicts)
    marks = [[row.quality for row in item if row.quality is not None] for item in items]
    scale = tuple(float(point) for point in range(1, 6))
    return Card(
        key=f"agents-{judge.pk}",
        kind="Judge of agents",
        name=judge.judge,
        url=reverse("judge-run", args=[benchmark.slug, judge.pk]),
        practice=judge.practice,
        model=judge.model,
        verdicts=rows.count() - failed,
        failed=failed,
        usd=sum(float(each.spent_usd) for each in runs),
        measures=[Measure(name, scale, found) for name, found in measures.items() if found],
        swap=_swapped(judge, said),
        again=proportion(sum(len(set(each)) > 1 for each in marks), len(marks)),
        sigma=spread(marks)[1],
    )


def _same_judge(judge: JudgeRun) -> Iterable[JudgeRun]:
    rows = judge.benchmark.judge_runs.filter(endpoint=judge.endpoint, model=judge.model)
    return rows.filter(mode=judge.mode).select_related("account").order_by("pk")


def _seen_answers(judge: JudgeRun) -> set[int]:
    """Queries of which something was judged or graded before this prompt was first used."""
    runs = judge.benchmark.judge_runs.all()
    first = min(run.created_at for run in runs if run.config["prompt"] == judge.config["prompt"])
    verdicts = AnswerVerdict.objects.filter(
        run__benchmark=judge.benchmark, run__created_at__lt=first
    ).exclude(state=VerdictState.WAITING)
    return _queries((verdicts, "query"), _graded_before(judge.benchmark, first))


def _graded_before(benchmark: Benchmark, first: datetime) -> tuple[QuerySet[Any], str]:
    grades = AnswerGrade.objects.filter(answer__sample__benchmark=benchmark, created_at__lt=first)
    return grades, "answer__query"


def _swapped(judge: JudgeRun, said: Any) -> Proportion:
    """Answers whose quality or completeness is another one with the aspects swapped."""
    for other in all_judges(judge.benchmark):
        if other.config.get("swapped"):
            # As it would be with the aspects in their order; not to be saved.
            config = {name: value for name, value in other.config.items() if name != "swapped"}
            plain = JudgeRun(
                endpoint=other.endpoint, model=other.model, mode=other.mode, config=config
            )
            if is_same(plain, judge):
                return _changed(_marks(said), _marks(verdicts_by(other)))
    return Proportion(0, 0)


def _marks(said: Mapping[Any, Sequence[AnswerVerdict]]) -> dict[Hashable, object]:
    """Quality and completeness of what was first judged."""
    first = {
        key: next((each for each in rows if each.quality is not None), None)
        for key, rows in said.items()
    }
    return {key: (row.quality, row.completeness) for key, row in first.items() if row}


# Models that label pairs of query and passage.


def _labellers(benchmark: Benchmark) -> list[list[DebateRun]]:
    """Runs by kind, models and prompt, the newest judge first."""
    # What is said of an aspect, or once people were heard, is no label of the pair.
    runs = benchmark.debate_runs.filter(pool__of_aspects=False, reheard_of=None)
    runs = runs.exclude(kind__in=(RunKind.HUMAN_ONLY, RunKind.LARA))
    found: dict[_Key, list[DebateRun]] = {}
    for run in runs.filter(done__gt=0).select_related("account").order_by("-pk"):
        found.setdefault((run.kind, *_models(run), run.prompt_sha256), []).append(run)
    return list(found.values())


def _models(run: DebateRun) -> tuple[str, ...]:
    return tuple(each["model"] for each in run.model_choices) or (run.model,)


def _label_card(benchmark: Benchmark, runs: Sequence[DebateRun]) -> Card:
    newest = runs[0]
    counts = Debate.objects.filter(run__in=runs).aggregate(
        labelled=Count("pk", filter=Q(label__isnull=False)),
        failed=Count("pk", filter=Q(status__in=("failed", "unreadable", "refused"))),
    )
    seen_before = _seen_pairs(benchmark, newest.prompt_sha256)
    # Draws by error would weigh some labels more than others.
    audits = AuditItem.objects.filter(
        sample__run__in=runs, sample__by_error=False, case__status=CaseStatus.CLOSED
    ).annotate(length=Length("debate__passage__text"))
    columns = ("pk", "debate__query", "label", "case__label", "length")
    seen = [
        Seen((pk,), query, float(label > 0), float(people > 0), length or 0,
             query not in seen_before)
        for pk, query, label, people, length in audits.order_by("pk").values_list(*columns)
    ]  # fmt: skip
    models = _models(newest)
    return Card(
        key=f"labels-{newest.pk}",
        kind=str(RunKind(newest.kind).label),
        name=f"{', '.join(dict.fromkeys(models))}, prompt {newest.prompt_sha256[:12]}",
        url=reverse("debate-run-report", args=[benchmark.slug, newest.pk]),
        practice=any(run.practice for run in runs),
        model=models[0],
        verdicts=counts["labelled"],
        failed=counts["failed"],
        usd=sum(float(run.spent_usd) for run in runs),
        measures=[Measure("blind audits", BINARY, seen)] if seen else [],
        swap=_flipped(runs, "first"),
        again=_flipped(runs, "replicate"),
    )


def _seen_pairs(benchmark: Benchmark, prompt: str) -> set[int]:
    """Queries that a run of before debated, or people voted on, when the prompt was first used."""
    runs = benchmark.debate_runs.filter(prompt_sha256=prompt)
    first = runs.aggregate(first=Min("created_at"))["first"]
    debates = Debate.objects.filter(run__benchmark=benchmark, run__created_at__lt=first)
    votes = Vote.objects.filter(case__query__domain__benchmark=benchmark, created_at__lt=first)
    return _queries((debates, "query"), (votes, "case__query"))


def _flipped(runs: Sequence[DebateRun], name: str) -> Proportion:
    """Labels that change between two runs that differ in this one value, over pairs both have."""
    for one, other in combinations(runs, 2):
        mine, theirs = ({**run.config, "preset": ""} for run in (one, other))
        if mine.pop(name, None) != theirs.pop(name, None) and mine == theirs:
            return _changed(_labels(one), _labels(other))
    return Proportion(0, 0)


def _labels(run: DebateRun) -> dict[Hashable, object]:
    rows = run.debates.filter(label__isnull=False).order_by()
    return {(q, p): label for q, p, label in rows.values_list("query", "passage", "label")}


# Graders of generated answers.


def _graders(benchmark: Benchmark) -> list[list[GradeRun]]:
    """Finished gradings by grader and harness, the newest first."""
    found: dict[_Key, list[GradeRun]] = {}
    rows = benchmark.grade_runs.filter(status=RunStatus.DONE)
    for run in rows.select_related("rag_run", "account").order_by("-pk"):
        found.setdefault((run.endpoint, run.grader, run.rag_run.harness), []).append(run)
    return list(found.values())


def _grader_card(runs: Sequence[GradeRun]) -> Card:
    newest = runs[0]
    grades = Grade.objects.filter(run__in=runs)
    counts = grades.aggregate(
        graded=Count("pk", filter=Q(state=GradeState.GRADED)),
        failed=Count("pk", filter=Q(state__in=(GradeState.UNREADABLE, GradeState.FAILED))),
    )
    measures = []
    is_short = newest.rag_run.harness == Harness.SHORT
    if seen := _seen_by_people(newest, grades):
        named = ("true or false", BINARY) if is_short else ("0 to 100", POINTS)
        measures.append(Measure(*named, seen))
    if is_short:
        rows = grades.filter(state=GradeState.GRADED, answer__accuracy__isnull=False)
        columns = ("pk", "answer__query", "value", "answer__accuracy", "answer__answers")
        seen = [
            Seen((pk,), query, value, float(right), sum(map(len, texts)))
            for pk, query, value, right, texts in rows.order_by("pk").values_list(*columns)
        ]
        measures += [Measure("true or false", BINARY, seen, _STRINGS)] if seen else []
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
        again=_graded_again(runs),
    )


def _seen_by_people(newest: GradeRun, grades: QuerySet[Grade]) -> list[Seen]:
    """Grades beside what people said of the same words; what says nothing is wrong by rule."""
    said = said_by_people(newest.benchmark, newest.rag_run.harness)
    seen_before = _seen_generated(newest) if said else set()
    rows = grades.filter(state=GradeState.GRADED, answer__is_informed=True)
    rows = rows.filter(answer__query__in={query for query, _ in said}).select_related("answer")
    return [
        Seen(
            (grade.pk, person),
            grade.answer.query_id,
            min(max(round(grade.value or 0.0), 0.0), POINTS[-1]),
            mark,
            len(text),
            grade.answer.query_id not in seen_before,
        )
        for grade in rows.order_by("pk")
        for text in [grade.answer.text.strip()]
        for person, mark in said.get((grade.answer.query_id, text), {}).items()
    ]


def _seen_generated(newest: GradeRun) -> set[int]:
    """Queries whose generated answers somebody had graded when this prompt was first used."""
    runs = newest.benchmark.grade_runs.all()
    first = min(run.created_at for run in runs if run.config["prompt"] == newest.config["prompt"])
    grades = Grade.objects.filter(run__benchmark=newest.benchmark, run__created_at__lt=first)
    return _queries((grades, "answer__query"), _graded_before(newest.benchmark, first))


def _graded_again(runs: Sequence[GradeRun]) -> Proportion:
    """Values that change between two gradings of one run by this grader that asked anew."""
    for one, other in combinations(runs, 2):
        if one.rag_run_id == other.rag_run_id and one.replicate != other.replicate:
            return _changed(*map(_values, (one, other)))
    return Proportion(0, 0)


def _values(run: GradeRun) -> dict[Hashable, object]:
    return dict(run.grades.filter(state=GradeState.GRADED).values_list("answer", "value"))
