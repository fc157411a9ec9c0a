"""What judges give systems, query by query, and whether they order them alike."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, TypeAlias

from corpus.computing.config import QUERIES
from corpus.models import Benchmark, Query
from evaluation.agents.models import JudgeRun
from evaluation.agents.reading import all_judges, verdicts_by
from evaluation.agents.trust.people import answer_key, grades_of, points_of
from evaluation.judges.families import family_of
from evaluation.judges.protocol.autojudge import ALL, Score, means_of
from evaluation.judges.protocol.meta import Agreement, agreement
from evaluation.rag.models import GradeRun
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.protocol.grading import STRICT
from evaluation.support.models import SetKind, SupportSet
from evaluation.support.reading import read, read_judges, supports
from kit.lists.report_tables import Cell, ReportTable, text
from kit.runs.models import RunStatus

PEOPLE: Final = "people"
# By system and query what was given, repetitions side by side.
Values: TypeAlias = dict[str, dict[int, list[float]]]
Families: TypeAlias = dict[str, frozenset[str]]
# A retrieval run or a query source, by key.
_Made: TypeAlias = tuple[str, int | None]


@dataclass(frozen=True)
class Marks:
    """What one judge (or people, whose family is empty) gives systems: by measure, the first of
    which orders them; its own family, those of the models in each system, and the scale, of which
    two are never in one mean; its model, whose replies these are (`voice`), and whether they are
    read in another way than the strict one."""

    judge: str
    family: str
    families: Mapping[str, frozenset[str]]
    measures: Mapping[str, Values]
    scale: str = ""
    model: str = ""
    voice: tuple[object, ...] = ()
    is_lax: bool = False

    @property
    def order(self) -> "Order":
        """Systems by the mean over queries of the first measure."""
        values = next(iter(self.measures.values()))
        means = {name: _mean_of(each.values()) for name, each in values.items() if each}
        own = self.family, self.families, self.scale
        voice = self.voice or (self.judge,)
        return Order(self.judge, means, *own, self.model, voice, self.is_lax)


@dataclass(frozen=True)
class Order:
    """What one judge (or people) gives systems on average; its own family, those of the models
    in each system, its scale, its model, and whose replies these are, read how (`Marks`)."""

    name: str
    means: Mapping[str, float]
    family: str
    families: Mapping[str, frozenset[str]]
    scale: str = ""
    model: str = ""
    voice: tuple[object, ...] = ()
    is_lax: bool = False


def judges_of(benchmark: Benchmark) -> list[JudgeRun]:
    """The newest run of every judge of agents, but of those that see aspects swapped."""
    return [each for each in all_judges(benchmark) if not each.config.get("swapped")]


def marks_of(benchmark: Benchmark) -> dict[str, list[Marks]]:
    """By what is judged: agent runs, sources of generated answers, those of one harness and number
    of passages together, and answers by the support of what they cite."""
    behind = retrieving_families(benchmark)
    found = {
        "agents": _of_agents(benchmark, behind),
        **_of_answers(benchmark, behind),
        **_of_citations(benchmark, behind),
    }
    return {what: marks for what, marks in found.items() if marks}


def orders_of(benchmark: Benchmark) -> dict[str, list[Order]]:
    """The same as orders: agent runs by quality, generated answers by grade, what they cite by
    precision."""
    return {what: [each.order for each in marks] for what, marks in marks_of(benchmark).items()}


def scores_of(benchmark: Benchmark) -> dict[str, list[Score]]:
    """By judge: its measures by run and topic, repetitions and rounds averaged; a run's name has no
    blanks. Judges of agents first, the newest of each kind before others."""
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    found: dict[str, list[Score]] = {}
    for each in (each for marks in marks_of(benchmark).values() for each in marks if each.family):
        scores = {
            (_joined(system), topics[query], name): _mean(given)
            for name, values in each.measures.items()
            for system, queries in values.items()
            for query, given in queries.items()
            if query in topics
        }
        found.setdefault(each.judge, []).extend(
            Score(*key, value) for key, value in sorted(scores.items())
        )
    return found


def meta_table(orders: Mapping[str, Sequence[Order]]) -> ReportTable:
    """Every two orders of the same systems, and without the systems of either's family."""
    rows = []
    for what, known in orders.items():
        for one, other in combinations(known, 2):
            whole = agreement(one.means, other.means)
            if whole.systems < 2:
                continue
            related = {one.family, other.family} - {""}
            kept = {
                name: mean
                for name, mean in one.means.items()
                if not related & one.families.get(name, frozenset())
            }
            left = agreement(kept, other.means)
            rows.append((text(what), text(f"{one.name} and {other.name}"), *_cells(whole, left)))
    header = (
        *("of", "judges", "systems", "Kendall", "Spearman", "tau-AP"),
        *("systems of other families", "Kendall without"),
    )
    notes = (
        "Agent runs by mean quality, systems of generated answers by mean grade, what they cite by "
        "precision; means over queries. Kendall: tau-b; tau-AP, where the top counts most, with "
        "ties and in both directions. Without: systems are left out that have a model of a judge’s "
        "own family.",
    )
    return ReportTable("meta", "Do judges order systems alike?", header, tuple(rows), notes)


