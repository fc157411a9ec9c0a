"""The card of each judge: agents' judges, models that label pairs, graders of generated answers,
judges of citations.

A card holds the agreement with people on items that the author of the judge's prompt never saw:
queries of which nobody, people or models, had labelled, graded or judged anything when the prompt
was first used here.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from django.db.models import Count, Min, Q
from django.db.models.functions import Length
from django.urls import reverse

from annotate.models import CaseStatus
from corpus.models import Benchmark
from debate.models import AuditItem, Debate, DebateRun, RunKind
from evaluation.agents.models import AnswerVerdict, JudgeRun, VerdictState
from evaluation.agents.protocol.measures import spread
from evaluation.agents.reading import all_judges, is_same, verdicts_by
from evaluation.agents.trust.people import ON_POINTS, answer_key, grades_of, points_of
from evaluation.agents.trust.repeating import repeated
from evaluation.judges.card import BINARY, Card, Measure, Seen, changed
from evaluation.judges.exchange import LEADERBOARD, QRELS
from evaluation.judges.graders import citation_cards, grader_cards, seen_before
from evaluation.judges.orders import judges_of
from kit.stats.proportions import Proportion, proportion

_Key = tuple[Hashable, ...]


def cards_of(benchmark: Benchmark) -> list[Card]:
    """Every judge that has said anything, by kind; one that sees another order has none of its
    own."""
    return [
        *map(_agent_card, judges_of(benchmark)),
        *(_label_card(benchmark, runs) for runs in _labellers(benchmark)),
        *grader_cards(benchmark),
        *citation_cards(benchmark),
    ]


# Judges of agents' answers.


def _agent_card(judge: JudgeRun) -> Card:
    benchmark = judge.benchmark
    said = verdicts_by(judge)
    prompt = judge.config["prompt"]
    runs_by = [each for each in benchmark.judge_runs.all() if each.config["prompt"] == prompt]
    seen_by_then = seen_before(benchmark, min(each.created_at for each in runs_by))
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
                    grade.answer.query_id not in seen_by_then,
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
        files=[(LEADERBOARD, judge.judge)],
    )


def _same_judge(judge: JudgeRun) -> Iterable[JudgeRun]:
    rows = judge.benchmark.judge_runs.filter(endpoint=judge.endpoint, model=judge.model)
    return rows.filter(mode=judge.mode).select_related("account").order_by("pk")


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
                return changed(_marks(said), _marks(verdicts_by(other)))
    return Proportion(0, 0)


def _marks(said: Mapping[Any, Sequence[AnswerVerdict]]) -> dict[Hashable, object]:
    """Quality and completeness of what was first judged."""
    first = {
        key: next((each for each in rows if each.quality is not None), None)
        for key, rows in said.items()
    }
    return {key: (row.quality, row.completeness) for key, row in first.items() if row}


# Models that label pairs of query and passage, or of aspect and passage.


def _labellers(benchmark: Benchmark) -> list[list[DebateRun]]:
    """Runs by kind, what they are about, models and prompt, the newest judge first."""
    # What is said once people were heard is no model's own label.
    runs = benchmark.debate_runs.filter(reheard_of=None)
    runs = runs.exclude(kind__in=(RunKind.HUMAN_ONLY, RunKind.LARA))
    found: dict[_Key, list[DebateRun]] = {}
    for run in runs.filter(done__gt=0).select_related("account", "pool").order_by("-pk"):
        key = run.kind, run.pool.of_aspects, *_models(run), run.prompt_sha256
        found.setdefault(key, []).append(run)
    return list(found.values())


def _models(run: DebateRun) -> tuple[str, ...]:
    return tuple(each["model"] for each in run.model_choices) or (run.model,)


def _label_card(benchmark: Benchmark, runs: Sequence[DebateRun]) -> Card:
    newest = runs[0]
    counts = Debate.objects.filter(run__in=runs).aggregate(
        labelled=Count("pk", filter=Q(label__isnull=False)),
        failed=Count("pk", filter=Q(status__in=("failed", "unreadable", "refused"))),
    )
    used = benchmark.debate_runs.filter(prompt_sha256=newest.prompt_sha256)
    seen_by_then = seen_before(benchmark, used.aggregate(first=Min("created_at"))["first"])
    # Draws by error would weigh some labels more than others.
    audits = AuditItem.objects.filter(
        sample__run__in=runs, sample__by_error=False, case__status=CaseStatus.CLOSED
    ).annotate(length=Length("debate__passage__text"))
    columns = ("pk", "debate__query", "label", "case__label", "length")
    seen = [
        Seen((pk,), query, float(label > 0), float(people > 0), length or 0,
             query not in seen_by_then)
        for pk, query, label, people, length in audits.order_by("pk").values_list(*columns)
    ]  # fmt: skip
    models = _models(newest)
    return Card(
        key=f"labels-{newest.pk}",
        kind=f"{RunKind(newest.kind).label}{' on aspects' if newest.pool.of_aspects else ''}",
        name=f"{', '.join(dict.fromkeys(models))}, prompt {newest.prompt_sha256[:12]}",
        url=reverse("debate-run-report", args=[benchmark.slug, newest.pk]),
        practice=any(run.practice for run in runs),
        model=models[0],
        verdicts=counts["labelled"],
        failed=counts["failed"],
        usd=sum(float(run.spent_usd) for run in runs),
        measures=[Measure("blind audits", BINARY, seen)] if seen else [],
        swap=_stances_swapped(runs) if newest.kind == RunKind.DEBATE else None,
        again=_flipped(runs, "replicate"),
        # What is said of an aspect is no label of the pair.
        files=[] if newest.pool.of_aspects else [(QRELS, str(newest.pk))],
    )


def _stances_swapped(runs: Sequence[DebateRun]) -> Proportion:
    """Labels that change between two debates of the same models, each with the other stance."""
    for one, other in combinations(runs, 2):
        (mine, my_stances), (theirs, their_stances) = map(_without_stances, (one, other))
        pairs = list(zip(my_stances, their_stances, strict=False))
        if mine == theirs and pairs and all(a != b for a, b in pairs):
            return changed(_labels(one), _labels(other))
    return Proportion(0, 0)


def _without_stances(run: DebateRun) -> tuple[dict[str, Any], list[str]]:
    """How a run is set up but for who opens with what, and that by agent. `first` is no more than
    how stances were filled in when it began."""
    agents = run.config.get("agents", [])
    rest = {**run.config, "preset": "", "first": ""}
    rest["agents"] = [{**each, "stance": ""} for each in agents]
    return rest, [each["stance"] for each in agents]


def _flipped(runs: Sequence[DebateRun], name: str) -> Proportion:
    """Labels that change between two runs that differ in this one value, over pairs both have."""
    for one, other in combinations(runs, 2):
        mine, theirs = ({**run.config, "preset": ""} for run in (one, other))
        if mine.pop(name, None) != theirs.pop(name, None) and mine == theirs:
            return changed(_labels(one), _labels(other))
    return Proportion(0, 0)


def _labels(run: DebateRun) -> dict[Hashable, object]:
    rows = run.debates.filter(label__isnull=False).order_by()
    columns = ("query", "passage", "aspect", "label")
    return {(q, p, a): label for q, p, a, label in rows.values_list(*columns)}
