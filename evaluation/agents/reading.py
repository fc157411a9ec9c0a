"""What runs of agents came to, under one judge: by round where rounds are fixed, or as a whole;
and one query of a run as people study it: rounds, aspects, repetitions, every step."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Q, QuerySet

from corpus.models import Benchmark, CorpusVersion, Passage
from corpus.versions.services import stored
from evaluation.agents.models import (
    AgentItem,
    AgentRun,
    AgentState,
    AnswerVerdict,
    JudgeRun,
    VerdictState,
)
from evaluation.agents.protocol.asking import citations
from evaluation.agents.protocol.judging import BEST, WORST
from evaluation.agents.protocol.measures import (
    GAMMA,
    Noise,
    aer,
    alpha_by_round,
    alphas,
    coverage,
    first_rounds,
    gold_weights,
    noise,
    novelty,
    repetitions,
)
from evaluation.content.reading import read_queries
from evaluation.content.view import frozen, view_of
from evaluation.metrics.gold import Aspect
from kit.stats.means import Mean, mean

# What makes two judge runs the same judge.
_SAME: Final = ("endpoint", "model", "mode")
Aspects = Mapping[int, Mapping[str, Aspect]]
# An interval of fewer would span more than the scale.
LEAST_QUERIES: Final = 5
Points = Mapping[str, Mapping[int, Mapping[int, float]]]


@dataclass(frozen=True)
class Scored:
    """Means over queries of one score, with what failed left out; and counting it as worst, as
    best. `failed` counts verdicts."""

    mean: Mean
    failed: int = 0
    worst: float | None = None
    best: float | None = None


@dataclass(frozen=True)
class AfterRound:
    """What was there after a round."""

    round: int
    alpha: Mean
    completeness: Scored
    quality: Scored


@dataclass(frozen=True)
class Figures:
    """One run under one judge, or unjudged.

    `rounds`, `completeness`, `quality` and `aer` are of an agent that decides itself; `unsearched`
    counts its traces without a round, which AER leaves out.
    """

    run: AgentRun
    by_round: Sequence[AfterRound] = ()
    rounds: Mean = field(default_factory=lambda: Mean(0))
    completeness: Scored = field(default_factory=lambda: Scored(Mean(0)))
    quality: Scored = field(default_factory=lambda: Scored(Mean(0)))
    aer: Mean = field(default_factory=lambda: Mean(0))
    unsearched: int = 0
    failed: int = 0
    answered: int = 0
    # Completeness and quality by query and repetition; with fixed rounds after the last of them.
    points: Points = field(default_factory=lambda: {"completeness": {}, "quality": {}})

    def noise(self, measure: str) -> Noise | None:
        """What repeating alone does to single values of completeness or quality."""
        return noise([list(each.values()) for each in self.points[measure].values()])

    @property
    def usd(self) -> Mean:
        """Dollars of the run for each answered query; None for agents from outside."""
        if not self.run.endpoint:
            return Mean(self.answered)
        spent = float(self.run.spent_usd)
        return Mean(self.answered, spent / self.answered if self.answered else None)


def judges(benchmark: Benchmark) -> list[JudgeRun]:
    """The newest judge run over agents of every judge: one endpoint, model, mode and prompt."""
    return _newest(benchmark.judge_runs.filter(agent_run__isnull=False))


def all_judges(benchmark: Benchmark) -> list[JudgeRun]:
    """The same of those, too, that judged answers for a bridge alone."""
    asked = Q(agent_run__isnull=False) | Q(bridge_from__isnull=False)
    return _newest(benchmark.judge_runs.filter(asked))


def _newest(runs: QuerySet[JudgeRun]) -> list[JudgeRun]:
    found: dict[tuple[object, ...], JudgeRun] = {}
    for run in runs.order_by("-pk"):
        found.setdefault(_judge_key(run), run)
    return list(found.values())


def aspects_here(run: AgentRun, *, only: int | None = None) -> Aspects:
    """Aspects with the passages that support them in the corpus version that was searched, by
    query; of one query with `only`."""
    key = run.retrieval_run.corpus_version_id if run.retrieval_run else None
    found: dict[int, Mapping[str, Aspect]] = {}
    domains = set(run.items.order_by().values_list("query__domain", flat=True))
    if only is not None:
        domains = set(run.items.filter(query=only).values_list("query__domain", flat=True))
    with frozen():
        view = view_of(run.benchmark, stored(run.benchmark, key))
        for domain in view.splits.values():
            if domain.pk in domains:
                for record in read_queries(view, domain, only=only, with_answers=False):
                    found[record.pk] = {
                        f"a{each.k}": Aspect(float(each.weight), each.supporting)
                        for each in record.aspects
                    }
    return found


def figures_of(run: AgentRun, judge: JudgeRun | None, *, gamma: float = GAMMA) -> Figures:
    """The run under the judge that this judge run is of; without one, what needs no judge."""
    items = list(run.items.exclude(state=AgentState.WAITING).order_by("pk"))
    done = [each for each in items if each.state != AgentState.FAILED]
    verdicts = _verdicts(run, judge)
    failed, answered = len(items) - len(done), len(done)
    if run.rounds is not None:
        by_round = _by_round(run, done, verdicts)
        points = _points(done, verdicts, run.rounds)
        return Figures(run, by_round=by_round, failed=failed, answered=answered, points=points)
    points = _points(done, verdicts, 0)
    rewards = (
        (item.query_id, aer(quality, item.round_count, gamma))
        for item in done
        if item.round_count
        and (quality := points["quality"].get(item.query_id, {}).get(item.repetition)) is not None
    )
    return Figures(
        run,
        rounds=_mean_by_query((i.query_id, float(i.round_count or 0)) for i in done),
        completeness=_scored(done, verdicts, 0, 1),
        quality=_scored(done, verdicts, 0, 0),
        aer=_mean_by_query(rewards),
        unsearched=sum(not item.round_count for item in done),
        failed=failed,
        answered=answered,
        points=points,
    )


def _points(done: Sequence[AgentItem], verdicts: "_Verdicts", round: int) -> Points:
    """The judge's repetitions are averaged in each answer."""
    found: dict[str, dict[int, dict[int, float]]] = {"completeness": {}, "quality": {}}
    for item in done:
        for place, name in enumerate(("quality", "completeness")):
            marks = [m for pair in verdicts.get((item.pk, round), ()) if (m := pair[place])]
            if marks:
                values = found[name].setdefault(item.query_id, {})
                values[item.repetition] = sum(marks) / len(marks)
    return found


