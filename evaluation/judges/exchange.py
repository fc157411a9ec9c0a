"""TREC AutoJudge's files in and out: leaderboards and qrels of judges, aspects and true answers as
nugget banks."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import md5
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from annotate.models import Aspect
from corpus.importers.files import DataFile, Meter
from corpus.importers.qrels import read_qrels
from corpus.importers.rows import JudgmentRow, Problem
from corpus.judgments.models import PEOPLE
from corpus.lists import is_key
from corpus.models import Benchmark, Judgment, Query
from debate.models import DebateRun
from evaluation.content.reading import read_queries
from evaluation.content.view import frozen, view_of
from evaluation.judges.card import BINARY, POINTS
from evaluation.judges.orders import compared, scores_of, topics_of
from evaluation.judges.protocol.autojudge import (
    SHAPES,
    BadFile,
    Nugget,
    read_leaderboard,
    read_nuggets,
    written_leaderboard,
    written_nuggets,
)
from evaluation.rag.models import Grade, GradeRun, GradeState, RagAnswer
from evaluation.rag.people import said_by_people
from evaluation.rag.protocol.answering import Harness, normalised
from evaluation.rag.services import truths_of
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.runs.models import RunStatus
from kit.stats.agreement import cohen_kappa
from kit.stats.proportions import proportion
from kit.stats.ratings import from_triples

LEADERBOARD, QRELS, NUGGETS = KINDS = ("leaderboard", "qrels", "nuggets")
MOST_BYTES: Final = 20_000_000
# How AutoJudge's own judges name a text that is none of a corpus.
_MD5: Final = re.compile(r"(?:md5:)?([0-9a-f]{32})")
_MOST_NAMED: Final = 20


def written(benchmark: Benchmark, kind: str, *, judge: str = "", shape: str = "") -> Iterator[str]:
    """The lines of a file: a judge's leaderboard (by its name; the newest judge of agents), the
    labels of a debate run (by its number) or the grades of a grader (by its name), the aspects of
    all queries or what a grader holds answers against. Raises Refused."""
    if kind in (QRELS, NUGGETS) and judge and not is_key(judge):
        runs = _gradings(benchmark, judge)
        return _grade_lines(benchmark, runs) if kind == QRELS else _truth_lines(benchmark, runs)
    if kind == NUGGETS:
        return _nugget_lines(benchmark)
    if kind == QRELS:
        return _qrel_lines(benchmark, judge)
    if kind != LEADERBOARD or (shape or "ir_measures") not in SHAPES:
        raise Refused(f"The files are {', '.join(KINDS)}; shapes {', '.join(SHAPES)}.")
    known = scores_of(benchmark)
    name = judge or next(iter(known), "")
    if name not in known:
        raise Refused("No such judge has judged an answer here.", field="judge")
    return written_leaderboard(known[name], shape or "ir_measures")


def _nugget_lines(benchmark: Benchmark) -> Iterator[str]:
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    titles, nuggets = dict[str, str](), list[Nugget]()
    with frozen():
        view = view_of(benchmark)
        # What was loaded says of nobody who made it.
        made = Aspect.objects.filter(query__domain__benchmark=benchmark, created_by__isnull=False)
        by_people = set(made.order_by().values_list("query", "k"))
        for domain in view.splits.values():
            for record in read_queries(view, domain, with_answers=False):
                topic = topics[record.pk]
                titles[topic] = record.text
                nuggets += [
                    Nugget(
                        topic,
                        each.content,
                        f"{topic}-a{each.k}",
                        each.weight,
                        each.supporting,
                        by_people=(record.pk, each.k) in by_people,
                    )
                    for each in record.aspects
                    if each.content.strip()
                ]
    return written_nuggets(nuggets, titles)


def _qrel_lines(benchmark: Benchmark, judge: str) -> Iterator[str]:
    # What agents say of an aspect, or once people were heard, is no label of the pair.
    runs = benchmark.debate_runs.filter(pool__of_aspects=False, reheard_of=None).order_by("-pk")
    run: DebateRun | None = runs.filter(pk=int(judge)).first() if is_key(judge) else runs.first()
    if run is None:
        raise Refused("There is no such debate run here.", field="judge")
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    rows = run.debates.filter(label__isnull=False).order_by("query", "passage__pid")
    for query, pid, label in rows.values_list("query", "passage__pid", "label").iterator():
        yield f"{topics[query]} 0 {pid} {label}"


def _gradings(benchmark: Benchmark, judge: str = "") -> list[GradeRun]:
    """Finished gradings of this grader, or of all, the newest first. Raises Refused."""
    rows = benchmark.grade_runs.filter(GradeRun.plain(), status=RunStatus.DONE)
    rows = rows.select_related("rag_run").order_by("-pk")
    found = [each for each in rows if judge in ("", each.grader)]
    if judge and not found:
        raise Refused("No such grader has graded an answer here.", field="judge")
    return found


def _grades(runs: Sequence[GradeRun]) -> dict[tuple[int, str], float]:
    """By query and text of an answer what a grader said last."""
    rows = Grade.objects.filter(run__in=runs, state=GradeState.GRADED).order_by("run", "pk")
    rows = rows.select_related("answer").defer("said", "error")
    return {
        (each.answer.query_id, each.answer.text.strip()): each.value
        for each in rows
        if each.value is not None
    }


def name_of_text(words: str) -> str:
    """The id of an answer in qrels, as AutoJudge's doc_id_md5 makes it."""
    return md5(words.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _grade_lines(benchmark: Benchmark, runs: Sequence[GradeRun]) -> Iterator[str]:
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    return iter(
        sorted(
            f"{topics[query]} 0 {name_of_text(words)} {_point(value):.0f}"
            for (query, words), value in _grades(runs).items()
            if query in topics
        )
    )


def _truth_lines(benchmark: Benchmark, runs: Sequence[GradeRun]) -> Iterator[str]:
    """The query with its true answers as one nugget a topic; of long answers the reference."""
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    harness = runs[0].rag_run.harness
    asked = RagAnswer.objects.filter(run__in={each.rag_run_id for each in runs}).values("query")
    rows = Query.objects.filter(pk__in=asked).select_related("domain").order_by("pk")
    queries = [each for each in rows if each.pk in topics]
    truths = truths_of(benchmark, queries, harness)
    nuggets = [
        Nugget(topics[each.pk], each.text, f"{topics[each.pk]}-t", answers=told)
        for each in queries
        if (told := tuple(filter(str.strip, truths[each.pk])))
    ]
    return written_nuggets(nuggets, {topics[each.pk]: each.text for each in queries})


def compared_file(
    benchmark: Benchmark, kind: str, lines: Sequence[str], *, shape: str = "", run: str = ""
) -> ReportTable:
    """What another judge's file comes to beside what is here; nothing of it is kept.

    Raises Refused with every line that cannot be read.
    """
    try:
        if kind == LEADERBOARD and (shape or "ir_measures") in SHAPES:
            scores = read_leaderboard(lines, shape or "ir_measures", run=run)
            return compared(scores, scores_of(benchmark))
        if kind == NUGGETS:
            return _nuggets_table(benchmark, read_nuggets(lines))
        if kind == QRELS:
            return _labels_table(benchmark, _read_labels(lines))
    except BadFile as fault:
        more = len(fault.faults) - _MOST_NAMED
        rest = [f"and {more:,} more"] if more > 0 else []
        raise Refused("\n".join([*fault.faults[:_MOST_NAMED], *rest])) from None
    raise Refused(f"The files are {', '.join(KINDS)}; shapes {', '.join(SHAPES)}.")


def _read_labels(lines: Sequence[str]) -> list[JudgmentRow]:
    """By the reader that imports qrels. Raises BadFile."""
    with NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        found = list(read_qrels(DataFile(Path(file.name), "qrels", ""), Meter()))
    faults = [str(each) for each in found if isinstance(each, Problem)]
    if faults:
        raise BadFile(faults)
    return [each for each in found if isinstance(each, JudgmentRow)]


def _labels_table(benchmark: Benchmark, rows: Sequence[JudgmentRow]) -> ReportTable:
    """Agreement with people's labels that stand."""
    topics = topics_of(benchmark)
    people = {
        (query, pid): label
        for query, pid, label in Judgment.objects.filter(query__in=topics.values())
        .standing()
        .filter(source__in=PEOPLE)
        .order_by("pk")
        .values_list("query", "passage__pid", "label")
    }
    pairs = [
        (_is_above_0(people[at]), _is_above_0(row.label))
        for row in rows
        if (at := (topics.get(row.qid, 0), row.pid)) in people
    ]
    made = [_agreement("relevant or not, people", len(rows), pairs, BINARY)]
    made += _answer_rows(benchmark, topics, rows)
    header = ("labels, beside", "in the file", "both judged", "κ", "the same", "why not")
    notes = (
        "Answers are known by the MD5 of their text, as AutoJudge names what is none of a corpus; "
        "right or wrong is above 0, points have a quadratic κ. Beside people one item is what one "
        "person said.",
    )
    return ReportTable(
        "qrels", "Labels from elsewhere beside those here", header, tuple(made), notes
    )


def _agreement(
    name: str, n: int, pairs: Sequence[tuple[float, float]], scale: Sequence[float]
) -> tuple[Cell, ...]:
    triples = [(at, who, label) for at, both in enumerate(pairs) for who, label in enumerate(both)]
    given = from_triples(triples, categories=scale, scores=scale)
    kappa = cohen_kappa(given, "quadratic" if len(scale) > 2 else "unweighted")
    same = proportion(sum(one == other for one, other in pairs), len(pairs))
    return (
        text(name),
        Cell(n),
        Cell(len(pairs)),
        measured(kappa, "coefficient"),
        percent(same),
        text(kappa.reason),
    )


def _answer_rows(
    benchmark: Benchmark, topics: Mapping[str, int], rows: Sequence[JudgmentRow]
) -> list[tuple[Cell, ...]]:
    """Labels of generated answers beside people's and each grader's, where both judged any."""
    given = {
        (topics.get(row.qid), named[1]): row.label
        for row in rows
        if (named := _MD5.fullmatch(row.pid))
    }
    if not given:
        return []
    beside: dict[tuple[str, bool], list[tuple[int, str, float]]] = {}
    for harness in (Harness.SHORT, Harness.LONG):
        said = said_by_people(benchmark, harness)
        is_short = harness == Harness.SHORT
        beside["people", is_short] = [
            (query, words, value)
            for (query, words), each in said.items()
            for value in each.values()
        ]
    gradings: dict[tuple[str, bool], list[GradeRun]] = {}
    for run in _gradings(benchmark):
        key = run.grader, run.rag_run.harness == Harness.SHORT
        gradings.setdefault(key, []).append(run)
    for key, runs in gradings.items():
        beside[key] = [(query, words, value) for (query, words), value in _grades(runs).items()]
    made = []
    for (who, is_short), own in beside.items():
        scale, read = (BINARY, _is_above_0) if is_short else (POINTS, _point)
        pairs = [
            (read(value), read(given[at]))
            for query, words, value in own
            if (at := (query, name_of_text(words.strip()))) in given
        ]
        if pairs:
            what = "answers, right or wrong" if is_short else "answers, points"
            made.append(_agreement(f"{what}, {who}", len(rows), pairs, scale))
    return made


def _is_above_0(value: float) -> float:
    return float(value > 0)


def _point(value: float) -> float:
    return float(min(max(round(value), 0), 100))


def _truths(benchmark: Benchmark, keys: set[int]) -> dict[int, set[str]]:
    """True answers and references of queries, as they are compared."""
    queries = list(Query.objects.filter(pk__in=keys).select_related("domain"))
    long = truths_of(benchmark, queries, Harness.LONG)
    return {
        each.pk: {normalised(words) for words in (*each.answers, *long[each.pk])} - {""}
        for each in queries
    }


def _share(known: set[str], all_of_them: set[str]) -> tuple[Cell, Cell]:
    return percent(proportion(len(known), len(all_of_them))), Cell(len(all_of_them))


def _nuggets_table(benchmark: Benchmark, nuggets: Sequence[Nugget]) -> ReportTable:
    """By topic: nuggets beside aspects, and how many of their documents are gold here."""
    topics = topics_of(benchmark)
    gold = set(
        Judgment.objects.filter(query__in=topics.values(), label__gt=0)
        .order_by()
        .values_list("query", "passage__pid")
    )
    truths = _truths(benchmark, {topics[each.topic] for each in nuggets if each.topic in topics})
    aspects = Counter(
        Aspect.objects.filter(query__in=topics.values(), removed_at=None)
        .order_by()
        .values_list("query", flat=True)
    )
    by_topic: dict[str, list[Nugget]] = {}
    for each in nuggets:
        by_topic.setdefault(each.topic, []).append(each)
    rows = []
    for topic, own in by_topic.items():
        query = topics.get(topic)
        cited = {pid for each in own for pid in each.references}
        known = {pid for pid in cited if (query, pid) in gold}
        told = {normalised(words) for each in own for words in each.answers} - {""}
        true = told & truths.get(query or 0, set())
        rows.append(
            (
                text(topic if query else f"{topic} (no query here)"),
                Cell(len(own)),
                Cell(aspects[query] if query else None),
                *_share(known, cited),
                *_share(true, told),
            )
        )
    header = (
        *("topic", "nuggets", "aspects here", "documents that are gold", "documents"),
        *("answers that are true here", "answers"),
    )
    notes = (
        "Answers are the same without case, signs and articles.",
        "Nothing of the file is kept, and no nugget becomes an aspect or a candidate for one: who "
        "holds a query adds those that they agree with in its workspace, with a weight of theirs.",
    )
    title = "Nuggets from elsewhere beside aspects and true answers"
    return ReportTable("nuggets", title, header, tuple(rows), notes)
