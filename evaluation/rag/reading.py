"""What runs of one generator came to, as arrays of systems by queries, read from kept sheets.

However many systems and queries there are, a board reads the same few statements.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from django.db.models import QuerySet
from django.db.models.fields.json import KeyTransform

from corpus.models import Benchmark, Query
from corpus.versions.services import stored
from evaluation.metrics.alignment import majority
from evaluation.metrics.run import Flags, Floats, Whole
from evaluation.metrics.standings import task_means
from evaluation.rag.models import AnswerState, GradeRun, RagAnswer, RagRun, RagSource, SourceKind
from evaluation.rag.people import last_said, marks_of
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.protocol.grading import BEST, STRICT
from evaluation.scores import sheets
from evaluation.scores.models import DomainScore, ScoreSheet
from evaluation.scores.services import GoldView
from kit.runs.models import RunStatus

VIEWS: Final = (GoldView.BASE, GoldView.REFINED)
STRINGS: Final = {"accuracy": "accuracy", "exact": "exact match", "f1": "token F1"}
TOGETHER: Final = "together"
# By (gold view, measure): systems by queries.
Retrieved: TypeAlias = Mapping[tuple[str, str], Floats]
_Values: TypeAlias = dict[int, Sequence[float | None]]
_Who = TypeVar("_Who", bound=Hashable)


@dataclass(frozen=True)
class Board:
    """One generator: its sources as systems (rows) over queries (columns), NaN where none is.

    `queries` are (key, domain, query id), by domain; `starts` are where domains begin. `outcomes`
    are by name: `together` (the graders' majority, or mean score), `grader-N`, and the strings.
    `graders` names the newest grading of each grader; `voices` has what each model said, once
    however it was read (`strict` where it was). `answered`: which answers and gradings these
    are. `people`: the share of people who call an answer right, of long ones the mean of their
    points, NaN where nobody judged it, and `silent` answers that say nothing; both empty of marks
    where nobody judged any.
    """

    run: RagRun
    answered: object
    systems: Sequence[RagSource]
    queries: Sequence[tuple[int, str, str]]
    starts: Whole
    outcomes: Mapping[str, Floats]
    graders: Mapping[str, str]
    voices: Mapping[str, Floats]
    retrieved: Retrieved
    people: Floats
    silent: Flags

    @property
    def measures(self) -> tuple[str, str, str]:
        """What retrieval is measured by, at the number of passages that answers were given."""
        return f"hit@{self.run.k}", f"nDCG@{self.run.k}", f"recall@{self.run.k}"

    @property
    def domains(self) -> list[str]:
        """In the order of the columns."""
        return list(dict.fromkeys(domain for _, domain, _ in self.queries))

    def tasks(self, *tables: Floats) -> list[list[Floats]]:
        """Of each table the columns of each domain in which every table has a value."""
        parts = [np.split(table, self.starts[1:], axis=1) for table in tables]
        kept = [each for each in zip(*parts, strict=True) if not any(map(_is_bare, each))]
        return [list(part) for part in zip(*kept, strict=True)] or [[] for _ in tables]

    @property
    def asked(self) -> Flags:
        """Which queries each system was asked: a run may be of one domain."""
        keys = [key for key, *_ in self.queries]
        return np.array([np.isin(keys, each.sheet["queries"]) for each in self.systems])

    @property
    def is_scored(self) -> bool:
        """Whether the leaderboard has scored any of the systems at this number of passages."""
        return not all(map(_is_bare, self.retrieved.values()))

    def baseline(self, kind: str) -> int | None:
        """The row of a baseline; of gold of several corpus versions the newest."""
        rows = [row for row, each in enumerate(self.systems) if each.kind == kind]
        return rows[-1] if rows else None

    def best(self, outcome: str) -> float:
        """The most that an answer can have."""
        return 1.0 if outcome in STRINGS else BEST[Harness(self.run.harness)]

    def is_binary(self, outcome: str) -> bool:
        """Whether it says right or wrong."""
        return outcome != "f1" and self.best(outcome) == 1.0

    def is_like_people(self, outcome: str) -> bool:
        """Whether people give what it gives: right or wrong to short answers, points to long."""
        is_short = self.run.harness == Harness.SHORT
        return self.is_binary(outcome) if is_short else outcome not in STRINGS


def outcome_words(board: Board, outcome: str) -> str:
    """What an outcome is called."""
    together = "majority of graders" if board.best(outcome) == 1 else "mean of graders"
    return {**STRINGS, **board.graders, TOGETHER: together}[outcome]


def means_of(board: Board, values: Floats) -> Floats:
    """Of each system the unweighted mean over the domains in which any has a value."""
    (tasks,) = board.tasks(values)
    if not tasks:
        return np.full(len(board.systems), np.nan)
    return np.asarray(np.mean([task_means(task) for task in tasks], axis=0))


def generators(benchmark: Benchmark) -> list[RagRun]:
    """The newest finished run of every generator."""
    found: dict[tuple[object, ...], RagRun] = {}
    for run in _done(benchmark):
        found.setdefault(run.generator, run)
    return list(found.values())


def _done(benchmark: Benchmark) -> list[RagRun]:
    return list(benchmark.rag_runs.filter(status=RunStatus.DONE).order_by("-pk"))


def follows_from(run: RagRun) -> tuple[object, ...]:
    """What the board of a run's generator follows from, without reading any of it: whatever changes
    a figure or a name changes this."""
    runs = [each for each in _done(run.benchmark) if each.generator == run.generator]
    answered = _answered(runs)
    known = _sheets(run.benchmark, {version for *_, name, version in answered[1] if name})
    scored = [(each.pk, each.ended_at) for each in known]
    return run.benchmark.slug, answered, scored, last_said(run.benchmark)


def _answered(runs: Sequence[RagRun]) -> tuple[list[Any], list[Any], list[Any]]:
    sources = RagSource.objects.filter(run__in=runs).order_by("pk")
    graded = _gradings(runs).order_by("pk")
    return (
        [(each.pk, each.ended_at) for each in runs],
        list(sources.values_list("pk", "retrieval_run__name", "corpus_version")),
        list(graded.values_list("pk", "ended_at")),
    )


def _gradings(runs: Sequence[RagRun]) -> QuerySet[GradeRun]:
    return GradeRun.objects.filter(GradeRun.plain(), rag_run__in=runs, status=RunStatus.DONE)


def _sheets(benchmark: Benchmark, versions: Iterable[int | None]) -> list[ScoreSheet]:
    """The newest scores of each corpus version."""
    order = sorted(versions, key=lambda key: key or 0)
    known = [sheets.latest(benchmark, stored(benchmark, key)) for key in order]
    return [each for each in known if each]


def board_of(run: RagRun) -> Board:
    """All that was answered by this run's generator; of one system the answers to most queries, of
    these the newest: a run over one domain hides none over all."""
    runs = [each for each in _done(run.benchmark) if each.generator == run.generator]
    # Before any of it is read: what ends meanwhile is read again by whoever looks next.
    answered = _answered(runs)
    order = {each.pk: place for place, each in enumerate(runs)}
    fullest: dict[tuple[object, ...], RagSource] = {}
    held_by: dict[tuple[object, ...], set[int]] = {}
    rows = RagSource.objects.filter(run__in=runs).select_related("retrieval_run", "corpus_version")
    for source in sorted(
        rows, key=lambda each: (-len(each.sheet["queries"]), order[each.run_id], each.pk)
    ):
        fullest.setdefault(source.system, source)
        held_by.setdefault(source.system, set()).add(source.run_id)
    kinds = [SourceKind.NONE, SourceKind.GOLD, SourceKind.RUN]
    systems = sorted(
        fullest.values(), key=lambda each: (kinds.index(SourceKind(each.kind)), each.pk)
    )
    held = [held_by[each.system] for each in systems]
    for source in systems:  # as systems are named that rank a derived version
        if source.kind == SourceKind.GOLD and source.corpus_version:
            source.name += f", {source.corpus_version.name}"
    queries = _queries(run.benchmark, systems)
    places = {key: place for place, (key, _, _) in enumerate(queries)}
    domains = [domain for _, domain, _ in queries]
    changed = [place for place, name in enumerate(domains) if domains[place - 1 : place] != [name]]
    outcomes, graders, voices = _outcomes(run, runs, systems, places)
    people, silent = _people(run, systems, places, held)
    return Board(
        run=run,
        answered=answered,
        systems=systems,
        queries=queries,
        starts=np.array(changed, np.int64),
        outcomes=outcomes,
        graders=graders,
        voices=voices,
        retrieved=_retrieved(run, systems, queries),
        people=people,
        silent=silent,
    )


def _queries(benchmark: Benchmark, systems: Sequence[RagSource]) -> list[tuple[int, str, str]]:
    asked = {key for source in systems for key in source.sheet["queries"]}
    rows = Query.objects.filter(domain__benchmark=benchmark).order_by("domain__name", "pk")
    columns = rows.values_list("pk", "domain__name", "qid")
    return [row for row in columns if row[0] in asked]


def _outcomes(
    run: RagRun, runs: Sequence[RagRun], systems: Sequence[RagSource], places: Mapping[int, int]
) -> tuple[dict[str, Floats], dict[str, str], dict[str, Floats]]:
    """By name, what all graders say together first, if any was asked; and graders and voices."""

    def table(values: Mapping[int, Sequence[float | None]]) -> Floats:
        found = np.full((len(systems), len(places)), np.nan)
        for row, source in enumerate(systems):
            if source.pk in values:
                columns = [places[key] for key in source.sheet["queries"]]
                found[row, columns] = np.array(values[source.pk], np.float64)
        return found

    rows = _gradings(runs).order_by("-pk")
    by_grader = _graded(rows, lambda grading: grading.grader)
    graders = {f"grader-{grading.pk}": name for name, (grading, _) in by_grader.items()}
    graded = {key: table(by_grader[name][1]) for key, name in graders.items()}
    strict_first = sorted(rows, key=lambda grading: grading.config["profile"] != STRICT)
    by_voice = _graded(strict_first, lambda grading: grading.voice).values()
    voices = {grading.grader: table(values) for grading, values in by_voice}
    found: dict[str, Floats] = {}
    if voices:
        said = np.stack(list(voices.values()))
        is_short = run.harness == Harness.SHORT
        found[TOGETHER] = majority(said) if is_short else _mean(said)
    for name in STRINGS:
        graded[name] = table({source.pk: source.sheet[name] for source in systems})
    return found | graded, graders, voices


def _graded(
    gradings: Iterable[GradeRun], who: Callable[[GradeRun], _Who]
) -> dict[_Who, tuple[GradeRun, _Values]]:
    """The first grading of each, with the values of each source: the first that there are."""
    found: dict[_Who, tuple[GradeRun, _Values]] = {}
    for grading in gradings:
        _, known = found.setdefault(who(grading), (grading, {}))
        for key, values in grading.sheet.items():
            known.setdefault(int(key), values)
    return found


def _people(
    run: RagRun,
    systems: Sequence[RagSource],
    places: Mapping[int, int],
    held_by: Sequence[set[int]],
) -> tuple[Floats, Flags]:
    """What people said of each system's answers, in samples of the runs that hold it: drawn of
    others, a text they share with it says nothing of its other answers."""
    found = np.full((len(systems), len(places)), np.nan)
    silent = np.zeros(found.shape, np.bool_)
    said = marks_of(run.benchmark, run.harness)
    if not said:
        return found, silent
    rows_of = {source.pk: row for row, source in enumerate(systems)}
    given = RagAnswer.objects.filter(source__in=rows_of, state=AnswerState.ANSWERED)
    mute = given.filter(is_informed=False).order_by()
    for source, query in mute.values_list("source_id", "query_id"):
        silent[rows_of[source], places[query]] = True
    answers = given.filter(is_informed=True, query__in={query for query, _ in said})
    for each in answers.only("source_id", "query_id", "answers"):
        row, every = rows_of[each.source_id], said.get((each.query_id, each.text.strip()), ())
        if marks := {mark.person: mark.value for mark in every if mark.run in held_by[row]}:
            found[row, places[each.query_id]] = sum(marks.values()) / len(marks)
    return found, silent


def said_once(board: Board) -> list[list[float | None]]:
    """Of each voice what it said of each text that answers a query, in one order: once, and the
    last, however many systems gave it."""
    answers = RagAnswer.objects.filter(source__in=board.systems, state=AnswerState.ANSWERED)
    texts = {
        (each.source_id, each.query_id): each.text.strip()
        for each in answers.only("source_id", "query_id", "answers")
    }
    keys = [
        (query, texts.get((source.pk, query), source.pk))
        for source in board.systems
        for query, *_ in board.queries
    ]
    every = dict.fromkeys(keys)
    by_voice = (
        {key: value for key, value in zip(keys, said.ravel().tolist(), strict=True)
         if not np.isnan(value)}
        for said in board.voices.values()
    )  # fmt: skip
    return [[said.get(key) for key in every] for said in by_voice]


def _is_bare(values: Floats) -> bool:
    return bool(np.isnan(values).all())


def _mean(said: Floats) -> Floats:
    count = (~np.isnan(said)).sum(axis=0)
    return np.divide(np.nansum(said, axis=0), count, out=np.full(said.shape[1:], np.nan),
                     where=count > 0)  # fmt: skip


def _retrieved(
    run: RagRun, systems: Sequence[RagSource], queries: Sequence[tuple[int, str, str]]
) -> Retrieved:
    """What the leaderboard has scored of each system; a measure that it has not is left out."""
    names = (f"hit@{run.k}", f"nDCG@{run.k}", f"recall@{run.k}")
    places = {(domain, qid): place for place, (_, domain, qid) in enumerate(queries)}
    rows_of = {each.retrieval_run_id: row for row, each in enumerate(systems)}
    rows_of.pop(None, None)
    found = {
        (str(view), name): np.full((len(systems), len(queries)), np.nan)
        for view in VIEWS
        for name in names
    }
    versions = {each.corpus_version_id for each in systems if each.retrieval_run_id}
    scored = DomainScore.objects.filter(
        sheet__in=_sheets(run.benchmark, versions), run__in=list(rows_of), view__in=VIEWS
    )
    chosen = [KeyTransform(name, "values") for name in names]
    # All systems of a domain are scored over the same queries.
    columns_of: dict[tuple[str, tuple[str, ...]], tuple[Whole, Whole]] = {}
    for run_key, domain, view, qids, *values in scored.order_by().values_list(
        "run", "domain__name", "view", "qids", *chosen
    ):
        key = domain, tuple(qids)
        if key not in columns_of:
            pairs = [(at, places[domain, qid]) for at, qid in enumerate(qids)
                     if (domain, qid) in places]  # fmt: skip
            taken, placed = np.array(pairs, np.int64).reshape(-1, 2).T
            columns_of[key] = taken, placed
        taken, placed = columns_of[key]
        for name, of in zip(names, values, strict=True):
            if of is not None:
                found[view, name][rows_of[run_key], placed] = np.array(of, np.float64)[taken]
    return found