# (quality, completeness) of an answer by (item, round); None where the judge failed. The one
# answer of an agent that decides itself stands under round 0.
_Verdicts = Mapping[tuple[int, int], Sequence[tuple[int | None, int | None]]]


def _verdicts(run: AgentRun, judge: JudgeRun | None) -> _Verdicts:
    found: dict[tuple[int, int], list[tuple[int | None, int | None]]] = defaultdict(list)
    judging = judging_of(run, judge)
    if judging is None:
        return found
    rows = judging.verdicts.exclude(state=VerdictState.WAITING)
    columns = ("item_id", "round", "quality", "completeness")
    for item, number, quality, completeness in rows.values_list(*columns):
        found[item, 0 if run.rounds is None else number].append((quality, completeness))
    return found


def judging_of(run: AgentRun, judge: JudgeRun | None) -> JudgeRun | None:
    """The newest judge run over this run by the same judge; scores of others are not mixed in."""
    if judge is None:
        return None
    same: QuerySet[JudgeRun] = run.judge_runs.filter(
        **{name: getattr(judge, name) for name in _SAME}
    )
    return next((each for each in same.order_by("-pk") if is_same(each, judge)), None)


def verdicts_by(judge: JudgeRun) -> dict[tuple[int, int], list[AnswerVerdict]]:
    """Of every answer (item, round) that this judge was asked about: what came of it in the newest
    judging, by repetition."""
    same = judge.benchmark.judge_runs.filter(**{name: getattr(judge, name) for name in _SAME})
    runs = [each for each in same.order_by("-pk") if is_same(each, judge)]
    newest: dict[tuple[int, int], int] = {}
    found: dict[tuple[int, int], list[AnswerVerdict]] = defaultdict(list)
    for run in runs:
        rows = run.verdicts.exclude(state=VerdictState.WAITING).exclude(item=None)
        for row in rows.defer("justification", "attempts").order_by("repetition", "pk"):
            assert row.item_id is not None
            key = row.item_id, row.round
            if newest.setdefault(key, run.pk) == run.pk:
                found[key].append(row)
    return found


def is_same(one: JudgeRun, other: JudgeRun) -> bool:
    """Whether both are one judge: endpoint, model, mode, prompt and sampling."""
    return _judge_key(one) == _judge_key(other)


def _judge_key(run: JudgeRun) -> tuple[object, ...]:
    names = ("prompt", "temperature", "reasoning_effort", "swapped")
    return (run.endpoint, run.model, run.mode, *(run.config.get(name) for name in names))


def _by_round(run: AgentRun, done: Sequence[AgentItem], verdicts: _Verdicts) -> list[AfterRound]:
    upto, aspects = run.rounds or 0, aspects_here(run)
    named = {str(item.pk): aspects.get(item.query_id, {}) for item in done}
    found = alphas(
        {str(item.pk): item.rounds for item in done}, named, upto, run.config.get("k", 5)
    )
    after = []
    for number in range(1, upto + 1):
        values = (
            (item.query_id, value)
            for item in done
            if (value := found[str(item.pk)][number - 1]) is not None
        )
        after.append(
            AfterRound(
                number,
                _mean_by_query(values),
                _scored(done, verdicts, number, 1),
                _scored(done, verdicts, number, 0),
            )
        )
    return after