def compared(scores: Sequence[Score], truth: Mapping[str, Sequence[Score]]) -> ReportTable:
    """A judge's leaderboard from elsewhere beside those of here, by measure; systems by name."""
    rows = []
    for name, own in truth.items():
        for theirs, found in _boards(scores).items():
            for ours, means in _boards(own).items():
                whole = agreement(means, found)
                if whole.systems >= 2:
                    rows.append((text(theirs), text(f"{ours} by {name}"), *_cells(whole)))
    header = ("measure", "beside", "systems", "Kendall", "Spearman", "tau-AP")
    empty = "An order needs two systems: the file has fewer that a judge here has scored, too."
    return ReportTable("compared", "A leaderboard from elsewhere", header, tuple(rows), empty=empty)


def _of_agents(benchmark: Benchmark, behind: Mapping[int | None, frozenset[str]]) -> list[Marks]:
    runs = {run.name: run for run in benchmark.agent_runs.order_by("pk")}
    families = {
        name: frozenset({family_of(run.model)} | behind.get(run.retrieval_run_id, frozenset()))
        for name, run in runs.items()
    }
    items = _items(benchmark)
    found = []
    for judge in judges_of(benchmark):
        measures: dict[str, Values] = {"quality": {}, "completeness": {}}
        for (item, _), rows in verdicts_by(judge).items():
            for name, values in measures.items():
                given = [mark for row in rows if (mark := getattr(row, name)) is not None]
                _add(values, *items[item], given)
        own = family_of(judge.model), families, measures, judge.mode, judge.model
        found.append(Marks(judge.judge, *own))
    people: Values = {}
    for grade in grades_of(benchmark):
        item = answer_key(grade.answer.origin)[0]
        if item in items:
            _add(people, *items[item], [points_of(grade)["quality"]])
    return [*found, *([Marks(PEOPLE, "", families, {"quality": people})] if people else [])]


def _of_answers(
    benchmark: Benchmark, behind: Mapping[int | None, frozenset[str]]
) -> dict[str, list[Marks]]:
    rows = GradeRun.objects.filter(GradeRun.plain(), benchmark=benchmark, status=RunStatus.DONE)
    rows = rows.select_related("rag_run").prefetch_related("rag_run__sources").order_by("pk")
    # One model with two prompts or depths is two generators.
    generators: dict[str, dict[Any, str]] = {}
    found: dict[str, dict[str, Marks]] = {}
    families: Families = {}
    for grading in rows:
        run = grading.rag_run
        told = generators.setdefault(run.model, {})
        who = told.setdefault(run.generator, f"{run.model} ({run.name})" if told else run.model)
        measure = "correct" if run.harness == Harness.SHORT else "covered"
        marks = found.setdefault(f"answers, {run.harness}, {run.k} passages", {}).setdefault(
            grading.grader,
            Marks(
                grading.grader,
                family_of(grading.model),
                families,
                {measure: {}},
                model=grading.model,
                voice=grading.voice,
                is_lax=grading.config["profile"] != STRICT,
            ),
        )
        for source in run.sources.all():
            name = f"{who}, {source.name}"
            families[name] = frozenset({family_of(run.model)}) | behind.get(
                source.retrieval_run_id, frozenset()
            )
            given = zip(
                source.sheet["queries"], grading.sheet.get(str(source.pk), ()), strict=False
            )
            # A newer grading of the same takes the place of an older one.
            marks.measures[measure][name] = {
                query: [value] for query, value in given if value is not None
            }
    return {what: list(reversed(marks.values())) for what, marks in found.items()}