def _scored(done: Sequence[AgentItem], verdicts: _Verdicts, round: int, place: int) -> Scored:
    """One score: the judge's repetitions and the agent's are averaged in each query first."""
    plain: list[tuple[int, float]] = []
    worst: list[tuple[int, float]] = []
    best: list[tuple[int, float]] = []
    failed = 0
    for item in done:
        for marks in verdicts.get((item.pk, round), ()):
            mark = marks[place]
            failed += mark is None
            if mark is not None:
                plain.append((item.query_id, float(mark)))
            worst.append((item.query_id, float(WORST if mark is None else mark)))
            best.append((item.query_id, float(BEST if mark is None else mark)))
    ends = (None, None) if not failed else (_mean_by_query(worst), _mean_by_query(best))
    return Scored(
        _mean_by_query(plain),
        failed,
        ends[0].value if ends[0] else None,
        ends[1].value if ends[1] else None,
    )


def _mean_by_query(values: Iterable[tuple[int, float]]) -> Mean:
    by_query: dict[int, list[float]] = defaultdict(list)
    for query, value in values:
        by_query[query].append(value)
    found = mean([sum(each) / len(each) for each in by_query.values()])
    return found if found.n >= LEAST_QUERIES else Mean(found.n, found.value)


def study(item: AgentItem, turn: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What became of the query, with one step whole; reads its aspects as they are now.

    `lines` are its aspects, `gold` what was found; `other` and `overused` came more than once,
    with how often. A document has its id, its passage's key, the weight of its gold and its text.
    """
    aspects = aspects_here(item.run, only=item.query_id).get(item.query_id, {})
    rounds, weights = item.rounds, gold_weights(aspects)
    first, new = first_rounds(rounds), novelty(rounds)
    other, overused = repetitions(rounds, weights)
    numbers = sorted(rounds)
    alphas = alpha_by_round(rounds, aspects, max(numbers, default=0), item.run.config.get("k", 5))
    words = dict(item.query.aspects.filter(removed_at=None).values_list("k", "content"))
    lines = [
        {
            **each,
            "content": words.get(int(each["name"][1:]), ""),
            "new": [sum(first[pid] == number for pid in each["found"]) for number in numbers],
        }
        for each in coverage(rounds, aspects)
    ]
    cited = {each["round"]: citations(each["text"]) for each in item.answers}
    keys = keys_of(item, {*first, *(pid for ids in cited.values() for pid in ids)})
    texts = texts_of(item, turn) if turn else {}

    def document(pid: str) -> dict[str, Any]:
        weight, text = weights.get(pid), texts.get(pid, "")
        return {"pid": pid, "key": keys.get(pid), "weight": weight, "text": text}

    verdicts: dict[int, list[AnswerVerdict]] = {}
    for verdict in item.verdicts.select_related("run").order_by("pk"):
        verdicts.setdefault(verdict.round, []).append(verdict)
    return {
        "rounds": [
            {
                "number": number,
                "returned": len(rounds[number]),
                "novelty": new[number],
                "alpha": alphas[number - 1],
            }
            for number in numbers
        ],
        "lines": lines,
        "gold": [document(pid) for pid in first if pid in weights],
        "other": [(document(pid), times) for pid, times in other],
        "other_times": sum(times for _, times in other),
        "overused": [(document(pid), times) for pid, times in overused],
        "overused_times": sum(times for _, times in overused),
        "answers": [
            {
                **each,
                "cites": [document(pid) for pid in cited[each["round"]]],
                "verdicts": verdicts.get(each["round"], ()),
            }
            for each in item.answers
        ],
        # What the tools of the step returned, in order.
        "uses": [
            (use, [document(pid) for pid in use["docids"]])
            for use in (turn["uses"] if turn else ())
        ],
    }


def keys_of(item: AgentItem, pids: set[str]) -> dict[str, int]:
    """Keys of the passages with these ids in the version that was searched."""
    rows = Passage.objects.shown().filter(domain=item.query.domain, version_id__in=_layers(item))
    return dict(rows.filter(pid__in=pids).order_by().values_list("pid", "pk"))


def texts_of(item: AgentItem, turn: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a turn was shown, by id, as they are now."""
    pids = {pid for use in turn["uses"] for pid in use["docids"]}
    rows = Passage.objects.with_text().filter(
        domain=item.query.domain, version_id__in=_layers(item), pid__in=pids
    )
    return {pid: text or "" for pid, text in rows.order_by().values_list("pid", "text")}


def _layers(item: AgentItem) -> list[int]:
    run = item.run
    key = run.retrieval_run.corpus_version_id if run.retrieval_run else None
    version = stored(run.benchmark, key)
    growing = CorpusVersion.objects.growing(run.benchmark)
    return [*(version.layers if version else ()), *([growing.pk] if growing else ())]