def _of_citations(
    benchmark: Benchmark, behind: Mapping[int | None, frozenset[str]]
) -> dict[str, list[Marks]]:
    found: dict[str, dict[str, Marks]] = {}
    families: Families = {}
    sets = benchmark.support_sets.filter(is_split=True).order_by("pk")
    for of in sets.select_related("agent_run", "rag_run"):
        if not read_judges(of):
            continue
        seen, known = read(of), _families_in(of, behind)
        what = f"citations, {of.per_sentence} a sentence" if of.per_sentence else "citations"
        for judge, run in seen.judges.items():
            marks = found.setdefault(what, {}).setdefault(
                judge,
                Marks(judge, family_of(run.model), families, {"precision": {}}, model=run.model),
            )
            for system, queries in supports(seen, judge).items():
                name = system if system.startswith(of.name) else f"{of.name}, {system}"
                families[name] = known.get(system, known.get("", frozenset()))
                given = {
                    query: [each.precision for each in answers if each.precision is not None]
                    for query, answers in queries.items()
                }
                marks.measures["precision"][name] = {q: each for q, each in given.items() if each}
    return {what: list(reversed(marks.values())) for what, marks in found.items()}


def _families_in(
    of: SupportSet, behind: Mapping[int | None, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Of the systems of a set, by name; of those that are not named there what stands at the empty
    name. Of answers that were written elsewhere nobody knows it."""
    if of.kind == SetKind.AGENT and of.agent_run is not None:
        run = of.agent_run
        return {
            "": frozenset({family_of(run.model)}) | behind.get(run.retrieval_run_id, frozenset())
        }
    if of.kind == SetKind.RAG and of.rag_run is not None:
        own = frozenset({family_of(of.rag_run.model)})
        rows = of.rag_run.sources.values_list("name", "retrieval_run")
        return {name: own | behind.get(key, frozenset()) for name, key in rows}
    return {}


def _add(values: Values, system: str, query: int, given: Sequence[float]) -> None:
    if given:
        values.setdefault(system, {}).setdefault(query, []).extend(given)


def retrieving_families(benchmark: Benchmark) -> dict[int | None, frozenset[str]]:
    """The families of the rerankers and expanders behind each retrieval run that was made here:
    its own, and those of the runs and query sources that it was made from."""
    made: dict[_Made, tuple[str, list[_Made]]] = {}
    for reranking in benchmark.rerank_runs.exclude(run=None):
        parts = [("run", key) for key in (reranking.source_id, reranking.second_id)]
        made["run", reranking.run_id] = reranking.model, parts
    for expansion in benchmark.expansions.all():
        for each in expansion.report.get("rounds", ()):
            for what in ("run", "source"):
                if each[what] is not None:
                    made[what, each[what]] = expansion.model, [("run", expansion.retriever_id)]
    for computation in benchmark.run_computations.exclude(run=None):
        parts = [("run", key) for key in computation.config.get("runs", ())]
        made["run", computation.run_id] = "", [*parts, ("source", computation.config.get(QUERIES))]

    def behind(each: _Made) -> frozenset[str]:
        model, parts = made.get(each, ("", []))
        return frozenset({family_of(model)} - {""}).union(*map(behind, parts))

    return {key: behind((what, key)) for what, key in made if what == "run"}


def _items(benchmark: Benchmark) -> dict[int, tuple[str, int]]:
    """The run and the query of each item of an agent run."""
    rows = benchmark.agent_runs.order_by().values_list("items", "name", "items__query")
    return {item: (run, query) for item, run, query in rows if item}


def topics_of(benchmark: Benchmark) -> dict[str, int]:
    """Queries by what they are called in files: their id, behind "domain/" where there are several
    domains; white space is an underscore."""
    rows = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True).order_by("pk")
    found = list(rows.values_list("domain__name", "qid", "pk"))
    has_one = len({domain for domain, _, _ in found}) < 2
    return {_joined(qid if has_one else f"{domain}/{qid}"): pk for domain, qid, pk in found}


def _joined(name: str) -> str:
    """A name as one word, as lines of leaderboards need it."""
    return "_".join(name.split())


def _mean_of(queries: Collection[Sequence[float]]) -> float:
    """The mean over queries of what each was given, once as a rule."""
    return sum(given[0] if len(given) == 1 else _mean(given) for given in queries) / len(queries)


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return sum(given) / len(given)


def _boards(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Means of runs by measure: those of the topics, else what the file says of all."""
    found: dict[str, dict[str, float]] = {}
    for each in [*(each for each in scores if each.topic == ALL), *means_of(scores)]:
        found.setdefault(each.measure, {})[each.run] = each.value
    return found


def _cells(whole: Agreement, left: Agreement | None = None) -> list[Cell]:
    found = [Cell(whole.systems)]
    found += [Cell(each, "coefficient") for each in (whole.kendall, whole.spearman, whole.tau_ap)]
    return (
        found if left is None else [*found, Cell(left.systems), Cell(left.kendall, "coefficient")]
    )
